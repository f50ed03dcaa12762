# SPDX-License-Identifier: Apache-2.0
"""The seed of an audit, drawn after the audited weights are committed to.

Gold, gold2 and the lessons of relearning follow from an audit's seed.  Whoever knew it in time could try
weights until they pass.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

BITS = 52
"""Of the seed, so that every reader of JSON keeps it."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Commitments to the weights of all methods in an audit, and a value that nobody knew before them.

    Attributes:
        committed: `commitment` by method.
        beacon: hex; empty without a beacon.  Then the maker of the weights can repeat the draw for
            other weights, at the price of a gold each time.
    """

    committed: tuple[tuple[str, str], ...]
    beacon: str = ""

    @property
    def seed(self) -> int:
        """The first 52 bits of SHA-256 over the canonical JSON of `to_json`."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - BITS)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Draw:
        """Parses the output of `to_json`.  Raises KeyError, TypeError or AttributeError."""
        return cls(tuple(sorted(document["committed"].items())), str(document["beacon"]))

    def to_json(self) -> dict[str, Any]:
        return {"committed": dict(self.committed), "beacon": self.beacon}


def commitment(weights: Iterable[tuple[str, str]]) -> str:
    """SHA-256, hex, over the names and weights' digests of a method's models, in ascending order."""
    return hashlib.sha256(json.dumps(sorted(weights), separators=(",", ":")).encode()).hexdigest()
