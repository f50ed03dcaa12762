# SPDX-License-Identifier: Apache-2.0
"""The journal that makes jobs resumable."""
