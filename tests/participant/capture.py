# SPDX-License-Identifier: Apache-2.0
"""Captures all traffic in a network namespace and reassembles the streams."""

from __future__ import annotations

import base64
import os
import selectors
import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address

from blockful_py.closable import Closable
from tests.confinement import within

ALL_PROTOCOLS, OUTGOING = 0x0003, 4  # ETH_P_ALL, PACKET_OUTGOING
BUFFER_FORCE, BUFFER = 33, 1 << 28  # SO_RCVBUFFORCE
TCP = 6
SYN = 0x02
STEP = 1 << 32
"""Sequence numbers wrap around after this many."""

Ends = tuple[str, int, str, int]
"""Address and port of the sender, then of the receiver."""


@dataclass
class Direction:
    """One direction of a TCP connection: the sent bytes, keyed by the place of their first byte."""

    first: int
    segments: dict[int, bytes] = field(default_factory=dict)

    def add(self, sequence: int, content: bytes) -> None:
        place = (sequence - self.first) % STEP
        if len(content) > len(self.segments.get(place, b"")):
            self.segments[place] = content

    def whole(self) -> tuple[bytes, int]:
        """The bytes in order, and the number of bytes that were not captured."""
        sent, missing = bytearray(), 0
        for place, content in sorted(self.segments.items()):
            gap = max(0, place - len(sent))
            missing += gap
            sent += bytes(gap)
            sent += content[max(0, len(sent) - place) :]
        return bytes(sent), missing


class Capture(Closable):
    """Listens on all interfaces of a namespace, from its construction until it is closed."""

    def __init__(self, namespace: str) -> None:
        with within(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PROTOCOLS))
        self._socket.setsockopt(socket.SOL_SOCKET, BUFFER_FORCE, BUFFER)
        self._packets: list[bytes] = []
        self._wake, self._end = os.pipe()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        if self._thread.is_alive():
            os.close(self._end)
            self._thread.join()
            os.close(self._wake)
            self._socket.close()

    def streams(self) -> dict[Ends, list[Direction]]:
        """All TCP streams so far; reused ports have several directions."""
        streams: dict[Ends, list[Direction]] = defaultdict(list)
        for packet in tuple(self._packets):
            segment = _segment(packet)
            if segment is None:
                continue
            ends, sequence, flags, content = segment
            if flags & SYN:
                streams[ends].append(Direction(sequence + 1))
            elif content and streams[ends]:
                streams[ends][-1].add(sequence, content)
        return streams

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            selector.register(self._socket, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if self._socket.fileno() not in ready:
                    return
                packet, address = self._socket.recvfrom(1 << 18)
                if address[2] != OUTGOING:
                    self._packets.append(packet)


def forms(secret: bytes) -> tuple[bytes, ...]:
    """Forms of a secret in text: plain, in hexadecimal digits, and in base64 at each of its offsets."""
    encoded = [base64.b64encode(bytes(skip) + secret)[4 * bool(skip) : -4] for skip in range(3)]
    return (secret, secret.hex().encode(), secret.hex().upper().encode(), *encoded)


def finds(content: bytes, secrets: dict[str, bytes]) -> Iterator[str]:
    """Names of the secrets that occur in some form."""
    for name, secret in secrets.items():
        if any(form in content for form in forms(secret)):
            yield name


def _segment(packet: bytes) -> tuple[Ends, int, int, bytes] | None:
    """Ends, sequence number, flags and content of a TCP segment in an IP packet; None for other packets."""
    version = packet[0] >> 4 if packet else 0
    if version == 4:
        size, protocol = 4 * (packet[0] & 15), packet[9]
        sender, receiver = packet[12:16], packet[16:20]
        end = struct.unpack(">H", packet[2:4])[0] or len(packet)
    elif version == 6:
        size, protocol = 40, packet[6]
        sender, receiver = packet[8:24], packet[24:40]
        end = 40 + struct.unpack(">H", packet[4:6])[0]
    else:
        return None
    if protocol != TCP:
        return None
    source, target, sequence, _, offset, flags = struct.unpack(">HHIIBB", packet[size : size + 14])
    ends = (str(ip_address(sender)), source, str(ip_address(receiver)), target)
    return ends, sequence, flags, packet[size + 4 * (offset >> 4) : end]
