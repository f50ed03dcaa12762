# SPDX-License-Identifier: Apache-2.0
"""Experiments and simulations that measure BlockFUL itself."""
