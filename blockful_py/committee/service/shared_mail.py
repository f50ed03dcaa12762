# SPDX-License-Identifier: Apache-2.0
"""Carries messages of runs on shares (`committee.shared_rounds`) between members' processes.

Members may begin a run at different times, so each keeps mail of runs that it has not begun, within bounds.
"""

from __future__ import annotations

import logging
import queue
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import MIB
from blockful_py.committee.service.member_client import MemberClient
from blockful_py.errors import BlockfulError, MessageError, RefusedError
from blockful_py.types import Address, Bytes32

_log = logging.getLogger(__name__)

MOST_UNREAD = 64 * MIB
"""Maximum bytes of a sender's unread messages."""
MESSAGE_BYTES = 512
"""Bytes that an unread message takes beside its own."""
KEPT_SECONDS = 600.0
"""Time for which mail of a run that does not begin here is kept."""
ENDED = 1024
"""Number of ended runs whose late messages are dropped."""


@dataclass
class _Box:
    """Mail of one run: messages with their senders, and the time of the first."""

    since: float
    mail: deque[tuple[Address, bytes]] = field(default_factory=deque)


class Mailbox:
    """A member's mail, by the subject of the run."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._boxes: dict[bytes, _Box] = {}
        self._begun: set[bytes] = set()
        self._ended: deque[bytes] = deque(maxlen=ENDED)
        self._unread: Counter[Address] = Counter()

    def put(self, sender: Address, subject: Bytes32, data: bytes) -> None:
        """Keeps a sender's messages.  Raises RefusedError for too many unread ones, MessageError."""
        messages = unpacked(data)
        with self._changed:
            if subject in self._ended:
                return
            self._drop_old()
            if self._unread[sender] + sum(map(_size, messages)) > MOST_UNREAD:
                raise RefusedError("this member has too many unread messages of yours: wait, and repeat")
            box = self._boxes.setdefault(subject, _Box(time.monotonic()))
            for message in messages:
                box.mail.append((sender, message))
                self._unread[sender] += _size(message)
            self._changed.notify_all()

    @contextmanager
    def run(self, subject: Bytes32) -> Iterator[None]:
        """Keeps the mail of a run until it ends.  Raises RefusedError if this run began before."""
        with self._changed:
            if subject in self._begun or subject in self._ended:
                raise RefusedError("this run on shares began before: begin another one")
            self._begun.add(subject)
        try:
            yield
        finally:
            with self._changed:
                self._begun.discard(subject)
                self._ended.append(subject)
                self._drop(subject)

    def take(self, subject: Bytes32, seconds: float) -> bytes | None:
        """The next message of a run; None if none comes in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has(subject), seconds):
                return None
            sender, message = self._boxes[subject].mail.popleft()
            self._unread[sender] -= _size(message)
            return message

    def _has(self, subject: bytes) -> bool:
        return bool(subject in self._boxes and self._boxes[subject].mail)

    def _drop_old(self) -> None:
        before = time.monotonic() - KEPT_SECONDS
        old = [each for each, box in self._boxes.items() if each not in self._begun and box.since < before]
        for each in old:
            self._drop(each)

    def _drop(self, subject: bytes) -> None:
        box = self._boxes.pop(subject, None)
        for sender, message in box.mail if box else ():
            self._unread[sender] -= _size(message)


class MemberPost:
    """A run's `Post`: a thread for each member with a client sends all that waits for it in one question."""

    def __init__(
        self, clients: Mapping[int, MemberClient], epoch: int, subject: Bytes32, mailbox: Mailbox
    ) -> None:
        self._epoch, self._subject, self._mailbox = epoch, subject, mailbox
        self._waiting = {j: queue.SimpleQueue[bytes | None]() for j in clients}
        for j, client in clients.items():
            threading.Thread(target=self._carry, args=(j, client), daemon=True).start()

    def send(self, member: int, *messages: bytes) -> None:
        if member in self._waiting:
            self._waiting[member].put(packed(messages))

    def receive(self, seconds: float) -> bytes | None:
        return self._mailbox.take(self._subject, seconds)

    def close(self) -> None:
        """Ends the threads once they have sent what waits."""
        for each in self._waiting.values():
            each.put(None)

    def _carry(self, member: int, client: MemberClient) -> None:
        waiting = self._waiting[member]
        while True:
            messages = [waiting.get()]
            while not waiting.empty():
                messages.append(waiting.get())
            sent = [each for each in messages if each is not None]
            try:
                if sent:
                    client.ask(MessageKind.CARRY_SHARES, self._epoch, self._subject, b"".join(sent))
            except BlockfulError as error:
                _log.warning("member %d gets no messages of a run on shares: %s", member, error)
            if len(sent) < len(messages):
                return


def _size(message: bytes) -> int:
    return MESSAGE_BYTES + len(message)


def packed(messages: Sequence[bytes]) -> bytes:
    """Messages one after the other, each with its length."""
    return b"".join(struct.pack("<I", len(each)) + each for each in messages)


def unpacked(data: bytes) -> list[bytes]:
    """Inverse of `packed`.  Raises MessageError."""
    found, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at) if at + 4 <= len(data) else (len(data),)
        if at + 4 + size > len(data):
            raise MessageError("messages of a run on shares end too early.")
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found
