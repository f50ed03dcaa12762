# SPDX-License-Identifier: Apache-2.0
"""What the chains hold, and how anybody checks it; no torch, no web3."""
