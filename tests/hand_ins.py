# SPDX-License-Identifier: Apache-2.0
"""Hand-ins of one owner's model, as the chain lists them."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.record.commitments import commitment_to
from blockful_py.types import Position, Uri

OWNER, PLACE = b"owner".ljust(20), Position(1, 0)


@dataclass(frozen=True)
class Handed:
    """A hand-in on the chain."""

    block_number: int
    uri: Uri
    by: bytes = OWNER
    position: Position = PLACE


COMMITTED = Handed(100, commitment_to(b"trace"))
