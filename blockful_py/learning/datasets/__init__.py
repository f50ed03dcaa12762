# SPDX-License-Identifier: Apache-2.0
"""Data sets by name."""

from blockful_py.learning.datasets.registry import load_dataset

__all__ = ["load_dataset"]
