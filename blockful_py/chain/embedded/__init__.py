# SPDX-License-Identifier: Apache-2.0
"""A development chain in one file: its blocks, receipts and state in SQLite, executed by py-evm."""
