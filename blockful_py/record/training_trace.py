# SPDX-License-Identifier: Apache-2.0
"""The trace of a training, to which an owner commits by its CID before the disclosed steps are drawn."""

from __future__ import annotations

from hashlib import sha256
from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import Field, field_validator, model_validator

from blockful_py.record.fields import ModelName, Part, Small, parsed
from blockful_py.record.request import Request, request_key

FORMAT: Final = "blockful-trace/1"
MAX_TRACE_BYTES = 1 << 20
MAX_INTERVALS = 1 << 10

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
StateDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
"""SHA-256 of the weights, then of the velocity."""


class Trace(Part):
    """A training for a request.

    Attributes:
        samples: the commitment to the owner's samples, from its statement.
        kept: rows of the samples used in training, ascending.
        without: references, by name, whose clean models the owner could not use, in the graph's order.
        challenged: number of intervals to disclose.
        states: digests before the first interval and after each.
    """

    format: Literal["blockful-trace/1"]
    samples: Digest
    kept: Annotated[tuple[Small, ...], Field(min_length=1)]
    without: tuple[ModelName, ...] = ()
    challenged: Annotated[int, Field(ge=1)]
    states: Annotated[tuple[StateDigest, ...], Field(min_length=2, max_length=MAX_INTERVALS + 1)]

    @field_validator("kept")
    @classmethod
    def _each_once_in_order(cls, kept: tuple[int, ...]) -> tuple[int, ...]:
        if any(left >= right for left, right in pairwise(kept)):
            raise ValueError("rows are named in order, each once")
        return kept

    @model_validator(mode="after")
    def _shows_what_there_is(self) -> Trace:
        if self.challenged > self.intervals:
            raise ValueError("more intervals are challenged than there are")
        return self

    @property
    def intervals(self) -> int:
        return len(self.states) - 1


def parse_trace(data: bytes) -> Trace:
    """Parses a trace.  Raises FormatError, which names the invalid field."""
    return parsed(Trace, data, "trace of a training", MAX_TRACE_BYTES)


def schedule_seed(samples: str, request: Request) -> int:
    """The seed that draws the batches of a training whose steps members may ask for.

    It follows from the request and from samples committed to before it, so that the owner cannot choose
    batches.
    """
    return _seed(samples, request_key(request))


def clean_seed(samples: str, label: int) -> int:
    """The seed of a clean model that is stored at publication, as `schedule_seed` without a request.

    It follows from the owner's samples and the class `label` that it leaves out.
    """
    return _seed(samples, b"clean of class %d" % label)


def _seed(samples: str, purpose: bytes) -> int:
    return int.from_bytes(sha256(bytes.fromhex(samples) + purpose).digest()[:8], "big")
