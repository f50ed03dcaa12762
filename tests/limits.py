# SPDX-License-Identifier: Apache-2.0
"""Limits of reads in tests that are not about limits."""

from __future__ import annotations

ANY_SIZE = 1 << 30
