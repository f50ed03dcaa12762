# SPDX-License-Identifier: Apache-2.0
"""What verification asks of somebody who has keys of sealed weights."""

from __future__ import annotations

from typing import Protocol

from blockful_py.types import Position, Uri


class Opener(Protocol):
    """Somebody who may have keys of weights."""

    def opens(self, position: Position, version: int, weights: Uri) -> bool:
        """Whether it has the key of a version's sealed weights, which it then opens.

        Raises StorageError, LearningError or CryptoError when they hold no weights, KeyDestroyedError when
        nobody has the key.
        """
