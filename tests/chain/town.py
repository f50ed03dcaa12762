# SPDX-License-Identifier: Apache-2.0
"""Candidates of an elected committee, and the elections that they take part in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.deployments import deploy_archive, deploy_elected
from blockful_py.chain.quorum import QuorumMirrorContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.sortition import Parameters
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.memory import VolatileMemory
from blockful_py.committee.polling import in_turn
from blockful_py.committee.succession import Acknowledgement, MirrorVoter, certify_acknowledgement
from blockful_py.crypto import curve, signature
from blockful_py.crypto.eip712 import decision_digest
from blockful_py.crypto.randomness import SeededRng, system_rng
from blockful_py.errors import RefusedError

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
    """Five candidates, each with its own sender."""

    book: CommitteeContract
    members: list[Member]
    trapdoor: int

    @classmethod
    def founded(cls, senders: Sequence[Sender]) -> Town:
        """The first sender deploys the committee; the others register as candidates."""
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
        return cls(opened(senders[0]), members, curve.random_scalar(rng))

    def wait(self, seconds: int) -> None:
        self.book.node.rpc.call("evm_increaseTime", seconds)
        self.book.node.rpc.call("evm_mine")

    def elect(self) -> list[Member]:
        """Holds an election that starts an epoch; returns its members by roster index."""
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
        """The current members acknowledge that their mirror, founded with it, is at this epoch."""
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
