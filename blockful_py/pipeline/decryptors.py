# SPDX-License-Identifier: Apache-2.0
"""Opening what is checked, for those who have keys: sealed bytes that hash to their CID may hold anything."""

from __future__ import annotations

from blockful_py.errors import RefusedError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.pipeline.reader import Reading
from blockful_py.types import Position, Uri


class LeaderOpens:
    """Who leads a run, with the members' keys."""

    def __init__(self, weights: SealedWeights) -> None:
        self._weights = weights

    def opens(self, position: Position, version: int, weights: Uri) -> bool:
        self._weights.read(weights)
        return True


class ReaderOpens:
    """A reader; what the members refuse to give it a key of stays closed."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def opens(self, position: Position, version: int, weights: Uri) -> bool:
        try:
            self._reading.open(position, version, weights)
        except RefusedError:
            return False
        return True


class AuditorOpens:
    """An auditor, with the keys that are wrapped to it; other versions stay closed."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def opens(self, position: Position, version: int, weights: Uri) -> bool:
        try:
            self._reading.open_archived(weights)
        except RefusedError:
            return False
        return True
