# SPDX-License-Identifier: Apache-2.0
"""Erasure certificates: their document, and its checks."""
