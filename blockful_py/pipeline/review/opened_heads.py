# SPDX-License-Identifier: Apache-2.0
"""The heads that this member has opened with the others, by their pools."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict

from blockful_py.errors import RefusedError
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.review.shared_pools import Pool
from blockful_py.types import Bytes32

MOST_HEADS = 512
"""Number of heads kept."""
MOST_POOLS = 8
"""Pools of a version whose heads are opened: from many, its references' sums could be computed."""


class OpenedHeads:
    """Heads by pool, and the pools that were asked for, by version."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heads: OrderedDict[Bytes32, Weights] = OrderedDict()
        self._asked: defaultdict[tuple[str, int], set[Bytes32]] = defaultdict(set)

    def require_few(self, pool: Pool, version: int) -> None:
        """Notes that the head of a pool is asked for.  Raises RefusedError for one pool too many."""
        with self._lock:
            asked = self._asked[pool.name, version]
            if len(asked | {pool.digest()}) > MOST_POOLS:
                raise RefusedError(
                    f"{MOST_POOLS} other heads were opened for version {version} of {pool.name}, and more "
                    "would show sums: have the members' operators restart them if their owner is trusted"
                )
            asked.add(pool.digest())

    def keep(self, pool: Pool, head: Weights) -> None:
        with self._lock:
            self._heads[pool.digest()] = head
            while len(self._heads) > MOST_HEADS:
                self._heads.popitem(last=False)

    def head(self, pool: Pool) -> Weights:
        """The head of a pool.  Raises RefusedError if this member has not opened it."""
        with self._lock:
            found = self._heads.get(pool.digest())
        if found is None:
            raise RefusedError(f"this member has not opened this head of {pool.name}: ask for it first")
        return found
