# SPDX-License-Identifier: Apache-2.0
"""The chains: development nodes, connections, transactions, and the contracts as Python sees them."""
