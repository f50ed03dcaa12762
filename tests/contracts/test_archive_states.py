# SPDX-License-Identifier: Apache-2.0
"""Random histories of the archive: it only grows."""

from __future__ import annotations

from blockful_py.crypto.randomness import SeededRng
from tests.contracts.world import World, position


def draw(rng: SeededRng, below: int) -> int:
    return int.from_bytes(rng(4), "big") % below


def test_random_histories_of_the_archive(world: World) -> None:
    rng = SeededRng(b"archive history")
    seen, stored = {bytes(world.archive.head())}, []
    for step in range(6):
        records = [
            (position(1 + draw(rng, 9), draw(rng, 9)), draw(rng, 5), draw(rng, 2), 0x55, rng(32))
            for _ in range(1 + draw(rng, 4))
        ]
        world.archived(bytes(world.archive.head()), 1_700_000_000 + step, records)
        head = bytes(world.archive.head())
        assert head not in seen
        seen.add(head)
        stored += [(*record, 1_700_000_000 + step) for record in records]
        found = world.archive.records(0, world.archive.length())
        assert [(*each[0][:4], bytes(each[0][4]), each[1]) for each in found] == stored
