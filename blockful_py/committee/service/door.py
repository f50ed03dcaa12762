# SPDX-License-Identifier: Apache-2.0
"""Connections to a member: how long each may take, and how many each peer may have.

A connection waits at the door until its sender is known.  Too many waiting ones push out the oldest of the
address that has most, so that strangers delay only each other: a member's question is known within one round
trip.  Then it takes a seat in its sender's row.  Rows of strangers go by address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from blockful_py.errors import BusyError

MAX_WAITING = 128
"""Connections whose sender is not known yet."""
PEER_SEATS = 16
"""Connections of one member or leader."""
STRANGER_SEATS = 4
"""Connections of one address that no member or leader asks from."""
STRANGERS = 16
"""Connections of all strangers together."""

WAITING_SECONDS = 5.0
"""From the connection's start until its sender is known; includes the TLS handshake."""
BODY_SECONDS = 20.0
"""From then until the whole body has arrived."""
ANSWER_SECONDS = 20.0
"""From the answer until the peer has taken it."""

Row = bytes | str
"""The key of a member or leader, or a stranger's address."""


class Guest:
    """One connection."""

    def __init__(self, connection: socket.socket, address: str, loop: asyncio.AbstractEventLoop) -> None:
        self.address = address
        self.row: Row | None = None
        self.connected = True
        self.transport: asyncio.Transport | None = None
        self._connection = connection
        self._loop = loop
        self._alarm: asyncio.TimerHandle | None = None

    def within(self, seconds: float | None) -> None:
        """Closes the connection after `seconds` from now; None lifts the deadline."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if seconds is None else self._loop.call_later(seconds, self.hang_up)

    def hang_up(self) -> None:
        """Ends the connection, also within its TLS handshake."""
        if self.transport is not None:
            self.transport.abort()
            return
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


class Door:
    """Knows every open connection; used on the thread of its event loop only."""

    def __init__(self) -> None:
        self._waiting: dict[Guest, None] = {}
        self._seated: Counter[Row] = Counter()

    def enter(self, guest: Guest) -> None:
        """Begins a connection's wait, which may end another's."""
        self._waiting[guest] = None
        guest.within(WAITING_SECONDS)
        if len(self._waiting) > MAX_WAITING:
            crowd, _ = Counter(each.address for each in self._waiting).most_common(1)[0]
            oldest = next(each for each in self._waiting if each.address == crowd)
            self.leave(oldest)
            oldest.hang_up()

    @contextmanager
    def seat(self, guest: Guest, peer: bytes | None) -> Iterator[None]:
        """Seats a connection in the row of `peer`, or of its address when it is None.

        Its seat is free once the block has ended and the connection is closed.  Raises BusyError.
        """
        row: Row = guest.address if peer is None else peer
        strangers = sum(count for each, count in self._seated.items() if isinstance(each, str))
        full = self._seated[row] >= (STRANGER_SEATS if peer is None else PEER_SEATS)
        if full or (peer is None and strangers >= STRANGERS):
            raise BusyError("this member has as many questions from you as it takes at one time")
        self._waiting.pop(guest, None)
        self._seated[row] += 1
        guest.within(BODY_SECONDS)
        try:
            yield
        finally:
            if guest.connected:
                guest.row = row
                guest.within(ANSWER_SECONDS)
            else:
                self._free(row)

    def leave(self, guest: Guest) -> None:
        """Forgets a connection that is closed."""
        self._waiting.pop(guest, None)
        guest.connected = False
        guest.within(None)
        if guest.row is not None:
            self._free(guest.row)
            guest.row = None

    def close(self) -> None:
        """Ends the connections that wait."""
        for guest in [*self._waiting]:
            guest.hang_up()

    def _free(self, row: Row) -> None:
        self._seated[row] -= 1
        if not self._seated[row]:
            del self._seated[row]


def address_of(host: str) -> str:
    """What strangers are told apart by: an IPv4 address, or the network of 64 bits of an IPv6 one."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
