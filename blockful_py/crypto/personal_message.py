# SPDX-License-Identifier: Apache-2.0
"""Texts that wallets sign (`personal_sign`, EIP-191), and addresses as wallets show them (EIP-55)."""

from __future__ import annotations

from blockful_py.crypto.keccak import keccak
from blockful_py.types import Address, Bytes32


def digest(text: str) -> Bytes32:
    """keccak256(0x19 || "Ethereum Signed Message:\\n" || decimal length || message), version 0x45."""
    message = text.encode()
    return keccak(b"\x19Ethereum Signed Message:\n%d%b" % (len(message), message))


def checksummed(address: Address) -> str:
    """An address in hexadecimal, with the letter case given by its hash (EIP-55)."""
    text = address.hex()
    marks = keccak(text.encode()).hex()
    return "0x" + "".join(
        letter.upper() if int(mark, 16) > 7 else letter for letter, mark in zip(text, marks, strict=False)
    )
