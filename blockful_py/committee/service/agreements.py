# SPDX-License-Identifier: Apache-2.0
"""What a member's operator has agreed to: an empty file for each motion, named by its proposal."""

from __future__ import annotations

from pathlib import Path

from blockful_py.errors import KeystoreError

AGREED = "agreed"
"""Folder in a member's."""


class Agreements:
    """The files in a directory; the member's process looks there each time that it is asked."""

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
        found = path.exists()
        path.unlink(missing_ok=True)
        return found

    def holds(self, proposal: bytes) -> bool:
        """Whether the operator has agreed to it."""
        return (self._directory / proposal.hex()).exists()
