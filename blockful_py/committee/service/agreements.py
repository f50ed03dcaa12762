# SPDX-License-Identifier: Apache-2.0
"""Motions that a member's operator agreed to: an empty file for each, named by its proposal."""

from __future__ import annotations

from pathlib import Path

from blockful_py.errors import KeystoreError

AGREED = "agreed"
"""Name of the folder in a member's folder."""


class Agreements:
    """The files in a directory, which the member's process reads for each vote."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def agree(self, proposal: bytes) -> None:
        """Raises KeystoreError when it cannot be written."""
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            (self._directory / proposal.hex()).touch(mode=0o600)
        except OSError as error:
            raise KeystoreError(f"{self._directory} cannot be written: {error.strerror}.") from None

    def withdraw(self, proposal: bytes) -> bool:
        """Whether there was an agreement."""
        path = self._directory / proposal.hex()
        agreed = path.exists()
        path.unlink(missing_ok=True)
        return agreed

    def holds(self, proposal: bytes) -> bool:
        """Whether the operator has agreed to it."""
        return (self._directory / proposal.hex()).exists()
