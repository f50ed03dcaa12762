# SPDX-License-Identifier: Apache-2.0
"""Erasure certificates: the document and its checks."""
