# SPDX-License-Identifier: Apache-2.0
"""Proofs that models are on the record, checked without a node."""
