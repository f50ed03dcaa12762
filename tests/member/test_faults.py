# SPDX-License-Identifier: Apache-2.0
"""Members die, freeze or lie during the decision of a redaction; the chain is checked afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from signal import SIGCONT, SIGSTOP
from typing import Any

import pytest

from blockful_py.committee.service.remote import RemoteMember
from blockful_py.errors import QuorumError
from tests.federations import BLOCKS, UNTOUCHED, forgets, transactions
from tests.member.conftest import Crew
from tests.member.processes import MemberProcess


def once(monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[], None]) -> None:
    """Does something when a step of the protocol begins, before any member is asked."""
    asked = getattr(RemoteMember, step)
    left, turn = [act], threading.Lock()

    def ask(self: RemoteMember, *arguments: Any) -> Any:
        with turn:
            if left:
                left.pop()()
        return asked(self, *arguments)

    monkeypatch.setattr(RemoteMember, step, ask)


def seat(crew: Crew, index: int) -> MemberProcess:
    """The member with this index in the current epoch."""
    committee = crew.federation.contracts.committee
    address = committee.roster(committee.current_epoch())[0].members[index - 1]
    (found,) = (member for member in crew.members if member.address == address)
    return found


def test_key_generation_publication_redaction_and_verification(crew: Crew) -> None:
    federation = crew.federation
    committee, mirror = federation.contracts.committee, federation.contracts.mirror
    epoch = committee.current_epoch()
    roster, quorum = committee.roster(epoch)
    assert mirror.current_epoch() == epoch >= 2
    assert (set(roster.members), roster.threshold, quorum) == ({m.address for m in crew.members}, 3, 3)
    assert mirror.roster(epoch) == (roster, quorum)
    published = transactions(federation)
    assert {published[name].epoch for name in UNTOUCHED} == {2}
    unlearned = federation.unlearn(classes=[0])
    assert unlearned.counted == unlearned.formula
    assert unlearned.counted.ch_blocks == BLOCKS
    assert federation.verify().passed


def test_a_member_killed_before_the_rounds(crew: Crew) -> None:
    with seat(crew, 1).dead():
        forgets(crew.federation, 1)


@pytest.mark.parametrize(
    ("step", "number"),
    [pytest.param("commit", 2, marks=pytest.mark.slow), ("sign", 3), ("vote_redaction", 4)],
)
def test_a_member_killed_between_the_rounds(
    crew: Crew, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    victim = seat(crew, 2)
    once(monkeypatch, step, victim.kill)
    try:
        forgets(crew.federation, number)
    finally:
        victim.start()


@pytest.mark.slow
def test_a_member_that_restarts_in_round_2_has_no_nonces_left(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = seat(crew, 2)

    def restart() -> None:
        victim.kill()
        victim.start()

    once(monkeypatch, "sign", restart)
    forgets(crew.federation, 5)


@pytest.mark.slow
def test_a_frozen_member_is_left_behind(crew: Crew) -> None:
    with seat(crew, 1).frozen():
        forgets(crew.federation, 6)


@pytest.mark.slow
def test_a_member_frozen_between_the_rounds_is_left_behind(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = seat(crew, 3)
    once(monkeypatch, "sign", lambda: victim.signal(SIGSTOP))
    try:
        forgets(crew.federation, 7)
    finally:
        victim.signal(SIGCONT)


def test_a_member_that_sends_wrong_shares_is_left_out_or_named(crew: Crew) -> None:
    with seat(crew, 1).cheating("wrong shares"):
        forgets(crew.federation, 8)
        before = transactions(crew.federation)
        with (
            seat(crew, 2).dead(),
            pytest.raises(QuorumError, match=r"2 members remain.*member 1 .*the signature share"),
        ):
            crew.federation.unlearn(classes=[9])
        assert transactions(crew.federation) == before


@pytest.mark.slow
def test_two_of_four_down_change_nothing_until_one_returns(crew: Crew) -> None:
    before, archived = transactions(crew.federation), crew.federation.contracts.archive.length()
    down = [seat(crew, 2), seat(crew, 4)]
    for member in down:
        member.kill()
    try:
        with pytest.raises(QuorumError, match="2 of 4 members took the models' keys") as refused:
            crew.federation.unlearn(classes=[9])
        assert all(member.url in str(refused.value) for member in down)
        assert transactions(crew.federation) == before
        assert crew.federation.contracts.archive.length() == archived
        down.pop().start()
        forgets(crew.federation, 9)
    finally:
        for member in down:
            member.start()
