# SPDX-License-Identifier: Apache-2.0
"""The secrets of a reader or an auditor, in one passphrase-protected file (`crypto.passphrase`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from blockful_py.committee import codec
from blockful_py.crypto import curve, passphrase
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.secret_file import read_own
from blockful_py.errors import KeystoreError, MessageError
from blockful_py.types import Address, Point, Rng
from blockful_py.whole_file import write_secret


@dataclass(frozen=True, slots=True)
class ReaderKeys:
    """An account secret, which registers and signs, and an encryption secret, which unwraps data keys.

    Raises ValueError for secrets out of range, or one secret in both roles.
    """

    account_secret: int = field(repr=False)
    encryption_secret: int = field(repr=False)

    def __post_init__(self) -> None:
        secrets = {self.account_secret, self.encryption_secret}
        if len(secrets) != 2 or not all(0 < secret < curve.N for secret in secrets):
            raise ValueError("account and encryption secret are two numbers in [1, n)")

    @classmethod
    def generate(cls, rng: Rng = system_rng) -> ReaderKeys:
        return cls(curve.random_scalar(rng), curve.random_scalar(rng))

    @property
    def account(self) -> Address:
        """Address of the account, 20 bytes."""
        return curve.address(curve.multiply_base(self.account_secret))

    @property
    def encryption_key(self) -> Point:
        return curve.multiply_base(self.encryption_secret)

    def save(self, path: Path, words: str, cost: KdfCost | None = None) -> None:
        """Writes a new file that only its owner can read.  Raises KeystoreError if the file exists."""
        document = passphrase.lock(codec.encode(self), words, "0x" + self.account.hex(), cost)
        write_secret(path, document, KeystoreError)

    @classmethod
    def load(cls, path: Path, words: str) -> ReaderKeys:
        """Reads a file of secrets.  Raises KeystoreError."""
        data = read_own(path, passphrase.MAX_SIZE, "make one with `blockful reader keygen`.")
        try:
            return codec.decode(cls, passphrase.unlock(data, words))
        except MessageError as error:
            raise KeystoreError(f"{path} does not hold a reader's secrets: {error}") from None
