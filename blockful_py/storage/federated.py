# SPDX-License-Identifier: Apache-2.0
"""The store of a federation's machine: its own folder, plus other machines for missing files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from blockful_py.errors import (
    BlockNotFoundError,
    BusyError,
    IntegrityError,
    StorageError,
    StoreUnreachableError,
)
from blockful_py.storage.arrivals import FETCHED, Arrivals
from blockful_py.storage.assembly import Assembly
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.bundles import fetch_bundle, in_bundles
from blockful_py.storage.fetch import RATE, Fetch, Keep, Machine, Sign, unsigned
from blockful_py.storage.search import Report, Search
from blockful_py.storage.standing import AbsentFiles, Standing
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import Parts, read_file, read_whole
from blockful_py.storage.writers import Writers
from blockful_py.types import Readable, Uri

SECONDS = 120.0
"""Maximum seconds for the fetch of one file."""
PATIENCE = 20.0
"""Seconds within which a machine must send a further complete block."""
SEVERAL = 2
"""Minimum number of missing files that are worth a bundle."""


class FederatedStore:
    """A store of files (see `FileStore`); safe for several processes and threads.

    It assembles a missing file from arrived blocks and from other machines, then keeps it.  It verifies each
    block and never fetches a local block again.  It skips a machine that lies, breaks off, lags, is busy or
    lacks a block; afterwards, a faulty machine is asked last, and one that cost time without result rests
    (`Standing`).  A file that nobody has is requested at growing intervals (`AbsentFiles`).
    """

    def __init__(
        self,
        own: ContentStore,
        arrivals: Arrivals,
        machines: Callable[[], Sequence[Machine]],
        report: Report = lambda url, reason: None,
        sign: Sign = unsigned,
        seconds: float = SECONDS,
        patience: float = PATIENCE,
        arrived: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Combines the store `own` with the gateways of other machines.

        `machines` returns the machines to ask, in order; `sign` authenticates requests to them.  `seconds`
        bounds the fetch of one file; a machine must send a further block within `patience` seconds.
        `arrived` is called for each block that another machine sent.  `now` is a clock in seconds.
        """
        self.own = own
        self.arrivals = arrivals
        self._machines = machines
        self._report = report
        self._sign = sign
        self._seconds = seconds
        self._patience = patience
        self._told = arrived
        self._now = now
        self._standing = Standing(now)
        self._absent = AbsentFiles(now)
        self._known: tuple[Machine, ...] = ()

    def add(self, data: bytes) -> Uri:
        return self.own.add(data)

    def add_stream(self, stream: Readable) -> Uri:
        return self.own.add_stream(stream)

    def add_each(self, files: Iterable[Iterable[bytes]]) -> tuple[Uri, ...]:
        return self.own.add_each(files)

    def add_pieces(self, pieces: Iterable[bytes]) -> Uri:
        return self.own.add_pieces(pieces)

    def read(self, uri: Uri, limit: int) -> bytes:
        """The bytes of the file `uri`, which is kept here afterwards.

        Raises BlockNotFoundError if no machine has it, StoreUnreachableError if it could not be fetched for
        now (both are raised again without any request until the next attempt is due), and FormatError if it
        is not a file or is longer than `limit` bytes.
        """
        self.keep(uri, limit)
        return read_whole(uri, partial(self._block, limit=limit), limit)

    def stream(self, uri: Uri, limit: int, begin: int = 0) -> Iterator[bytes]:
        """Yields the file `uri` from byte `begin` on in verified pieces of at most 2 MiB; else as `read`."""
        self.keep(uri, limit)
        yield from read_file(uri, partial(self._block, limit=limit), limit, begin)

    def keep(self, uri: Uri, limit: int) -> None:
        """Keeps the file `uri`, fetching it if it is not here; errors as `read`."""
        if not self.own.has(uri):
            self.own.adopt(uri, self._gathered(uri, limit), self.arrivals)

    def prefetch(self, uris: Iterable[Uri]) -> None:
        """See FileStore: each machine is asked for bundles of the roots that those before it did not send."""
        missing = [uri for uri in dict.fromkeys(uris) if not self.own.has(uri) and self._here(uri) is None]
        for names in in_bundles(uri for uri in missing if self._absent.is_due(uri)):
            self.arrivals.make_room(FETCHED, len(names) * MAX_BLOCK_SIZE)
            self._known = self._known or tuple(self._machines())
            for machine in self._standing.order(self._known):
                if len(names) < SEVERAL:
                    break
                self._bundle(machine, names)
                names = [uri for uri in names if self._here(uri) is None]

    def _bundle(self, machine: Machine, names: Sequence[Uri]) -> None:
        """Asks a machine for a bundle; `read` meets what stands in its way."""
        if self._standing.rest(machine):
            return
        begun = self._now()
        try:
            with Writers(self._arrived) as writers:
                keep: Keep = lambda uri, block: writers.put(uri, (block,))  # noqa: E731
                fetch_bundle(machine, names, keep, self._sign, self._patience)
        except StoreUnreachableError as error:
            self._report(machine.url, str(error))
            self._standing.fault(machine, self._now() - begun)
        except (BusyError, StorageError):
            return

    def has(self, uri: Uri) -> bool:
        return self.own.has(uri)

    def delete(self, *uris: Uri) -> None:
        self.own.delete(*uris)

    def __iter__(self) -> Iterator[Uri]:
        return iter(self.own)

    def _block(self, uri: Uri, limit: int) -> bytes:
        """A block of a kept file of at most `limit` bytes; fetched again if lost or damaged."""
        with suppress(BlockNotFoundError, IntegrityError):
            return self.own.block(uri)
        self.own.take(self._gathered(uri, limit), self.arrivals)
        return self.own.block(uri)

    def _here(self, uri: Uri) -> bytes | None:
        for block in (self.own.block, self.arrivals.get):
            with suppress(BlockNotFoundError, IntegrityError):
                return block(uri)
        return None

    def _gathered(self, uri: Uri, limit: int) -> tuple[Uri, ...]:
        """All blocks of a file, each of them here or arrived."""
        self._absent.require_due(uri, lambda block: self._here(block) is not None)
        assembly = Assembly(uri, limit, self._here)
        if assembly.missing:
            for block in assembly.blocks:
                self.arrivals.renew(FETCHED, block)
            self.arrivals.make_room(FETCHED, limit)
            with Writers(self._arrived) as writers:
                self._fetch(uri, limit, assembly, lambda block, data: writers.put(block, (data,)))
        self._absent.forget(uri)
        return assembly.blocks

    def _arrived(self, uri: Uri, parts: Parts) -> None:
        self.arrivals.put(FETCHED, uri, b"".join(parts))
        self._told()

    def _fetch(self, uri: Uri, limit: int, assembly: Assembly, keep: Keep) -> None:
        """Fetches everything that is missing.

        Machines seldom move, so the chain is asked for their addresses only if the known ones brought
        nothing.
        """
        fetch = Fetch(assembly, keep, self._sign, self._patience)
        each = self._patience + limit / RATE
        search = Search(uri, assembly, fetch, self._standing, self._report, self._seconds, each, self._now)
        try:
            known = self._known
            if known and search.asks(known):
                return
            self._known = tuple(self._machines())
            fresh = [machine for machine in self._known if machine not in known]
            if search.asks(fresh) or search.waits():
                return
            raise search.failure()
        except (BlockNotFoundError, StoreUnreachableError) as error:
            self._absent.note(uri, error, assembly.missing, search.is_absent_somewhere)
            raise
