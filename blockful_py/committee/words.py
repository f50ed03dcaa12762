# SPDX-License-Identifier: Apache-2.0
"""The auditors' words that a member has heard, one file each."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from blockful_py.committee import codec
from blockful_py.errors import KeystoreError, MessageError
from blockful_py.ledger.replay import SignedWord
from blockful_py.types import Address, Bytes32
from blockful_py.whole_file import OWN, write_whole

WORDS = "heard"
"""Name of the folder in a member's folder."""


class HeardWords:
    """The files in a directory: the first word of each outcome, by training and auditor."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, auditor: Address, signed: SignedWord) -> None:
        """Stores a word whose signature and subject were checked.  Raises KeystoreError."""
        word = signed.word
        path = self._directory / f"{word.commitment.hex()}-{auditor.hex()}-{word.outcome.value}"
        if path.exists():
            return
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise KeystoreError(f"{self._directory} cannot be written: {error.strerror}.") from None
        write_whole(path, codec.encode(signed), KeystoreError, mode=OWN)

    def on(self, commitment: Bytes32) -> tuple[SignedWord, ...]:
        """The words on a training; skips unreadable files."""
        heard = []
        for path in sorted(self._directory.glob(f"{commitment.hex()}-*")):
            with suppress(OSError, MessageError):
                heard.append(codec.decode(SignedWord, path.read_bytes()))
        return tuple(heard)
