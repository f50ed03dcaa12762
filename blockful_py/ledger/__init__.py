# SPDX-License-Identifier: Apache-2.0
"""Protocols of both chains and the store, and the signed form of certificates."""
