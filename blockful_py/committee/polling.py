# SPDX-License-Identifier: Apache-2.0
"""Asks members one after the other, or all at once without waiting for the slowest."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from blockful_py.errors import CommitteeError, CryptoError, UnreachableError


class Asked(Protocol):
    """Anyone with an index among those asked."""

    @property
    def index(self) -> int: ...


Member = TypeVar("Member", bound=Asked)
Answer = TypeVar("Answer")

GRACE_SECONDS = 1.0
"""Least time for the others once enough members have answered."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a member gave no answer."""

    reason: CommitteeError | CryptoError


class Poll(Protocol):
    """Asks every member; returns what came back by index, for at least `needed` answers if possible."""

    def __call__(
        self, members: Sequence[Member], question: Callable[[Member], Answer], needed: int
    ) -> dict[int, Answer | Refusal]: ...


def in_turn(
    members: Sequence[Member], question: Callable[[Member], Answer], needed: int
) -> dict[int, Answer | Refusal]:
    """One after the other, every one of them: for members of this process."""
    return {member.index: _asked(member, question) for member in members}


def at_once(
    members: Sequence[Member], question: Callable[[Member], Answer], needed: int
) -> dict[int, Answer | Refusal]:
    """All at the same time: for members of other processes, each of which has its own deadline.

    Once `needed` have answered, the others have as long again, and GRACE_SECONDS, before they are left
    behind: a quorum is kept waiting by nobody, and a member half as fast as the quorum is heard.
    """
    arrived: queue.Queue[tuple[int, Answer | Refusal | Exception]] = queue.Queue()

    def ask(member: Member) -> None:
        try:
            arrived.put((member.index, _asked(member, question)))
        except Exception as error:
            arrived.put((member.index, error))

    begun = time.monotonic()
    for member in members:
        threading.Thread(target=ask, args=(member,), daemon=True).start()
    found: dict[int, Answer | Refusal] = {}
    limit: float | None = None
    while len(found) < len(members):
        remaining = None if limit is None else max(0.0, limit - time.monotonic())
        try:
            index, answer = arrived.get(timeout=remaining)
        except queue.Empty:
            break
        if isinstance(answer, Exception):
            raise answer
        found[index] = answer
        agreeing = sum(not isinstance(each, Refusal) for each in found.values())
        if limit is None and agreeing >= needed:
            now = time.monotonic()
            limit = now + (now - begun) + GRACE_SECONDS
    late = Refusal(UnreachableError("did not answer while a quorum did"))
    return {member.index: found.get(member.index, late) for member in members}


def _asked(member: Member, question: Callable[[Member], Answer]) -> Answer | Refusal:
    try:
        return question(member)
    except (CommitteeError, CryptoError) as error:
        return Refusal(error)
