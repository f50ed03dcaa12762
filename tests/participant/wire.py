# SPDX-License-Identifier: Apache-2.0
"""Hosts of a test, each a network namespace with its own address, and the wire between them.

The wire is a thread of this process that carries packets from one host's TUN device to another's, with a
given delay and loss.  A host that is cut off sends into the void, without any notice, as behind a broken
line.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import selectors
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from socket import inet_aton

from blockful_py.closable import Closable
from tests.confinement import TUN, ip, namespace, within

SET_INTERFACE = 0x400454CA  # TUNSETIFF
PLAIN_TUN = 0x0001 | 0x1000  # IFF_TUN, IFF_NO_PI
NETWORK = "10.77.0"
PACKET_BYTES = 16_000
DESTINATION = slice(16, 20)
"""Place of the destination in an IPv4 header."""


@dataclass(frozen=True)
class Host:
    """A namespace, and its address on the wire."""

    namespace: str
    address: str


class Wire(Closable):
    """Carries packets between hosts until it is closed."""

    def __init__(self, hosts: Sequence[Host], delay: float = 0.0, loss: float = 0.0, seed: int = 0) -> None:
        """A wire with `delay` seconds each way and a share `loss` of lost packets, drawn from `seed`."""
        self._delay, self._loss, self._rng = delay, loss, random.Random(seed)
        self._cuts: tuple[frozenset[frozenset[bytes]], ...] = ()
        self._devices = {inet_aton(host.address): _device(host) for host in hosts}
        self._waiting: list[tuple[float, int, bytes]] = []
        self._wake, self._end = os.pipe()
        self.carried, self.lost, self.cut_off = 0, 0, 0
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    @contextmanager
    def cut(self, host: Host, *others: Host) -> Iterator[None]:
        """Blocks packets between a host and these others (default: all) meanwhile; cuts may overlap."""
        ends = [inet_aton(other.address) for other in others] or [*self._devices]
        one = inet_aton(host.address)
        cut = frozenset(frozenset((one, other)) for other in ends)
        self._cuts += (cut,)
        try:
            yield
        finally:
            left = list(self._cuts)
            left.remove(cut)
            self._cuts = tuple(left)

    def close(self) -> None:
        if self._thread.is_alive():
            os.close(self._end)
            self._thread.join()
            os.close(self._wake)
            for device in self._devices.values():
                os.close(device)

    def _carry(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            for address, device in self._devices.items():
                selector.register(device, selectors.EVENT_READ, address)
            while True:
                for key, _ in selector.select(self._patience()):
                    if key.fd == self._wake:
                        return
                    self._take(key.fd, key.data)
                self._deliver()

    def _patience(self) -> float | None:
        return max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None

    def _take(self, device: int, sender: bytes) -> None:
        packet = os.read(device, PACKET_BYTES + 100)
        receiver = packet[DESTINATION]
        if packet[0] >> 4 != 4 or receiver not in self._devices:
            return
        if any(frozenset((sender, receiver)) in cut for cut in self._cuts):
            self.cut_off += 1
            return
        if self._rng.random() < self._loss:
            self.lost += 1
            return
        self.carried += 1
        heapq.heappush(self._waiting, (time.monotonic() + self._delay, self.carried, packet))

    def _deliver(self) -> None:
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            _, _, packet = heapq.heappop(self._waiting)
            os.write(self._devices[packet[DESTINATION]], packet)


@contextmanager
def joined(count: int, delay: float = 0.0, loss: float = 0.0) -> Iterator[tuple[Wire, tuple[Host, ...]]]:
    """Joins `count` hosts on one wire."""
    with ExitStack() as stack:
        hosts = tuple(
            Host(stack.enter_context(namespace(f"blockful-{os.getpid()}-{number}")), f"{NETWORK}.{number}")
            for number in range(1, count + 1)
        )
        yield stack.enter_context(Wire(hosts, delay, loss)), hosts


def _device(host: Host) -> int:
    """A TUN device in a host's namespace, which connects it to the others."""
    with within(host.namespace):
        device = os.open(TUN, os.O_RDWR)
        fcntl.ioctl(device, SET_INTERFACE, struct.pack("16sH22x", b"wire", PLAIN_TUN))
    ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "wire")
    ip("-n", host.namespace, "link", "set", "wire", "up", "mtu", str(PACKET_BYTES))
    return device
