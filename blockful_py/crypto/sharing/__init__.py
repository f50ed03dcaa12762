# SPDX-License-Identifier: Apache-2.0
"""Whole numbers shared t of n among members who add, scale and multiply them without seeing them."""
