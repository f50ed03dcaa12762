# SPDX-License-Identifier: Apache-2.0
"""Data sets by name."""

from blockful_py.learning.datasets.registry import HUB_IDS, load_dataset

__all__ = ["HUB_IDS", "load_dataset"]
