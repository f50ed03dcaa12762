# SPDX-License-Identifier: Apache-2.0
"""Erasure certificates: what was asked, what was replaced, who decided, and who says so."""
