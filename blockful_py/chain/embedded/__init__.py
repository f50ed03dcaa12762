# SPDX-License-Identifier: Apache-2.0
"""A development chain in one SQLite file (blocks, receipts and state), executed by py-evm."""
