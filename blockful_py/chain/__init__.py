# SPDX-License-Identifier: Apache-2.0
"""The chains: development nodes, connections, transactions, and adapters of the contracts."""
