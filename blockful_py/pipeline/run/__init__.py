# SPDX-License-Identifier: Apache-2.0
"""The parts of a run: folder, stores, nodes, contracts, accounts, clock."""
