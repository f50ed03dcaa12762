# SPDX-License-Identifier: Apache-2.0
"""What a run consists of: folder, stores, nodes, contracts, accounts, clock."""
