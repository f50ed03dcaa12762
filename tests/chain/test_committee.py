# SPDX-License-Identifier: Apache-2.0
"""The elected committee through its adapter: two epochs, a report, a slashing, a departure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.deployments import deploy_archive, deploy_elected
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.quorum import QuorumMirrorContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.sortition import Equivocation, Parameters, Phase, Reward, Stage
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.memory import VolatileMemory
from blockful_py.committee.polling import in_turn
from blockful_py.committee.succession import Acknowledgement, MirrorVoter, certify_acknowledgement
from blockful_py.crypto import curve, multisignature, signature, vrf
from blockful_py.crypto.eip712 import Certified, decision_digest, digest
from blockful_py.crypto.randomness import SeededRng, system_rng
from blockful_py.errors import ContractError, RefusedError
from blockful_py.types import Certificate

ETHER = 10**18
RULES = Parameters(seats=4, minimum=3, epoch_length=1_000, unbonding_delay=500)


@dataclass
class Member:
    book: CommitteeContract
    account: bytes
    voting: int
    vrf: int
    secret: bytes

    @property
    def voter(self) -> bytes:
        return curve.address(curve.multiply_base(self.voting))


@dataclass
class Town:
    """Five candidates, each with a sender of its own."""

    book: CommitteeContract
    members: list[Member]
    trapdoor: int

    def wait(self, seconds: int) -> None:
        self.book.node.rpc.call("evm_increaseTime", seconds)
        self.book.node.rpc.call("evm_mine")

    def elect(self) -> list[Member]:
        """An election that starts an epoch; its members by roster index."""
        self.wait(RULES.epoch_length)
        self.book.open_election()
        for each in self.members:
            each.book.commit(each.account, each.book.election().draw, each.secret)
        self.wait(RULES.commit_period)
        self.book.proceed()
        for each in self.members:
            each.book.reveal(each.secret)
        self.book.proceed()
        for each in self.members:
            each.book.prove(each.vrf)
        self.book.proceed()
        by_voter = {each.voter: each for each in self.members}
        elected = [by_voter[voter] for voter in self.book.elected()]
        quorum = -(-2 * len(elected) // 3)
        for each in elected[:quorum]:
            each.book.confirm_key(curve.multiply_base(self.trapdoor), quorum)
        return elected

    def acknowledge(self, members: list[Member]) -> None:
        """The members of the epoch in force saw their mirror, founded with it, at this epoch."""
        book, epoch = self.book, self.book.current_epoch()
        assert book._sender is not None
        place = (book.chain_id, book.address, book.roster(epoch)[0], epoch)
        address = deploy_archive(book._sender, *place).address("QuorumMirror")
        mirror = QuorumMirrorContract(book.node, address)
        voters = [
            MirrorVoter(
                CertificateSigner(each.voting, place[2], book.domain, VolatileMemory(), system_rng),
                book,
                mirror,
            )
            for each in members
        ]
        with pytest.raises(RefusedError, match=f"the mirror is at epoch {epoch}, not {epoch + 1}"):
            voters[0].vote_acknowledgement(Acknowledgement.of(mirror, epoch + 1))
        about = Acknowledgement.of(mirror, epoch)
        book.acknowledge(
            certify_acknowledgement(about, voters, place[2], book.domain, book, in_turn).certificate
        )

    def vote(self, member: Member, proposal: bytes, content: bytes) -> bytes:
        return signature.sign(member.voting, decision_digest(self.book.domain, 1, proposal, content))


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    with Devnet(NodeOptions(4242)) as devnet:
        senders = [devnet.sender(index) for index in range(6)]
        address = deploy_elected(senders[0], RULES, seats=5).address("Committee")
        rng = SeededRng(b"town")

        def opened(sender: Sender) -> CommitteeContract:
            return CommitteeContract(sender.node, address, sender)

        members = [
            Member(
                opened(sender), sender.address, curve.random_scalar(rng), curve.random_scalar(rng), rng(32)
            )
            for sender in senders[1:]
        ]
        for each in members:
            each.book.register(each.account, each.voting, each.vrf, 2 * ETHER)
        yield Town(opened(senders[0]), members, curve.random_scalar(rng))


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
    assert (book.registrant_of(elected[0].voter), len(book.entrants())) == (elected[0].account, 5)

    proposal, content, other = b"\1" * 32, b"\2" * 32, b"\3" * 32
    executor = (5, b"\4" * 20)
    certified = Certified(*executor, 1, proposal, content, 0b111)
    secret = sum(each.voting for each in elected[:3]) % curve.N
    signed = multisignature.sign(secret, digest(book.domain, certified))
    certificate = Certificate(1, proposal, content, 0b111, signed.nonce, signed.s)
    assert book.certified_digest(certificate, *executor) == digest(book.domain, certified)
    book.report(certificate, *executor)
    assert book.credited(1, proposal) == 0b111
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
