# SPDX-License-Identifier: Apache-2.0
"""A filed request as the chain has it, its stages, and the federation's rules for requests."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from blockful_py.types import RequestState, Uri


class Filed(Protocol):
    """A request on the chain; block numbers count blocks of the live chain's node."""

    @property
    def number(self) -> int: ...

    @property
    def by(self) -> bytes: ...

    @property
    def uri(self) -> Uri: ...

    @property
    def blocks(self) -> int: ...

    @property
    def height(self) -> int: ...

    @property
    def block_number(self) -> int: ...

    @property
    def state(self) -> RequestState: ...

    @property
    def decided(self) -> int: ...

    @property
    def deadline(self) -> int: ...


class RequestStage(StrEnum):
    """The stage of a request."""

    FILED = "filed"
    """The committee has not decided whether it admits it."""
    OPEN = "open"
    """Admitted; no model was replaced for it."""
    PARTLY = "partly carried out"
    """Some models were replaced for it, others wait."""
    CARRIED_OUT = "carried out"
    """Every model that it reaches was replaced, withdrawn, or left alone by passing."""
    LAPSED = "lapsed"
    """Its time is over; models not replaced by then stay unchanged."""
    DISMISSED = "dismissed"
    """The committee has refused it, or could not read it."""

    @property
    def is_open(self) -> bool:
        """Whether work on it goes on."""
        return self in (RequestStage.OPEN, RequestStage.PARTLY)


@dataclass(frozen=True, slots=True)
class Rules:
    """The federation's rules for requests.

    Attributes:
        blocks: number of blocks of the live chain's node in which an owner does its part for one model.
        withdraws: whether members withdraw a model whose owner has not done its part by then.
        attested: whether members take owners' word for clients and samples.
    """

    blocks: int
    withdraws: bool
    attested: bool = False
