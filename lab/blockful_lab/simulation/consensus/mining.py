# SPDX-License-Identifier: Apache-2.0
"""Proof of work: blocks found at random, forks, and transactions that wait for confirmations.

Members find blocks as a Poisson process of mean `interval`, each with its share of the hash power, on the
longest branch that has reached the finder (the first one of two as long).  Every branch packs transactions in
the order in which they were submitted, so a
branch holds a prefix of them: one number a block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from blockful_lab.simulation.distribution import Floats
from blockful_lab.simulation.network import Network

Pack = Callable[[int], tuple[int, float, float]]
"""From the number of transactions that a branch holds: the number with the next block, the block's bytes, and
the seconds that executing it takes.
"""


@dataclass(frozen=True, slots=True, eq=False)
class MinedBlock:
    """A block: `packed` transactions of its branch up to it; `reached` each member at these times, (n,)."""

    height: int
    parent: MinedBlock | None
    packed: int
    reached: Floats


class Mining:
    """The blocks of one chain.

    Attributes:
        found, stale: blocks found so far, and how many of them a longer branch left behind.
    """

    def __init__(
        self, network: Network, power: Floats, interval: float, confirmations: int, pack: Pack
    ) -> None:
        """Hash `power` is (n,), of each member, in any unit; `confirmations` blocks on top settle a block."""
        self._network = network
        self._share = np.cumsum(power / power.sum())
        self._interval = interval
        self._confirmations = confirmations
        self._pack = pack
        genesis = MinedBlock(0, None, 0, np.zeros(network.nodes))
        self._recent = [genesis]
        self._best = genesis
        self.found = 0

    @property
    def stale(self) -> int:
        return self.found - self._best.height

    def wait(self) -> float:
        """Seconds until the next block is found."""
        return float(self._network.rng.exponential(self._interval))

    def find(self, now: float) -> int:
        """Finds a block; returns the number of transactions settled from now on.

        The longest branch held them `confirmations` blocks before its last.
        """
        finder = int(np.searchsorted(self._share, self._network.rng.random(), side="right"))
        finder = min(finder, self._network.nodes - 1)
        known = [block for block in self._recent if block.reached[finder] <= now]
        parent = max(known, key=lambda block: (block.height, -block.reached[finder]))
        packed, size, execution = self._pack(parent.packed)
        reached = now + self._network.relay(size, finder) + execution
        reached[finder] = now
        block = MinedBlock(parent.height + 1, parent, packed, reached)
        self.found += 1
        if block.height > self._best.height:
            self._best = block
        self._recent.append(block)
        # No member builds on a block below one that all of them have.
        keep = max((each.height for each in self._recent if each.reached.max() <= now), default=0)
        self._recent = [each for each in self._recent if each.height >= keep]
        return self._settled()

    def _settled(self) -> int:
        block: MinedBlock | None = self._best
        for _ in range(self._confirmations):
            block = block.parent if block else None
        _forget_ancestors(block)
        return block.packed if block else 0


def _forget_ancestors(block: MinedBlock | None) -> None:
    """Frees the blocks under a settled one."""
    if block is not None and block.parent is not None:
        object.__setattr__(block, "parent", None)
