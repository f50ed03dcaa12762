# SPDX-License-Identifier: Apache-2.0
"""How members agree on a block: PBFT and QBFT by votes, PoW by mining."""
