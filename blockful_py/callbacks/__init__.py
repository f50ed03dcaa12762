# SPDX-License-Identifier: Apache-2.0
"""Reports events of a run to trackers, notebooks and user code."""
