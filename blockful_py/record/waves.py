# SPDX-License-Identifier: Apache-2.0
"""The order and times of a request's parts when each owner needs its references' clean models first.

An owner does one part after another, so a part can be done once the parts of the model's references, and the
owner's earlier part, are there or their time is over.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.types import Position, Uri


class PartHandedIn(Protocol):
    """A part that was handed in on the chain."""

    @property
    def position(self) -> Position: ...

    @property
    def by(self) -> bytes: ...

    @property
    def uri(self) -> Uri: ...

    @property
    def block_number(self) -> int: ...


Part = TypeVar("Part", bound=PartHandedIn)


@dataclass(frozen=True, slots=True)
class Waves(Generic[Part]):
    """Times and parts by model.

    Attributes:
        since: block from which the owner's time for its part counts.
        parts: the part that its owner handed in once its references had their parts: the first of a punctual
            model, which others may have built on, else the newest.
    """

    since: Mapping[str, int]
    parts: Mapping[str, Part]


def waves_of(
    graph: InheritanceGraph,
    owners: Mapping[str, str],
    begins: Mapping[str, int],
    answered: Mapping[str, int],
    handed_in: Mapping[str, Sequence[Part]],
    punctual: Collection[str],
    blocks: int,
) -> Waves[Part]:
    """Times and parts of the models in `owners`, which gives their owners.

    Args:
        begins: by owner, the block before which none of its times counts.
        answered: by model, the block of the record's answer to the request.
        handed_in: hand-ins by model, oldest first.
        punctual: models whose parts do not count once their owners' time is over.
        blocks: an owner's time for a part, in blocks.
    """
    since: dict[str, int] = {}
    parts: dict[str, Part] = {}
    done: dict[str, int] = {}
    last: dict[str, int] = {}
    for name in graph.topological_order():
        if name not in owners:
            continue
        owner = owners[name]
        above = max((done[each] for each in graph.references(name) if each in done), default=0)
        since[name] = max(begins[owner], last.get(owner, 0), above)
        until = since[name] + blocks
        most = until if name in punctual else math.inf
        timely = [each for each in handed_in.get(name, ()) if above < each.block_number <= most]
        if timely:
            parts[name] = timely[0 if name in punctual else -1]
        done[name] = answered.get(name, parts[name].block_number if timely else until)
        last[owner] = done[name]
    return Waves(since, parts)


def longest_wait(graph: InheritanceGraph, owners: Mapping[str, str]) -> int:
    """Largest number of owners' times that pass one after the other until all models have parts."""
    depth: dict[str, int] = {}
    last: dict[str, int] = {}
    for name in graph.topological_order():
        if name in owners:
            above: Iterable[int] = (depth[each] for each in graph.references(name) if each in depth)
            depth[name] = last[owners[name]] = 1 + max([last.get(owners[name], 0), *above])
    return max(depth.values(), default=0)
