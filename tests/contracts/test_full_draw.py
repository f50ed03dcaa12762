# SPDX-License-Identifier: Apache-2.0
"""A full draw prefers stake times trust: minimum stakes cannot lock out who has staked more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.refusal import refusal
from tests.contracts.sortition import ETHER, Candidate, Elections, Phase, rules

Full = tuple[Elections, list[Candidate]]
COMMITMENT = b"\1" * 32


@pytest.fixture
def full(elected_committee: Any, fn_isolation: None) -> Full:
    """A draw for three candidates that three of five have entered, with 2 ether each."""
    from brownie import Committee, accounts, chain

    small = accounts[0].deploy(Committee, elected_committee.vrf(), rules(seats=3, maxCandidates=3))
    elections = Elections(small, chain.id)
    candidates = [elections.join(accounts[index]) for index in range(1, 6)]
    small.openElection()
    elections.commit(candidates[:3])
    return elections, candidates


def raised(full: Full, index: int, amount: int = 1) -> Candidate:
    """The candidate, with a stake that is higher by `amount` wei."""
    elections, candidates = full
    elections.contract.deposit({"from": candidates[index].account, "value": amount})
    return candidates[index]


def entrants(full: Full) -> list[int]:
    elections, candidates = full
    accounts = [each.account.address for each in candidates]
    return [accounts.index(each) for each in elections.contract.entrants()]


def test_an_equal_weight_displaces_nobody(full: Full) -> None:
    elections, candidates = full
    found = refusal(elections.contract, "commit", COMMITMENT, sender=candidates[3].account.address)
    assert found == ("ElectionFull", 3)


def test_a_higher_stake_takes_the_place_of_the_least(full: Full) -> None:
    elections, candidates = full
    raised(full, 0, 5)
    raised(full, 2, 5)
    late = raised(full, 3)
    event = elections.contract.commit(elections.commitment(late), {"from": late.account}).events["Displaced"]
    assert (event["draw"], event["registrant"], event["by"]) == (1, candidates[1].account, late.account)
    assert entrants(full) == [0, 3, 2]
    assert elections.contract.election()[5] == 3


def test_of_equals_the_latest_gives_way(full: Full) -> None:
    elections, _ = full
    elections.commit([raised(full, 4)])
    assert entrants(full) == [0, 1, 4]


def test_trust_counts_as_much_as_stake(elected_committee: Any, fn_isolation: None) -> None:
    """2.9 ether of who withheld once weigh less than 2 ether of a newcomer: 2.9 / 3 < 2 / 2."""
    from brownie import Committee, accounts, chain

    lenient = rules(seats=2, minimum=1, maxCandidates=3, minTrust=300_000, withholding=1)
    small = accounts[0].deploy(Committee, elected_committee.vrf(), lenient)
    elections = Elections(small, chain.id)
    candidates = [elections.join(accounts[index]) for index in range(1, 5)]
    withholder = candidates[0]
    elections.open(candidates[:2])
    elections.reveal(candidates[1:2])
    elections.expire()
    elections.expire()
    elections.epoch(candidates[1:3], "first")
    small.deposit({"from": withholder.account, "value": 29 * ETHER // 10 - 7 * ETHER // 4})
    elections.wait(1000)
    small.openElection()
    elections.commit(candidates[:3])
    assert (elections.trust(withholder), elections.trust(candidates[3])) == (333_333, 500_000)
    elections.commit(candidates[3:])
    assert small.entrants() == [candidates[index].account for index in (3, 1, 2)]


def test_a_slashed_entrant_is_the_first_to_go(elected_committee: Any, fn_isolation: None) -> None:
    from brownie import Committee, accounts, chain

    from tests.contracts.test_stakes import equivocation

    small = accounts[0].deploy(Committee, elected_committee.vrf(), rules(seats=3, maxCandidates=3))
    elections = Elections(small, chain.id)
    candidates = [elections.join(accounts[index], (index + 1) * ETHER) for index in range(1, 5)]
    panel, members = elections.epoch(candidates[1:], "first")
    elections.wait(1000)
    small.openElection()
    elections.commit(candidates[1:])
    small.slash(equivocation(elections, panel, members.index(candidates[3])))
    elections.commit(candidates[:1])
    assert small.entrants() == [each.account for each in (*candidates[1:3], candidates[0])]


def test_who_is_displaced_loses_nothing_and_may_come_back(full: Full) -> None:
    elections, candidates = full
    book, out = elections.contract, candidates[2]
    elections.commit([raised(full, 3)])
    assert refusal(book, "commit", COMMITMENT, sender=out.account.address) == ("ElectionFull", 3)
    elections.commit([raised(full, 2, 2)])
    assert entrants(full) == [0, 2, 3]
    gone = candidates[1]
    book.unbond({"from": gone.account})
    elections.expire()
    entering = [candidates[index] for index in entrants(full)]
    assert refusal(book, "reveal", gone.secret, sender=gone.account.address)[0] == "WrongStage"
    elections.reveal(entering)
    book.proceed()
    assert elections.phase == Phase.PROVE
    assert (elections.trust(gone), book.candidate(gone.account)[6], book.burnt()) == (500_000, 2 * ETHER, 0)


def test_minimum_stakes_lock_nobody_out(full: Full) -> None:
    """Two Sybils and a friend hold all three places; two honest stakes of one wei more take two of them."""
    elections, candidates = full
    elections.commit([raised(full, 3), raised(full, 4)])
    assert entrants(full) == [0, 4, 3]
    elections.expire()
    elections.reveal([candidates[index] for index in (0, 4, 3)])
    elections.contract.proceed()
    elections.prove([candidates[index] for index in (0, 4, 3)])
    elections.contract.proceed()
    assert set(elections.elected()) == {candidates[index] for index in (0, 3, 4)}
