# SPDX-License-Identifier: Apache-2.0
"""Proofs of models: documents that anybody checks without a node and without a store."""
