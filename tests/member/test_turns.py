# SPDX-License-Identifier: Apache-2.0
"""A member leads a request if no earlier one does, and waits only for a limited time."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.outbox_store import OutboxStore
from blockful_py.committee.service.dkg_participant import DkgParticipant
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.messages import Empty
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.service.request_handler import RequestHandler
from blockful_py.crypto import curve
from blockful_py.errors import MessageError, UnreachableError
from blockful_py.member.turns import PATIENCE, STARTING, TOLD, LeaderActivity, LeadRecorder, Turns, heard
from tests.committee.service.dealers import DOMAIN, LEADER, Hall, Shelf
from tests.committee.service.desks import SECONDS

SECRET = 9
ADDRESS = curve.address(curve.multiply_base(SECRET))
ROSTER = tuple(bytes([number]) * 20 for number in range(1, 5))
DIGEST = bytes(32)
"""Ranks the members in the order of the roster."""
STALL = 60.0
REQUEST, DUE = 7, "nothing done"


@dataclass
class Time:
    """A clock that a test sets."""

    at: float = 1000.0

    def __call__(self) -> float:
        return self.at


@dataclass
class Member:
    """A member's turns, and its knowledge of the others."""

    clock: Time
    leads: LeaderActivity
    turns: Turns

    def leads_now(self, progress: str = DUE) -> bool:
        return self.turns.has_come(REQUEST, DIGEST, ROSTER, STALL, progress)

    def asked_by(self, rank: int, kind: MessageKind = MessageKind.APPROVE) -> None:
        with self.leads.answering(kind, ROSTER[rank]):
            pass

    def waits(self, stalls: float) -> bool:
        """Whether it waits for this many stall times and leads afterwards."""
        begun = self.clock.at
        self.clock.at = begun + stalls * STALL - 1
        early = self.leads_now()
        self.clock.at = begun + stalls * STALL
        return not early and self.leads_now()


def member(rank: int) -> Member:
    clock = Time()
    leads = LeaderActivity(clock)
    found = Member(clock, leads, Turns(ROSTER[rank], leads, clock))
    if rank:
        assert not found.leads_now()
    return found


def test_the_first_leads_at_once_and_each_other_a_stall_time_later() -> None:
    assert member(0).leads_now()
    assert all(member(rank).waits(rank) for rank in range(1, 4))


def test_a_member_waits_while_the_one_before_it_asks_as_a_leader() -> None:
    second = member(1)
    for _ in range(5):
        second.clock.at += STALL - 1
        second.asked_by(0)
        assert not second.leads_now()
    assert second.waits(1)


def test_a_member_waits_while_it_answers_a_leader_itself() -> None:
    second = member(1)
    with second.leads.answering(MessageKind.APPROVE, ROSTER[0]):
        second.clock.at += 5 * STALL
        assert not second.leads_now()
    assert second.waits(1)


def test_the_third_gives_the_second_its_time_once_the_first_is_gone() -> None:
    third = member(2)
    third.clock.at += 10 * STALL
    third.asked_by(0)
    third.clock.at += STALL
    third.asked_by(1)
    assert third.waits(2)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_leader_that_asks_without_end_delays_the_next_by_a_bounded_time(rank: int) -> None:
    found = member(rank)
    end = found.clock.at + rank * PATIENCE * STALL
    while found.clock.at + STALL / 2 < end:
        found.clock.at += STALL / 2
        found.asked_by(0)
        assert not found.leads_now()
    found.clock.at = end
    found.asked_by(0)
    assert found.leads_now()


def test_questions_of_members_whose_turn_is_later_delay_nobody() -> None:
    second = member(1)
    second.clock.at += STALL
    second.asked_by(2)
    assert second.leads_now()


@pytest.mark.parametrize("kind", [kind for kind in MessageKind if not kind.row.by_leader])
def test_other_questions_are_no_progress(kind: MessageKind) -> None:
    second = member(1)
    second.clock.at += STALL
    second.asked_by(0, kind)
    assert second.leads_now()


def test_a_step_on_the_chains_is_progress() -> None:
    second = member(1)
    second.clock.at += STALL - 1
    assert not second.leads_now("archived")
    assert second.clock.at == 1000.0 + STALL - 1
    second.clock.at += STALL - 1
    assert not second.leads_now("archived")
    second.clock.at += 1
    assert second.leads_now("archived")


def test_who_has_led_in_vain_lets_all_others_try() -> None:
    first = member(0)
    assert first.leads_now()
    first.turns.led(REQUEST)
    assert first.turns.tried(REQUEST) == first.clock.at
    first.clock.at += 3 * STALL
    first.asked_by(3)
    assert first.waits(4)


def test_a_leader_is_heard_from_its_first_moment_on_and_for_some_stall_times() -> None:
    told = threading.Semaphore(0)
    with heard(told.release, 0.001):
        for _ in range(TOLD * STARTING):
            assert told.acquire(timeout=SECONDS)
    assert not told.acquire(blocking=False)


def test_a_leader_that_has_ended_is_not_told_of() -> None:
    told = threading.Semaphore(0)
    with heard(told.release, SECONDS):
        assert told.acquire(timeout=SECONDS)
    assert not told.acquire(blocking=False)


def test_whom_nobody_hears_leads_all_the_same() -> None:
    tried = threading.Semaphore(0)

    def fail() -> None:
        tried.release()
        raise UnreachableError("nobody is there")

    with heard(fail, 0.001):
        for _ in range(3):
            assert tried.acquire(timeout=SECONDS)


def test_its_own_questions_delay_no_member() -> None:
    first = member(0)
    assert first.leads_now()
    first.turns.led(REQUEST)
    first.clock.at += 4 * STALL
    first.asked_by(0)
    assert first.leads_now()


def test_what_was_tried_is_forgotten_once_the_request_is_not_due() -> None:
    first = member(0)
    assert first.leads_now()
    first.turns.led(REQUEST)
    assert not first.leads_now()
    first.turns.over(REQUEST)
    assert first.leads_now()


def asked(service: LeadRecorder, signer: wire.MessageSigner, kind: MessageKind) -> None:
    """Has the service answer a question with a refusal."""
    body = codec.encode(Empty())
    question = signer.question(kind.label, 1, bytes(32), kind.round, ADDRESS, body)
    service.answer(service.admit(question.line, len(body)), body)


def test_a_service_notes_whose_questions_it_admits(tmp_path: Path) -> None:
    clock = Time()
    leads = LeaderActivity(clock)
    stranger = wire.MessageSigner(5, DOMAIN)
    with Outbox(OutboxStore(tmp_path / "notes")) as outbox:
        handler = RequestHandler(SECRET, Hall(), DkgParticipant(SECRET, Shelf()), outbox)
        service = LeadRecorder(handler, leads)
        with pytest.raises(MessageError, match="neither a member"):
            asked(service, stranger, MessageKind.LEND_KEYS)
        asked(service, stranger, MessageKind.READ_KEY)
        asked(service, LEADER, MessageKind.TELL_KEY)
        assert leads.last((LEADER.address, stranger.address)) == -math.inf
        asked(service, LEADER, MessageKind.LEAD)
        clock.at += 5
        assert leads.last((LEADER.address, stranger.address)) == clock.at - 5
        assert leads.last((stranger.address,)) == -math.inf
