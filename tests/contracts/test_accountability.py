# SPDX-License-Identifier: Apache-2.0
"""Votes, service and equivocation: what raises trust, what lowers it, what ends it; the mirror."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.refusal import refusal
from tests.contracts.scene import (
    ADVANCE,
    APPEND_BLOCK,
    REDACT,
    ROSTER,
    Decider,
    LiveScene,
    Panel,
    block_digest,
    digest,
    redaction_digest,
)
from tests.contracts.sortition import ETHER, Candidate, Elections, Phase
from tests.contracts.test_stakes import equivocation

Standing = tuple[Elections, list[Candidate]]
Serving = tuple[Elections, list[Candidate], Panel, list[Candidate]]


@pytest.fixture
def serving(standing: Standing) -> Serving:
    """The same in epoch 1."""
    elections, candidates = standing
    return elections, candidates, *elections.epoch(candidates, "first")


def certificate(serving: Serving, proposal: int, voters: Any, content: bytes = b"\2" * 32) -> tuple[Any, ...]:
    elections, _, panel, _ = serving
    return panel.certificate(elections.domain, 1, bytes([proposal]) * 32, content, voters)


def test_votes_of_a_certificate_are_credited_once(serving: Serving) -> None:
    elections, _, _, members = serving
    book = elections.contract
    event = book.report(certificate(serving, 1, [0, 1, 2])).events["Reported"]
    assert event["voters"] == 0b0111
    found = refusal(book, "report", certificate(serving, 1, [0, 1, 2]))
    assert found == ("NothingToCredit", b"\1" * 32, 0b0111)
    assert book.report(certificate(serving, 1, [1, 2, 3])).events["Reported"]["voters"] == 0b1000
    assert book.credited(1, b"\1" * 32) == 0b1111
    assert [elections.trust(each) for each in members] == [666_666] * 4


def test_an_epoch_credits_only_so_many_votes(serving: Serving) -> None:
    elections, _, _, members = serving
    for proposal in range(5):
        elections.contract.report(certificate(serving, proposal, [0, 1, 2]))
    assert elections.trust(members[0]) == 750_000
    assert elections.trust(members[3]) == 500_000


def test_a_report_needs_a_certificate_of_the_current_epoch(serving: Serving) -> None:
    elections, _, panel, _ = serving
    book = elections.contract
    assert refusal(book, "report", certificate(serving, 1, [0, 1])) == ("QuorumNotReached", 2, 3)
    stale = panel.certificate(elections.domain, 2, bytes(32), bytes(32), [0, 1, 2])
    assert refusal(book, "report", stale) == ("StaleEpoch", 2, 1)
    forged = (*certificate(serving, 1, [0, 1, 2])[:3], 0b1110, certificate(serving, 1, [0, 1, 2])[4])
    assert refusal(book, "report", forged)[0] == "InvalidVote"


def test_service_counts_when_the_epoch_ends(serving: Serving) -> None:
    elections, candidates, _, members = serving
    elections.contract.report(certificate(serving, 1, [0, 1, 2]))
    elections.epoch(candidates, "second")
    assert [elections.trust(each) for each in members] == [750_000, 750_000, 750_000, 333_333]


def test_two_votes_on_one_proposal_cost_the_stake_and_the_place(serving: Serving) -> None:
    from brownie import accounts

    elections, _, panel, members = serving
    book, cheater = elections.contract, members[1]
    event = book.slash(equivocation(elections, panel, 1), {"from": accounts[9]}).events["Slashed"]
    assert (event["registrant"], event["reporter"]) == (cheater.account, accounts[9])
    assert (event["burnt"], event["reward"]) == (2 * ETHER * 4 // 5, 2 * ETHER // 5)
    assert (book.burnt(), book.totalStake(), book.totalRewards()) == (
        event["burnt"],
        8 * ETHER,
        event["reward"],
    )
    where = cheater.account.address
    assert refusal(book, "slash", equivocation(elections, panel, 1)) == ("Excluded", where)
    assert refusal(book, "deposit", sender=where, value=ETHER) == ("Excluded", where)
    elections.wait(1000)
    book.openElection()
    assert refusal(book, "commit", b"\1" * 32, sender=where) == ("Excluded", where)


def test_evidence_that_convicts_nobody(serving: Serving) -> None:
    elections, _, panel, members = serving
    book = elections.contract
    epoch, proposal, index, first, one, second, two = equivocation(elections, panel, 1)
    assert refusal(book, "slash", (epoch, proposal, index, first, one, first, one)) == ("SameContent", first)
    framed = refusal(book, "slash", (epoch, proposal, 2, first, one, second, two))
    assert framed == ("InvalidEvidence", 2, members[1].voter, members[2].voter)
    for changed in (
        (epoch, b"\6" * 32, index, first, one, second, two),
        (2, proposal, index, first, one, second, two),
        (epoch, proposal, index, first, one, b"\3" * 32, two),
        (epoch, proposal, index, first, one[:63], second, two),
        (epoch, proposal, 9, first, one, second, two),
    ):
        assert refusal(book, "slash", changed)[0] == "InvalidEvidence"


def test_unbonding_does_not_save_the_stake(serving: Serving) -> None:
    elections, _, panel, members = serving
    book = elections.contract
    book.unbond({"from": members[0].account})
    book.slash(equivocation(elections, panel, 0))
    elections.wait(20_000)
    assert book.candidate(members[0].account)[6] == 0


def test_slashing_an_elected_member_voids_its_election(serving: Serving) -> None:
    elections, candidates, panel, members = serving
    elected = elections.elect(candidates)
    both = next(each for each in elected if each in members)
    done = elections.contract.slash(equivocation(elections, panel, members.index(both)))
    assert done.events["ElectionVoid"]["reason"] == "an elected member was slashed"
    assert (elections.phase, elections.contract.currentEpoch()) == (Phase.IDLE, 1)


def test_a_slashed_candidate_is_passed_over(serving: Serving) -> None:
    elections, candidates, panel, members = serving
    elections.open(candidates)
    elections.reveal(candidates)
    elections.contract.proceed()
    elections.prove(candidates)
    elections.contract.slash(equivocation(elections, panel, 0))
    elections.contract.proceed()
    assert members[0] not in elections.elected()


def test_live_chain_and_mirror_follow_the_elected_committee(serving: Serving) -> None:
    """Elect, publish, redact, elect again; the mirror follows by the outgoing committee's certificate."""
    from brownie import ArchiveRegistry, LiveChain, QuorumMirror, accounts, chain

    elections, candidates, panel, _ = serving
    book = elections.contract
    live = accounts[0].deploy(LiveChain, book)
    mirror = accounts[0].deploy(QuorumMirror, chain.id, book, 1, book.roster(1)[0])
    accounts[0].deploy(ArchiveRegistry, mirror)
    decider, scene = (
        Decider(panel, elections.domain, chain_id=chain.id),
        LiveScene(live.address, panel, chain.id),
    )
    block = scene.block([[], []])
    live.append(block, decider.action(live.address, APPEND_BLOCK, block_digest(block)))

    second, _ = elections.epoch(candidates, "second")
    late = scene.block([[]], record=False)
    action = decider.action(live.address, APPEND_BLOCK, block_digest(late))
    assert refusal(live, "append", late, action) == ("StaleEpoch", 1, 2)

    roster = book.roster(2)[0]
    content = digest(["uint64", ROSTER], [2, roster])
    unsure = decider.action(mirror.address, ADVANCE, content, voters=[0, 1])
    assert refusal(mirror, "advance", 2, roster, unsure) == ("QuorumNotReached", 2, 3)
    mirror.advance(2, roster, decider.action(mirror.address, ADVANCE, content))
    assert mirror.roster(2) == book.roster(2)
    assert mirror.domainSeparator() == book.domainSeparator()

    decider.panel, decider.epoch, scene.panel = second, 2, second
    updates, headers = scene.redaction([1 << 32])
    live.redact(updates, headers, decider.action(live.address, REDACT, redaction_digest(updates, headers)))
    assert live.transaction(1 << 32)[4] == 1
