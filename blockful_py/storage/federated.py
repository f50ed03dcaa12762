# SPDX-License-Identifier: Apache-2.0
"""The store of a machine of a federation: its own folder, and other machines' for what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from blockful_py.errors import BlockNotFoundError, IntegrityError, StoreUnreachableError
from blockful_py.storage.absent import AbsentFiles
from blockful_py.storage.arrivals import FETCHED, Arrivals
from blockful_py.storage.assembly import Assembly
from blockful_py.storage.fetch import Fetch, Keep, Machine, Sign, unsigned
from blockful_py.storage.search import Report, Search
from blockful_py.storage.standing import Standing
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import Parts, read_file, read_whole
from blockful_py.storage.writers import Writers
from blockful_py.types import Readable, Uri

SECONDS = 120.0
"""For the fetch of one file."""
PATIENCE = 20.0
"""In which a machine must send another block whole."""
RATE = 2**16
"""Bytes in a second that a machine must send beyond its patience, of as long a file as the limit allows."""


class FederatedStore:
    """A store of files (see `FileStore`); safe for several processes and threads at once.

    A file that is not kept here is gathered from what has arrived and from other machines, then kept.  Each
    block is verified; those that are here already are not fetched again.  A machine that lies, breaks off,
    lags, is busy or lacks a block is passed over; one at fault is asked last from then on, and one that costs
    time and brings nothing rests (`Standing`).  A file that nobody has is not asked for at every look
    (`AbsentFiles`).
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
        """`machines`: those to ask, in the order to ask them; `sign`: shows them who asks.

        `seconds`: for the fetch of one file; `patience`: in which a machine must send another block whole.
        `arrived` is called for each block that another machine sent.  `now`: a clock, in seconds.
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

    def add_each(self, files: Iterable[bytes]) -> tuple[Uri, ...]:
        return self.own.add_each(files)

    def add_pieces(self, pieces: Iterable[bytes]) -> Uri:
        return self.own.add_pieces(pieces)

    def read(self, uri: Uri, limit: int) -> bytes:
        """The bytes of the file `uri`, which is kept here afterwards.

        Raises:
            BlockNotFoundError: it is not here, and no machine has it.
            StoreUnreachableError: it is not here, and could not be fetched; it can be asked for again.
                Either is raised again, without a question to anybody, until the file's next time.
            FormatError: it is not a file, or longer than `limit` bytes.
        """
        self.keep(uri, limit)
        return read_whole(uri, partial(self._block, limit=limit), limit)

    def stream(self, uri: Uri, limit: int) -> Iterator[bytes]:
        """Yields the bytes of the file `uri` in verified pieces of at most 2 MiB; otherwise as `read`."""
        self.keep(uri, limit)
        yield from read_file(uri, partial(self._block, limit=limit), limit)

    def keep(self, uri: Uri, limit: int) -> None:
        """Keeps the file `uri`, fetched where it is not here; errors as `read`."""
        if not self.own.has(uri):
            self.own.adopt(uri, self._gathered(uri, limit), self.arrivals)

    def has(self, uri: Uri) -> bool:
        return self.own.has(uri)

    def delete(self, *uris: Uri) -> None:
        self.own.delete(*uris)

    def __iter__(self) -> Iterator[Uri]:
        return iter(self.own)

    def _block(self, uri: Uri, limit: int) -> bytes:
        """A block of a kept file of at most `limit` bytes, fetched again where it is lost or damaged."""
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
        """All blocks of a file, once they are here or have arrived."""
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
        """Fetches all that is missing.

        Machines seldom move, so the chain is asked for them only when those that were known brought nothing.
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
