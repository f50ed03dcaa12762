# SPDX-License-Identifier: Apache-2.0
"""Protocols among members as generators: a member yields its messages and is sent the others'.

Everything that a member knows is its own state and its messages, so a transport can take the place of
`together`.  A broadcast must be the same for everyone, as in `threshold.dkg`; a transport has to see to that.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from blockful_py.errors import CheaterError

T = TypeVar("T")

WIRE = 4
"""Bytes of a residue."""


@dataclass(frozen=True)
class Sent:
    """A member's messages in a round.

    Attributes:
        public: to everyone.
        private: by member, confidentially.
    """

    public: Any = None
    private: Mapping[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Inbox:
    """Messages to a member in a round, by sender, its own among them."""

    public: Mapping[int, Any]
    private: Mapping[int, Any]


Protocol = Generator[Sent, Inbox, T]


@dataclass
class Traffic:
    """Messages of a run in one process.

    Attributes:
        rounds: times that members wait for each other.
        sent: bytes that each member sends to others; a broadcast counts once for each recipient.
    """

    rounds: int = 0
    sent: dict[int, int] = field(default_factory=dict)


def together(protocols: Mapping[int, Protocol[T]], traffic: Traffic | None = None) -> dict[int, T]:
    """Runs the protocol of each member in this process, round by round, and returns the results by member.

    Raises the error that a member's protocol raises; the others' are closed.
    """
    traffic = Traffic() if traffic is None else traffic
    done: dict[int, T] = {}
    inbox: dict[int, Inbox | None] = dict.fromkeys(protocols)
    try:
        while len(done) < len(protocols):
            sent: dict[int, Sent] = {}
            for member, protocol in protocols.items():
                if member not in done:
                    try:
                        sent[member] = protocol.send(inbox[member])  # type: ignore[arg-type]
                    except StopIteration as stop:
                        done[member] = stop.value
            if sent:
                inbox = _delivered(sent)
                _count(sent, len(protocols), traffic)
    finally:
        for protocol in protocols.values():
            protocol.close()
    return done


def side_by_side(protocols: Sequence[Protocol[T]]) -> Protocol[list[T]]:
    """Runs a member's protocols in the same rounds, each message a list; all members run the same ones.

    Raises CheaterError: members whose lists are of another length.  And the error that a protocol raises; the
    others are closed.
    """
    done: dict[int, T] = {}
    inboxes: dict[int, Inbox | None] = dict.fromkeys(range(len(protocols)))
    try:
        while len(done) < len(protocols):
            sent: dict[int, Sent] = {}
            for i in inboxes:
                try:
                    sent[i] = protocols[i].send(inboxes[i])  # type: ignore[arg-type]
                except StopIteration as stop:
                    done[i] = stop.value
            inboxes = (yield from _listed(sent)) if sent else {}
    finally:
        for protocol in protocols:
            protocol.close()
    return [done[i] for i in range(len(protocols))]


def _listed(sent: Mapping[int, Sent]) -> Protocol[dict[int, Inbox | None]]:
    """Sends the messages of several protocols as one; each one's inbox."""
    members = {member for each in sent.values() for member in each.private}
    private = {member: [each.private.get(member) for each in sent.values()] for member in members}
    got = yield Sent([each.public for each in sent.values()], private)
    wrong = [m for m, each in got.public.items() if not (isinstance(each, list) and len(each) == len(sent))]
    if wrong:
        raise CheaterError(wrong, "messages of several protocols")
    boxes = {m: each for m, each in got.private.items() if isinstance(each, list) and len(each) == len(sent)}
    return {
        i: Inbox(
            {m: each[place] for m, each in got.public.items()},
            {m: each[place] for m, each in boxes.items() if each[place] is not None},
        )
        for place, i in enumerate(sent)
    }


def _delivered(sent: Mapping[int, Sent]) -> dict[int, Inbox | None]:
    public = {member: each.public for member, each in sent.items()}
    return {
        member: Inbox(
            public, {one: each.private[member] for one, each in sent.items() if member in each.private}
        )
        for member in sent
    }


def _count(sent: Mapping[int, Sent], members: int, traffic: Traffic) -> None:
    traffic.rounds += 1
    for member, each in sent.items():
        private = sum(_size(one) for to, one in each.private.items() if to != member)
        traffic.sent[member] = traffic.sent.get(member, 0) + _size(each.public) * (members - 1) + private


def _size(message: Any) -> int:
    """Bytes of a message's numbers and byte strings."""
    if isinstance(message, np.ndarray):
        return message.size * WIRE
    if isinstance(message, bytes):
        return len(message)
    if isinstance(message, Mapping):
        return sum(map(_size, message.values()))
    if isinstance(message, (tuple, list)):
        return sum(map(_size, message))
    if is_dataclass(message):
        return sum(_size(getattr(message, each.name)) for each in fields(message))
    return WIRE if isinstance(message, int) else 0
