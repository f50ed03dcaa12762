# SPDX-License-Identifier: Apache-2.0
"""Erasure certificates as in-toto statements, which other software can read and check."""
