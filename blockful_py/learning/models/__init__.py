# SPDX-License-Identifier: Apache-2.0
"""Architectures by name."""

from blockful_py.learning.models.architecture import Architecture

__all__ = ["Architecture"]
