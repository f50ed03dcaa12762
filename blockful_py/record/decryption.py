# SPDX-License-Identifier: Apache-2.0
"""The interface through which verification and audits decrypt sealed weights."""

from __future__ import annotations

from typing import Protocol

from blockful_py.types import Position, Uri


class Decryptor(Protocol):
    """A holder of data keys: the leader, a reader, or an auditor."""

    def decrypts(self, position: Position, version: int, weights: Uri) -> bool:
        """Decrypts the sealed weights of a version; False if this holder may not have their key.

        Raises StorageError, LearningError or CryptoError when the file does not hold weights, and
        KeyDestroyedError when no member has the key.
        """
