# SPDX-License-Identifier: Apache-2.0
"""The store of a machine of a federation: its own folder, and other machines' for what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from blockful_py.errors import BlockNotFoundError, BusyError, IntegrityError, StoreUnreachableError
from blockful_py.storage.arrivals import FETCHED, Arrivals
from blockful_py.storage.assembly import Assembly
from blockful_py.storage.cid import cid_string
from blockful_py.storage.fetch import AbsentError, Fetch, Keep, Machine, Sign
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import Parts, read_file, read_whole
from blockful_py.storage.writers import Writers
from blockful_py.types import Readable, Uri

SECONDS = 120.0
"""For the fetch of one file."""
PATIENCE = 20.0
"""In which a machine must send another block whole."""
BUSY_SECONDS = 1.0
"""Wait before busy machines are asked again."""

PassedOver = AbsentError | BusyError | StoreUnreachableError
"""Why a machine was passed over."""
Report = Callable[[str, str], None]
"""Called with a machine's URL and why it was passed over."""


class FederatedStore:
    """A store of files (see `FileStore`); safe for several processes and threads at once.

    A file that is not kept here is gathered from what has arrived and from other machines, then kept.  Each
    block is verified; those that are here already are not fetched again.  A machine that lies, breaks off,
    lags, is busy or lacks a block is passed over; one at fault is asked last from then on.
    """

    def __init__(
        self,
        own: ContentStore,
        arrivals: Arrivals,
        machines: Callable[[], Sequence[Machine]],
        report: Report = lambda url, reason: None,
        sign: Sign = lambda machine: {},
        seconds: float = SECONDS,
        patience: float = PATIENCE,
        arrived: Callable[[], None] = lambda: None,
    ) -> None:
        """`machines`: those to ask, in the order to ask them; `sign`: shows them who asks.

        `seconds`: for the fetch of one file; `patience`: in which a machine must send another block whole.
        `arrived` is called for each block that another machine sent.
        """
        self.own = own
        self.arrivals = arrivals
        self._machines = machines
        self._report = report
        self._sign = sign
        self._seconds = seconds
        self._patience = patience
        self._told = arrived
        self._failed: dict[Machine, float] = {}
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
        assembly = Assembly(uri, limit, self._here)
        if assembly.missing:
            for block in assembly.blocks:
                self.arrivals.renew(FETCHED, block)
            self.arrivals.make_room(FETCHED, limit)
            with Writers(self._arrived) as writers:
                self._fetch(uri, assembly, lambda block, data: writers.put(block, (data,)))
        return assembly.blocks

    def _arrived(self, uri: Uri, parts: Parts) -> None:
        self.arrivals.put(FETCHED, uri, b"".join(parts))
        self._told()

    def _fetch(self, uri: Uri, assembly: Assembly, keep: Keep) -> None:
        """Asks machine after machine, and all of them again while they send something or are busy.

        Machines seldom move, so the chain is asked for them only when those that were known brought nothing.
        """
        fetch = Fetch(assembly, keep, self._sign, self._patience)
        deadline, reasons = time.monotonic() + self._seconds, dict[str, PassedOver]()
        before, busy, stale = -1, False, bool(self._known)
        while busy or stale or before != _progress(assembly):
            if not self._known or before == _progress(assembly):
                self._known, stale = tuple(self._machines()), False
            time.sleep(BUSY_SECONDS if busy else 0)
            before, busy = _progress(assembly), False
            for machine in sorted(self._known, key=lambda each: self._failed.get(each, 0.0)):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise _unreachable(uri, reasons, f" within {self._seconds:g} s")
                error = self._asked(fetch, machine, left)
                if error is None:
                    return
                reasons[machine.url] = error
                busy = busy or isinstance(error, BusyError)
        raise _failure(uri, reasons)

    def _asked(self, fetch: Fetch, machine: Machine, seconds: float) -> PassedOver | None:
        """Asks a machine for all that is missing; the reason why it was passed over, or None."""
        try:
            fetch.ask(machine, seconds)
        except (AbsentError, BusyError, StoreUnreachableError) as error:
            self._report(machine.url, str(error))
            if isinstance(error, StoreUnreachableError):
                self._failed[machine] = time.monotonic()
            return error
        return None


def _progress(assembly: Assembly) -> int:
    """Blocks that are here of those that are known."""
    return len(assembly.blocks) - len(assembly.missing)


def _failure(uri: Uri, reasons: dict[str, PassedOver]) -> BlockNotFoundError | StoreUnreachableError:
    if all(isinstance(reason, AbsentError) for reason in reasons.values()):
        return BlockNotFoundError(
            f"{cid_string(uri)} is not in this store, and no machine that it may ask has all of it "
            f"({_listed(reasons)}): it was deleted, or its owner has to be reachable."
        )
    return _unreachable(uri, reasons)


def _unreachable(uri: Uri, reasons: dict[str, PassedOver], when: str = "") -> StoreUnreachableError:
    return StoreUnreachableError(
        f"{cid_string(uri)} could not be fetched{when} ({_listed(reasons)}): run the command again; what "
        "came is kept."
    )


def _listed(reasons: dict[str, PassedOver]) -> str:
    return "; ".join(f"{url}: {reason}" for url, reason in reasons.items()) or "there is none"
