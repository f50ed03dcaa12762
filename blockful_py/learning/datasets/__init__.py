# SPDX-License-Identifier: Apache-2.0
"""Data sets by name."""

from blockful_py.learning.datasets.options import DataOptions
from blockful_py.learning.datasets.registry import load_dataset

__all__ = ["DataOptions", "load_dataset"]
