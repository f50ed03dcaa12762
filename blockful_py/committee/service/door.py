# SPDX-License-Identifier: Apache-2.0
"""Limits the connections to a member: their duration, and their number for each peer.

A connection waits at the door until its sender is known.  When too many wait, the address with the most
connections loses its oldest one.  So strangers delay only each other, because a member's question is
identified within one round trip.  A connection then takes a slot in its sender's row; strangers share a row
for each address.  Connections that fetch blocks have separate rows.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

from blockful_py.errors import BusyError
from blockful_py.types import Address

MAX_WAITING = 128
"""Maximum connections with a sender still unknown."""
PEER_SLOTS = 16
"""Maximum connections of one member or leader."""
STRANGER_SLOTS = 4
"""Maximum connections of strangers from one address."""
STRANGERS = 16
"""Maximum connections of all strangers together."""
FETCHER_SLOTS = 4
"""Maximum connections that fetch blocks, for each member, leader or address of strangers."""
FETCHERS = 16
"""Maximum connections that fetch blocks, for all strangers together."""
FETCHED_RATE = 32 * 2**20
"""Bytes of blocks per second sent to all strangers together."""

ASKED_RATE = 2 * 2**20
"""Bytes per second of one participant's bodies, after the first `ASKED_AT_ONCE` bytes."""
ASKED_AT_ONCE = 64 * 2**20
"""Bytes of bodies that a participant may send at any rate, enough for most models."""

WAITING_SECONDS = 5.0
"""Time from the start of a connection until its sender is known, including the TLS handshake."""
BODY_SECONDS = 20.0
"""Time from then until the whole body has arrived."""
PACE_SECONDS = 5.0
"""Maximum delay for a participant that sends too fast; a longer one is refused as busy."""
ANSWER_SECONDS = 20.0
"""Time for a peer to take the answer, or each block when it fetches blocks."""


class Guest:
    """One connection."""

    def __init__(self, connection: socket.socket, address: str, loop: asyncio.AbstractEventLoop) -> None:
        self.address = address
        self.slot: TakenSlot | None = None
        self.connected = True
        self.transport: asyncio.Transport | None = None
        self._connection = connection
        self._loop = loop
        self._alarm: asyncio.TimerHandle | None = None

    def within(self, seconds: float | None) -> None:
        """Closes the connection after `seconds`; None removes the deadline."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if seconds is None else self._loop.call_later(seconds, self.hang_up)

    def hang_up(self) -> None:
        """Ends the connection, even during its TLS handshake."""
        if self.transport is not None:
            self.transport.abort()
            return
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


class Rows:
    """Counts slots by row, at most `each` in one row and `total` in all."""

    def __init__(self, each: int, total: float = math.inf) -> None:
        self._each = each
        self._total = total
        self._taken: Counter[bytes | str] = Counter()

    def take(self, row: bytes | str) -> TakenSlot:
        """Takes a slot in a row.  Raises BusyError when it has no free slot."""
        if self._taken[row] >= self._each or self._taken.total() >= self._total:
            raise BusyError("this member has its maximum number of questions from you at one time")
        self._taken[row] += 1
        return TakenSlot(self, row)

    def free(self, row: bytes | str) -> None:
        self._taken[row] -= 1
        if not self._taken[row]:
            del self._taken[row]


@dataclass(frozen=True, slots=True)
class TakenSlot:
    """A slot in a row, taken until `leave`."""

    rows: Rows
    row: bytes | str

    def leave(self) -> None:
        self.rows.free(self.row)


class Pace:
    """Limits a rate: after the first `at_once` bytes, delays amount to `rate` bytes per second."""

    def __init__(self, rate: float, at_once: int = 0) -> None:
        self._rate = rate
        self._ahead = at_once / rate
        self._free_at = -math.inf

    def delay(self, size: int, now: float, longest: float = math.inf) -> float:
        """Seconds to wait from `now` before sending `size` bytes; `longest` means not to send them."""
        begin = max(self._free_at, now - self._ahead)
        if begin - now >= longest:
            return longest
        self._free_at = begin + size / self._rate
        return max(0.0, begin - now)

    def rests(self, now: float) -> bool:
        """Whether the full `at_once` allowance is available again."""
        return self._free_at <= now - self._ahead


class Door:
    """Tracks every open connection; used only on the thread of its event loop."""

    def __init__(self) -> None:
        self._waiting: dict[Guest, None] = {}
        self._peers = Rows(PEER_SLOTS)
        self._strangers = Rows(STRANGER_SLOTS, STRANGERS)
        self._fetching_peers = Rows(FETCHER_SLOTS)
        self._fetching_strangers = Rows(FETCHER_SLOTS, FETCHERS)
        self._asking: dict[bytes, Pace] = {}

    def enter(self, guest: Guest) -> None:
        """Starts a connection's wait, which may end the wait of another."""
        self._waiting[guest] = None
        guest.within(WAITING_SECONDS)
        if len(self._waiting) > MAX_WAITING:
            crowd, _ = Counter(each.address for each in self._waiting).most_common(1)[0]
            oldest = next(each for each in self._waiting if each.address == crowd)
            self.leave(oldest)
            oldest.hang_up()

    def slot(self, guest: Guest, peer: Address | None) -> AbstractContextManager[None]:
        """Gives a question's connection a slot in the row of `peer`, or of its address if `peer` is None.

        The slot is free again after the block has ended and the connection is closed.  Raises BusyError.
        """
        rows = (self._peers, self._strangers)
        return self._holding(guest, _taken(rows, guest, peer), BODY_SECONDS)

    async def pace(self, participant: bytes, size: int) -> None:
        """Waits until a participant may send another `size` bytes.  Raises BusyError."""
        now = asyncio.get_running_loop().time()
        self._asking = {each: pace for each, pace in self._asking.items() if not pace.rests(now)}
        pace = self._asking.setdefault(participant, Pace(ASKED_RATE, ASKED_AT_ONCE))
        delay = pace.delay(size, now, PACE_SECONDS)
        await asyncio.sleep(delay)
        if delay >= PACE_SECONDS:
            raise BusyError(f"this member takes {ASKED_RATE:,} bytes a second from you")

    def fetching(self, guest: Guest, peer: Address | None) -> AbstractContextManager[None]:
        """Gives a connection that fetches blocks a slot, as `slot` does for questions."""
        rows = (self._fetching_peers, self._fetching_strangers)
        return self._holding(guest, _taken(rows, guest, peer), ANSWER_SECONDS)

    @contextmanager
    def _holding(self, guest: Guest, slot: TakenSlot, seconds: float) -> Iterator[None]:
        self._waiting.pop(guest, None)
        guest.within(seconds)
        try:
            yield
        finally:
            if guest.connected:
                guest.slot = slot
                guest.within(ANSWER_SECONDS)
            else:
                slot.leave()

    def leave(self, guest: Guest) -> None:
        """Forgets a closed connection."""
        self._waiting.pop(guest, None)
        guest.connected = False
        guest.within(None)
        if guest.slot is not None:
            guest.slot.leave()
            guest.slot = None

    def close(self) -> None:
        """Ends the waiting connections."""
        for guest in [*self._waiting]:
            guest.hang_up()


def _taken(rows: tuple[Rows, Rows], guest: Guest, peer: Address | None) -> TakenSlot:
    """Takes a slot in the row of a peer or of a stranger's address."""
    peers, strangers = rows
    return strangers.take(guest.address) if peer is None else peers.take(peer)


def address_of(host: str) -> str:
    """The identity of a stranger: its IPv4 address, or the 64-bit network of its IPv6 address."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
