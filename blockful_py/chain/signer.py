# SPDX-License-Identifier: Apache-2.0
"""Accounts that sign transactions in this process."""

from __future__ import annotations

from typing import Any

from blockful_py.chain.ethereum import Account, key_from_seed, seed_from_mnemonic
from blockful_py.errors import InvalidKeyError
from blockful_py.types import Address

DEV_MNEMONIC = "test test test test test test test test test test test junk"
"""Mnemonic of the development nodes.  Its keys are public: never send anything of value to them."""


class Signer:
    """An account that signs transactions; no repr, log or error shows its key."""

    __slots__ = ("_account",)

    def __init__(self, secret: bytes | str) -> None:
        """Loads a private key: 32 bytes, or 64 hexadecimal digits.

        Raises InvalidKeyError if it is not a private key of secp256k1.
        """
        try:
            self._account = Account.from_key(secret)
        except Exception:
            # The cause may quote the key.
            raise InvalidKeyError(
                "a private key has 32 bytes (64 hexadecimal digits) and is below the group order."
            ) from None

    @classmethod
    def from_mnemonic(cls, mnemonic: str, index: int) -> Signer:
        """Account `index` of a BIP-39 mnemonic, path m/44'/60'/0'/0/index."""
        (account,) = cls.range_from_mnemonic(mnemonic, range(index, index + 1))
        return account

    @classmethod
    def range_from_mnemonic(cls, mnemonic: str, indices: range) -> list[Signer]:
        """Several accounts of a mnemonic; deriving its seed takes longer than deriving the accounts."""
        seed = seed_from_mnemonic(mnemonic, "")
        return [cls(key_from_seed(seed, f"m/44'/60'/0'/0/{index}")) for index in indices]

    @property
    def address(self) -> Address:
        return bytes.fromhex(self._account.address[2:])

    def sign(self, transaction: dict[str, Any]) -> tuple[bytes, bytes]:
        """Raw bytes and hash of a signed transaction."""
        signed = self._account.sign_transaction(transaction)
        return bytes(signed.raw_transaction), bytes(signed.hash)

    def __repr__(self) -> str:
        return f"Signer(0x{self.address.hex()})"
