# SPDX-License-Identifier: Apache-2.0
"""The heads that this member has opened with the others, by their pools."""

from __future__ import annotations

import threading
from collections import defaultdict

from blockful_py.errors import RefusedError
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.review.shared_pools import SharedPool
from blockful_py.types import Bytes32

MOST_POOLS = 8
"""Pools of a version whose heads are opened: from many, its references' sums could be computed."""


class OpenedHeads:
    """Heads by model and pool, of its newest version alone, and the pools that were opened, by version.

    `checked`: proofs of the parts whose shares fit this member, by CID.
    """

    def __init__(self) -> None:
        self.checked: set[str] = set()
        self._lock = threading.Lock()
        self._heads: dict[str, tuple[int, dict[Bytes32, Weights]]] = {}
        self._begun: defaultdict[tuple[str, int], set[Bytes32]] = defaultdict(set)

    def require_few(self, pool: SharedPool, version: int) -> None:
        """Checks that the head of a pool may be opened.  Raises RefusedError for one pool too many."""
        with self._lock:
            if len(self._begun[pool.name, version] | {pool.digest()}) > MOST_POOLS:
                raise RefusedError(
                    f"{MOST_POOLS} other heads were opened for version {version} of {pool.name}, and more "
                    "would show sums: if its owner is trusted, restart the members"
                )

    def begin(self, pool: SharedPool, version: int) -> None:
        """Notes that members begin to open the head of a pool, so that one who lies may see it."""
        with self._lock:
            self._begun[pool.name, version].add(pool.digest())

    def keep(self, pool: SharedPool, version: int, head: Weights) -> None:
        """Keeps a head, and forgets the heads of earlier versions."""
        with self._lock:
            newest, heads = self._heads.get(pool.name, (version, {}))
            if version > newest:
                heads = {}
            self._heads[pool.name] = (max(newest, version), {**heads, pool.digest(): head})

    def head(self, pool: SharedPool) -> Weights:
        """The head of a pool.  Raises RefusedError if this member has not opened it."""
        with self._lock:
            found = self._heads.get(pool.name, (0, {}))[1].get(pool.digest())
        if found is None:
            raise RefusedError(f"this member has not opened this head of {pool.name}: ask for it first")
        return found
