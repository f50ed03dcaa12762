# SPDX-License-Identifier: Apache-2.0
"""Decrypts sealed weights during verification and audits.

A CID covers only the sealed bytes; only a key holder can tell whether they contain weights.
"""

from __future__ import annotations

from blockful_py.errors import RefusedError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.pipeline.reader import ReaderSession
from blockful_py.types import Position, Uri


class LeaderDecryptor:
    """Decrypts every version with the members' keys."""

    def __init__(self, weights: SealedWeights) -> None:
        self._weights = weights

    def decrypts(self, position: Position, version: int, weights: Uri) -> bool:
        self._weights.read(weights)
        return True


class ReaderDecryptor:
    """Decrypts the versions whose keys this reader gets from the members."""

    def __init__(self, session: ReaderSession) -> None:
        self._session = session

    def decrypts(self, position: Position, version: int, weights: Uri) -> bool:
        try:
            self._session.open(position, version, weights)
        except RefusedError:
            return False
        return True


class AuditorDecryptor:
    """Decrypts the archived versions whose keys are wrapped to this auditor."""

    def __init__(self, session: ReaderSession) -> None:
        self._session = session

    def decrypts(self, position: Position, version: int, weights: Uri) -> bool:
        try:
            self._session.open_archived(weights)
        except RefusedError:
            return False
        return True
