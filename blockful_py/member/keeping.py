# SPDX-License-Identifier: Apache-2.0
"""Keeps the files that the record names, and removes others after a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from blockful_py.errors import BlockfulError, StorageError
from blockful_py.storage.federated import FederatedStore
from blockful_py.types import Uri

UNNAMED_SECONDS = 3600.0
"""How long blocks and files stay that no current version and no open proposal names."""
EXPIRY_SECONDS = 60.0
"""Between two looks at the blocks that arrived."""
UNNAMED_BYTES = 16 * 2**30
"""Bytes of kept files that nothing names, together."""


@dataclass(frozen=True, slots=True)
class _Unnamed:
    """A kept file that nothing names: since when, and its bytes."""

    since: float
    size: int


class KeepingDuty:
    """Fetches the named files that this member lacks, and removes what nothing names.

    A file is removed once this process has found it unnamed for UNNAMED_SECONDS without a break, so that a
    node that lags for a while costs nothing; earlier where such files have more than UNNAMED_BYTES.
    """

    name = "files"

    def __init__(
        self,
        store: FederatedStore,
        named: Callable[[], Collection[Uri]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`named`: files of current versions and open proposals; raises BlockfulError while unknown."""
        self._store = store
        self._named = named
        self._now = now
        self._unnamed: dict[Uri, _Unnamed] = {}
        self._expired = -math.inf

    def step(self) -> None:
        """Raises the last error of those files that cannot be fetched, once all others are here."""
        named = frozenset(self._named())
        problem: BlockfulError | None = None
        for uri in named:
            try:
                self._store.keep(uri)
            except StorageError as error:
                problem = error
        self._remove(named)
        if self._now() >= self._expired + EXPIRY_SECONDS:
            self._expired = self._now()
            self._store.arrivals.expire(UNNAMED_SECONDS)
        if problem is not None:
            raise problem

    def _remove(self, named: Collection[Uri]) -> None:
        now = self._now()
        unnamed = [uri for uri in self._store if uri not in named]
        self._unnamed = {uri: self._unnamed.get(uri) or _Unnamed(now, self._size(uri)) for uri in unnamed}
        total = sum(each.size for each in self._unnamed.values())
        for uri, each in sorted(self._unnamed.items(), key=lambda item: item[1].since):
            if each.since <= now - UNNAMED_SECONDS or total > UNNAMED_BYTES:
                self._store.delete(uri)
                total -= each.size

    def _size(self, uri: Uri) -> int:
        try:
            return self._store.own.size(uri)
        except StorageError:  # its root is damaged
            return 0
