# SPDX-License-Identifier: Apache-2.0
"""The record of both chains: model nodes, requests, verification, audits, proofs and certificates."""
