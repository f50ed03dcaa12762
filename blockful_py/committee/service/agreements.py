# SPDX-License-Identifier: Apache-2.0
"""Motions that a member's operator agreed to, each in a file named after its proposal."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from blockful_py.committee import codec
from blockful_py.committee.motions import Motion
from blockful_py.errors import KeystoreError, MessageError
from blockful_py.whole_file import OWN, write_whole

AGREED = "agreed"
"""Name of the folder in a member's folder."""


class Agreements:
    """The files in a directory; the member's process reads them for each vote."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def agree(self, motion: Motion) -> None:
        """Stores the operator's agreement to a motion.  Raises KeystoreError when it cannot be written."""
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise KeystoreError(f"{self._directory} cannot be written: {error.strerror}.") from None
        write_whole(self._path(motion), codec.encode(motion), KeystoreError, mode=OWN)

    def withdraw(self, motion: Motion) -> bool:
        """Removes an agreement; returns whether it existed."""
        agreed = self.holds(motion)
        self._path(motion).unlink(missing_ok=True)
        return agreed

    def holds(self, motion: Motion) -> bool:
        """Whether the operator has agreed to a motion."""
        return self._path(motion).exists()

    def motions(self, epoch: int) -> tuple[Motion, ...]:
        """The motions of an epoch that the operator has agreed to; skips unreadable files."""
        agreed = []
        for path in sorted(self._directory.glob("*")):
            with suppress(OSError, MessageError):
                agreed.append(codec.decode(Motion, path.read_bytes()))
        return tuple(motion for motion in agreed if motion.epoch == epoch)

    def _path(self, motion: Motion) -> Path:
        return self._directory / motion.proposal.hex()
