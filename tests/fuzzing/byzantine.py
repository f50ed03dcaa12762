# SPDX-License-Identifier: Apache-2.0
"""Plays faulty members and leaders against honest ones, whose messages go through the real handlers.

    python -m tests.fuzzing.byzantine --seconds 300 --seed 1

Each case is drawn from its seed.  With at most f faulty members, decisions of an honest leader must be
executed or cleanly refused, none twice, and only liars blamed; otherwise the case raises ViolationError.
"""

from __future__ import annotations

from random import Random

from tests.fuzzing.byzantine_world import HOUR, World, watched
from tests.fuzzing.cases import play
from tests.fuzzing.honest_leader import HonestLeader
from tests.fuzzing.schemer import Schemer


def run_case(seed: int) -> bool:
    """Plays a case; returns whether an honest leader's decision was executed.

    Raises ViolationError, and any unexpected error.
    """
    rng = Random(seed)
    size = rng.choice((4, 4, 4, 7))
    faulty = rng.sample(range(1, size + 1), rng.randint(0, (size - 1) // 3))
    world = World(size, faulty, rng)
    with watched(world):
        if rng.random() < 0.4:
            Schemer(world).scheme()
        if faulty and rng.random() < 0.15:
            Schemer(world).poison()
        if rng.random() < 0.15:
            for index in rng.sample(range(1, size + 1), rng.randint(1, size // 2)):
                world.places[index].reachable = False
        if rng.random() < 0.2:
            for index in rng.sample(range(1, size + 1), rng.randint(1, size)):
                world.places[index].archive.current = False
        leader = HonestLeader(world, rng.choice((0, rng.randint(-HOUR, HOUR))))
        executed = leader.decide(redaction=rng.random() < 0.5)
        leader.check()
        if rng.random() < 0.2:
            Schemer(world).scheme()
    world.check()
    return executed


if __name__ == "__main__":
    play("byzantine", "Plays faulty members and leaders against honest ones.", "decisions executed", run_case)
