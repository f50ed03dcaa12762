# SPDX-License-Identifier: Apache-2.0
"""Asks members one after the other, or all at once without waiting for the slowest."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Protocol, TypeVar

from blockful_py.errors import CheaterError, CommitteeError, CryptoError, UnreachableError


class Asked(Protocol):
    """A member with an index."""

    @property
    def index(self) -> int: ...


Member = TypeVar("Member", bound=Asked)
Answer = TypeVar("Answer")

GRACE_SECONDS = 1.0
"""Minimum time for the remaining members after enough have answered."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a member gave no answer."""

    reason: CommitteeError | CryptoError


class Poll(Protocol):
    """Asks every member; returns answers and refusals by index, at least `needed` answers if possible."""

    def __call__(
        self, members: Sequence[Member], question: Callable[[Member], Answer], needed: int
    ) -> dict[int, Answer | Refusal]: ...


def refuted(replies: Mapping[int, object]) -> Iterator[tuple[int, str]]:
    """Members whose own replies were refuted, each with a reason."""
    for index, reply in replies.items():
        reason = reply.reason if isinstance(reply, Refusal) else None
        if isinstance(reason, CheaterError) and reason.members == (index,):
            yield index, f"{reason.what} does not check out"


def in_turn(
    members: Sequence[Member], question: Callable[[Member], Answer], needed: int
) -> dict[int, Answer | Refusal]:
    """Asks all members, one after the other; for members in this process."""
    return {member.index: _asked(member, question) for member in members}


def at_once(
    members: Sequence[Member], question: Callable[[Member], Answer], needed: int
) -> dict[int, Answer | Refusal]:
    """Asks all members at the same time; for members in other processes, each with its own deadline.

    Once `needed` members have answered, the others have the same time again plus GRACE_SECONDS.  A slow
    member delays the quorum no longer, and a member half as fast as the quorum is still heard.
    """
    arrived: queue.Queue[tuple[int, Answer | Refusal | Exception]] = queue.Queue()

    def ask(member: Member) -> None:
        try:
            arrived.put((member.index, _asked(member, question)))
        except Exception as error:
            arrived.put((member.index, error))

    begun = time.monotonic()
    for member in members:
        threading.Thread(target=copy_context().run, args=(ask, member), daemon=True).start()
    replies: dict[int, Answer | Refusal] = {}
    limit: float | None = None
    while len(replies) < len(members):
        remaining = None if limit is None else max(0.0, limit - time.monotonic())
        try:
            index, answer = arrived.get(timeout=remaining)
        except queue.Empty:
            break
        if isinstance(answer, Exception):
            raise answer
        replies[index] = answer
        agreeing = sum(not isinstance(each, Refusal) for each in replies.values())
        if limit is None and agreeing >= needed:
            now = time.monotonic()
            limit = now + (now - begun) + GRACE_SECONDS
    late = Refusal(UnreachableError("did not answer while a quorum did"))
    return {member.index: replies.get(member.index, late) for member in members}


def _asked(member: Member, question: Callable[[Member], Answer]) -> Answer | Refusal:
    try:
        return question(member)
    except (CommitteeError, CryptoError) as error:
        return Refusal(error)
