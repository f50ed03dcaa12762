# SPDX-License-Identifier: Apache-2.0
"""The elected confirm the key that they generated; when they disagree, nobody waits for what cannot come."""

from __future__ import annotations

from typing import Any

import pytest

from blockful_py.crypto import curve
from tests.contracts.refusal import refusal
from tests.contracts.scene import Panel
from tests.contracts.sortition import Candidate, Elections, Phase, rules
from tests.contracts.test_election import Standing, refused


def test_members_must_agree_on_key_and_threshold(standing: Standing) -> None:
    elections, candidates = standing
    members = elections.elect(candidates)
    one, other = (Panel(tuple(each.voting for each in members), trapdoor) for trapdoor in (7, 8))
    outsider = next(each for each in candidates if each not in members)
    assert refused(elections, outsider, "confirmKey", one.key.x, one.key.y, 3)[0] == "WrongStage"
    for threshold in (1, 4):
        found = refused(elections, members[0], "confirmKey", one.key.x, one.key.y, threshold)
        assert found == ("ThresholdOutOfRange", threshold, 2, 3)
    elections.confirm(one, members[:2])
    again = refused(elections, members[0], "confirmKey", one.key.x, one.key.y, 3)
    assert again == ("AlreadyConfirmed", members[0].account.address, 1)
    elections.confirm(other, members[2:3])
    elections.confirm(one, members[3:], threshold=2)
    assert elections.phase == Phase.CONFIRM
    done = elections.expire()
    assert [event["registrant"] for event in done.events["Withheld"]] == [
        each.account for each in members[2:]
    ]
    assert done.events["ElectionVoid"]["reason"] == "an elected member lost its standing"


def test_key_generation_starts_again_when_nobody_can_be_blamed(standing: Standing) -> None:
    elections, candidates = standing
    members = elections.elect(candidates)
    panels = [Panel(tuple(each.voting for each in members), 7 + index) for index in range(2)]
    for panel, member in zip(panels, members, strict=False):
        elections.confirm(panel, [member])
    elections.expire()
    assert (elections.phase, elections.contract.election()[3]) == (Phase.CONFIRM, 2)
    assert all(elections.trust(each) == 500_000 for each in members)
    elections.confirm(panels[0], members[:3])
    assert elections.contract.currentEpoch() == 1


def test_an_election_is_void_after_the_last_key_generation(standing: Standing) -> None:
    elections, candidates = standing
    elections.elect(candidates)
    elections.expire()
    assert elections.expire().events["ElectionVoid"]["reason"] == "no key was confirmed"
    assert (elections.phase, elections.contract.currentEpoch()) == (Phase.IDLE, 0)


def test_a_key_that_is_no_point_is_refused_at_once(standing: Standing) -> None:
    elections, candidates = standing
    members = elections.elect(candidates)
    for x, y in ((1, 1), (0, 0), (curve.P, 1), (7, curve.P)):
        found = refused(elections, members[0], "confirmKey", x, y, 3)
        assert found == ("InvalidRoster", "group key is not on secp256k1")
    elections.confirm(Panel((), 1), members[:1])
    assert elections.phase == Phase.CONFIRM


def test_a_generation_that_no_key_can_win_any_more_ends_before_its_time(standing: Standing) -> None:
    elections, candidates = standing
    members = elections.elect(candidates)
    for trapdoor, member in zip((7, 8), members, strict=False):
        elections.confirm(Panel((), trapdoor), [member])
    assert refusal(elections.contract, "proceed")[0] == "TooEarly"
    elections.confirm(Panel((), 9), members[2:3])
    elections.contract.proceed()
    assert (elections.phase, elections.contract.election()[3]) == (Phase.CONFIRM, 2)
    assert all(elections.trust(each) == 500_000 for each in members)
    elections.confirm(Panel((), 7), members[:3])
    assert elections.contract.currentEpoch() == 1


def test_two_keys_that_honest_members_confirmed_cost_nobody_anything(standing: Standing) -> None:
    """Whoever leads a key generation may have members settle on two keys; among f + 1 one is honest."""
    elections, candidates = standing
    members = elections.elect(candidates)
    elections.confirm(Panel((), 7), members[:2])
    elections.confirm(Panel((), 8), members[2:])
    elections.contract.proceed()
    assert (elections.phase, elections.contract.election()[3]) == (Phase.CONFIRM, 2)
    assert all(elections.trust(each) == 500_000 for each in members)


@pytest.fixture
def six(elected_committee: Any, fn_isolation: None) -> tuple[Elections, list[Candidate]]:
    """All of six candidates are elected; four make a quorum, and two are one more than may be faulty."""
    from brownie import Committee, accounts, chain

    large = accounts[0].deploy(Committee, elected_committee.vrf(), rules(seats=6))
    elections = Elections(large, chain.id)
    return elections, elections.elect([elections.join(accounts[index]) for index in range(1, 7)])


def test_before_its_time_who_was_silent_is_not_to_blame(six: Standing) -> None:
    elections, members = six
    elections.confirm(Panel((), 7), members[:2])
    for trapdoor, member in zip((8, 9), members[2:4], strict=True):
        elections.confirm(Panel((), trapdoor), [member])
    assert refusal(elections.contract, "proceed")[0] == "TooEarly"
    elections.confirm(Panel((), 10), members[4:5])
    done = elections.contract.proceed()
    assert [event["registrant"] for event in done.events["Withheld"]] == [
        each.account for each in members[2:5]
    ]
    assert elections.trust(members[5]) == 500_000


def test_in_its_time_who_was_silent_is_to_blame(six: Standing) -> None:
    elections, members = six
    elections.confirm(Panel((), 7), members[:2])
    done = elections.expire()
    assert [event["registrant"] for event in done.events["Withheld"]] == [
        each.account for each in members[2:]
    ]
