# SPDX-License-Identifier: Apache-2.0
"""Keys, hashes and signatures: bytes and numbers in, bytes and numbers out."""
