# SPDX-License-Identifier: Apache-2.0
"""The elected committee through its adapter: two epochs, a report, a slashing, a departure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.deployments import deploy_elected
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.sortition import Equivocation, Parameters, Phase, Reward, Stage
from blockful_py.crypto import curve, multisignature, vrf
from blockful_py.crypto.eip712 import Certified, digest
from blockful_py.errors import ContractError
from blockful_py.types import Certificate
from tests.chain.town import ETHER, RULES, Town


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with Devnet(NodeOptions(4242)) as devnet:
        yield Town.founded([devnet.sender(index) for index in range(6)])


def test_an_epoch_from_registration_to_departure(town: Town) -> None:
    book = town.book
    assert (book.parameters(), book.current_epoch(), book.election().phase) == (RULES, 0, Phase.IDLE)
    elected = town.elect()
    alpha = book.alpha()
    ranked = sorted(town.members, key=lambda each: vrf.output(vrf.prove(each.vrf, alpha)))
    assert elected == ranked[:4]
    roster, quorum = book.roster(1)
    assert (roster.members, quorum) == (tuple(each.voter for each in elected), 3)
    assert (roster.threshold, roster.group_key) == (3, curve.multiply_base(town.trapdoor))
    first = book.candidate(elected[0].account)
    assert (first.voter, first.stage, first.stake, first.slashed) == (
        elected[0].voter,
        Stage.ELECTED,
        2 * ETHER,
        False,
    )
    assert (book.registrant_of(elected[0].voter), len(book._read("entrants"))) == (elected[0].account, 5)

    proposal, content, other = b"\1" * 32, b"\2" * 32, b"\3" * 32
    executor = (5, b"\4" * 20)
    certified = Certified(*executor, 1, proposal, content, 0b111)
    secret = sum(each.voting for each in elected[:3]) % curve.N
    signed = multisignature.sign(secret, digest(book.domain, certified))
    certificate = Certificate(1, proposal, content, 0b111, signed.nonce, signed.s)
    book.report(certificate, *executor)
    assert book._read("credited", 1, proposal) == 0b111
    assert [book.trust(each.account) for each in elected] == [666_666, 666_666, 666_666, 500_000]

    cheater, reporter = elected[1], elected[0]
    pair = [town.vote(cheater, proposal, each) for each in (content, other)]
    reporter.book.slash(Equivocation(1, proposal, 1, content, pair[0], other, pair[1]))
    assert book.candidate(cheater.account).slashed
    assert book.excluded() == 0b10
    reward = book.rewards(reporter.account)
    assert reward.amount == 2 * ETHER * RULES.reward // 100
    with pytest.raises(ContractError, match="TooEarly"):
        reporter.book.claim()

    leaving = elected[2]
    leaving.book.unbond()
    town.members = [each for each in town.members if each not in (cheater, leaving)]
    second = town.elect()
    assert cheater not in second
    assert (book.current_epoch(), book.excluded()) == (2, 0)

    with pytest.raises(ContractError, match="MirrorsBehind"):
        leaving.book.withdraw()
    town.acknowledge(second)
    assert book.acknowledged() == 2
    town.wait(RULES.unbonding_delay)
    leaving.book.withdraw()
    assert book.candidate(leaving.account).stake == 0
    reporter.book.claim()
    assert book.rewards(reporter.account) == Reward(0, 0)


def test_refusals_arrive_by_name(town: Town) -> None:
    with pytest.raises(ContractError) as refused:
        town.book.open_election()
    assert (refused.value.contract, refused.value.name) == ("Committee", "TooEarly")
    serving = town.members[0].book
    serving.unbond()
    with pytest.raises(ContractError) as refused:
        serving.withdraw()
    assert refused.value.name == "Engaged"
    serving.deposit(1)
    assert town.book.candidate(town.members[0].account).unbonding_since == 0


def test_founders_elect_the_first_committee(town: Town) -> None:
    sender = town.book._sender
    assert sender is not None
    founders = [each.account for each in town.members[:3]]
    address = deploy_elected(sender, RULES, founders, seats=5).address("Committee")
    stranger = CommitteeContract(sender.node, address, sender)
    stranger.register(sender.address, 7, 8, ETHER)
    stranger.open_election()
    with pytest.raises(ContractError, match="NotFounder"):
        stranger.commit(sender.address, 1, bytes(range(32)))


def test_parameters_that_break_a_rule(town: Town) -> None:
    sender = town.book._sender
    assert sender is not None
    with pytest.raises(ContractError) as refused:
        deploy_elected(sender, Parameters(minimum=0), seats=5)
    assert (refused.value.name, refused.value.arguments) == (
        "InvalidParameters",
        {"reason": "minimum out of range"},
    )
