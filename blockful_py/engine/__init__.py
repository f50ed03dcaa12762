# SPDX-License-Identifier: Apache-2.0
"""Jobs: the journal that makes them resumable, and the engines that run their tasks."""
