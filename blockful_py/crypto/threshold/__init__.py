# SPDX-License-Identifier: Apache-2.0
"""The trapdoor, shared t of n: key generation and collisions among members that each hold one share."""
