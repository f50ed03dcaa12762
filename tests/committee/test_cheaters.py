# SPDX-License-Identifier: Apache-2.0
"""Members that cheat in the two rounds are named and left out; too few honest ones make no collision."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from blockful_py.committee.certificates import CastVote, CommittedVote, Cosigning
from blockful_py.committee.member import Member
from blockful_py.committee.pledges import AttestedNonces, CollisionSession, PledgedNonces, SignedPledge
from blockful_py.committee.proposals import RedactionChunk, RedactionDraft, opening_tasks
from blockful_py.crypto import chameleon
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.errors import CheaterError, ContractError, QuorumError, RefusedError, UnreachableError
from blockful_py.ledger.signed import Executor
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Point
from tests.colluders import Blind, Conspiracy
from tests.federations import put_back, small, trained, transactions


class WrongShare(Member):
    """Adds one to its share of the first collision."""

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        shares = super().sign(draft, nonces)
        return replace(shares, values=(shares.values[0] + 1, *shares.values[1:]))


class MissingShare(Member):
    """Leaves its last share out."""

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        shares = super().sign(draft, nonces)
        return replace(shares, values=shares.values[:-1])


class OtherSession(Member):
    """Commits to nonces for another session."""

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
        return super().commit(draft, replace(session, salt=bytes(32)))


class OtherSigner(Member):
    """Gives its commitments and shares the index of member 2."""

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
        given = super().commit(draft, session)
        return replace(given, commitments=replace(given.commitments, signer=2))


class OtherNonces(Member):
    """Shows other nonces than it pledges."""

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
        given = super().commit(draft, session)
        pairs = given.commitments.pairs[::-1]
        return replace(given, commitments=replace(given.commitments, pairs=pairs))


class Accuser(Member):
    """Attests nothing and accuses member 2."""

    def attest(self, session: CollisionSession, pledges: Sequence[SignedPledge], nonces: bytes) -> bytes:
        raise CheaterError([2], "the pledge")


class Stubborn(Member):
    """Approves, then gives no share."""

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        raise RefusedError("changed its mind")


class Latecomer(Member):
    """Cannot be reached at the first request."""

    asked = False

    def approve(self, draft: RedactionDraft) -> None:
        if not self.asked:
            self.asked = True
            raise UnreachableError("not there yet")
        super().approve(draft)


class WrongVote(Member):
    """Signs other content than the decision's."""

    def vote_redaction(self, draft: RedactionDraft, chunks: Sequence[RedactionChunk]) -> CommittedVote:
        cast = super().vote_redaction(draft, chunks)
        return replace(cast, vote=cast.vote[:20] + bytes([cast.vote[20] ^ 1]) + cast.vote[21:])


class WrongCosigner(Member):
    """Votes like the others, but gives a wrong share of the certificate."""

    def cosign(self, cosigning: Cosigning) -> int:
        return super().cosign(cosigning) + 1


class NoNonces(Member):
    """Its nonces are not points of the curve."""

    def vote_redaction(self, draft: RedactionDraft, chunks: Sequence[RedactionChunk]) -> CommittedVote:
        return replace(super().vote_redaction(draft, chunks), nonces=(Point(1, 1), Point(1, 1)))


CHEATS = (WrongShare, MissingShare, OtherSession, OtherSigner, OtherNonces, Stubborn)


@dataclass(frozen=True)
class Case:
    federation: Federation
    roster: Conspiracy
    draft: RedactionDraft

    def members(self, cheaters: dict[int, type[Member]]) -> list[Member]:
        """All members; the ones in `cheaters`, by index, are of another class."""
        return [
            self.roster.member(share, Blind(), cheaters.get(share.index, Member))
            for share in self.roster.shares
        ]


@pytest.fixture(scope="module")
def case(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """A draft with old nodes, which members without checks accept."""
    with trained(small(), tmp_path_factory.mktemp("cheaters") / "run", chains) as federation:
        roster = Conspiracy.of(federation)
        models = federation.catalogue().models
        draft = roster.draft({models[name].position: models[name].node for name in ("s", "t", "x")})
        yield Case(federation, roster, draft)


@pytest.mark.parametrize("cheat", CHEATS)
@pytest.mark.parametrize("cheater", [1, 3])
def test_a_cheater_is_left_out_and_the_others_succeed(case: Case, cheat: type[Member], cheater: int) -> None:
    members = case.members({cheater: cheat})
    coordinator = case.roster.coordinator(members)
    certified = coordinator.certify_redaction(case.draft)
    (named,) = coordinator.excluded.told()
    assert named.startswith(f"member {cheater} (0x{members[cheater - 1].address.hex()}): ")
    live, key = case.federation.contracts.live, case.roster.shares[0].group_key
    openings = [update.opening for chunk in certified.chunks for update in chunk.updates]
    openings += [update.opening for chunk in certified.chunks for update in chunk.header_updates]
    tasks = opening_tasks(case.draft, live.chain_id, live.address)
    assert len(tasks) == len(openings) == 5
    for task, opening in zip(tasks, openings, strict=True):
        assert chameleon.verify(key, task.label, task.message, task.h, opening)


def test_what_the_others_made_is_accepted_by_the_chain(case: Case) -> None:
    with put_back(case.federation.nodes.live, case.federation.nodes.archive):
        coordinator = case.roster.coordinator(case.members({2: WrongShare}))
        case.roster.execute(coordinator.certify_redaction(case.draft), coordinator)
        assert transactions(case.federation)["s"].version == 1


@pytest.mark.parametrize("cheat", CHEATS)
def test_too_few_honest_members_name_the_cheaters(case: Case, cheat: type[Member]) -> None:
    before = transactions(case.federation)
    coordinator = case.roster.coordinator(case.members({1: cheat, 3: cheat}))
    with pytest.raises(QuorumError, match="2 members remain, 3 are needed") as error:
        coordinator.certify_redaction(case.draft)
    assert "nothing was changed" in str(error.value)
    assert re.findall(r"member (\d) \(0x", str(error.value).split("changed. ")[1]) == ["1", "3"]
    assert transactions(case.federation) == before


def test_who_approves_late_takes_the_place_of_a_cheater(case: Case) -> None:
    """The pledges of a session are in roster order, for every index of the late member."""
    coordinator = case.roster.coordinator(case.members({1: Latecomer, 2: Stubborn}))
    assert coordinator.certify_redaction(case.draft).draft == case.draft


def test_one_false_accuser_excludes_nobody(case: Case) -> None:
    coordinator = case.roster.coordinator(case.members({4: Accuser}))
    assert coordinator.certify_redaction(case.draft).draft == case.draft


def test_too_few_attestations_name_the_reasons(case: Case) -> None:
    coordinator = case.roster.coordinator(case.members({3: Accuser, 4: Accuser}))
    with pytest.raises(QuorumError, match=r"2 of 4 members agree, 3 are needed.*member 4: the pledge"):
        coordinator.certify_redaction(case.draft)


@pytest.mark.parametrize("forgetful", [1, 3])
def test_a_member_with_an_older_memory_is_named_and_left_out(case: Case, forgetful: int) -> None:
    """Its peers have seen the generation of nonces that it pledges again."""
    members = case.members({})
    case.roster.coordinator(members).certify_redaction(case.draft)
    members[forgetful - 1] = case.members({})[forgetful - 1]
    draft = replace(case.draft, proposal=bytes(31) + bytes([forgetful]))
    made: list[CollisionSession] = []
    with pytest.MonkeyPatch.context() as patch:
        commit = Member.commit

        def noted(self: Member, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
            made.append(session)
            return commit(self, draft, session)

        patch.setattr(Member, "commit", noted)
        case.roster.coordinator(members).certify_redaction(draft)
    assert made[0].indices == (1, 2, 3)
    assert made[-1].indices == tuple(sorted({1, 2, 3, 4} - {forgetful}))


def test_a_cheater_among_no_more_than_t_members_is_named(case: Case) -> None:
    members = case.members({3: WrongShare})[:3]
    with pytest.raises(
        QuorumError, match=r"2 members remain, 3 are needed.*member 3 \(0x.*does not check out"
    ):
        case.roster.coordinator(members).certify_redaction(case.draft)


def test_fewer_members_than_the_quorum_do_not_begin(case: Case) -> None:
    with pytest.raises(QuorumError, match="2 of 2 members agree, 3 are needed"):
        case.roster.coordinator(case.members({})[:2]).certify_redaction(case.draft)


@pytest.mark.parametrize("cheat", [WrongVote, NoNonces, WrongCosigner])
def test_who_votes_or_signs_wrongly_is_left_out_of_the_certificate(case: Case, cheat: type[Member]) -> None:
    with put_back(case.federation.nodes.live, case.federation.nodes.archive):
        coordinator = case.roster.coordinator(case.members({2: cheat}))
        certified = coordinator.certify_redaction(case.draft)
        (named,) = coordinator.excluded.told()
        assert re.match(r"member 2 \(0x.*\): .* does not check out", named)
        assert certified.certificate.voters == 0b1101
        case.roster.execute(certified, coordinator)
        assert transactions(case.federation)["s"].version == 1


def test_too_many_wrong_shares_of_a_certificate_name_the_members(case: Case) -> None:
    coordinator = case.roster.coordinator(case.members({2: WrongCosigner, 4: WrongCosigner}))
    with pytest.raises(QuorumError, match=r"member 2: the share.*member 4: the share"):
        coordinator.certify_redaction(case.draft)


def test_archive_before_live_no_member_signs_for_the_live_chain_first(case: Case) -> None:
    """A leader with the archive's certificate has none for the live chain until the archive holds the
    records.
    """
    members = case.members({})
    coordinator = case.roster.coordinator(members)
    certified = coordinator.certify_redaction(case.draft)
    contracts = case.federation.contracts
    live = Executor(contracts.live.chain_id, contracts.live.address)
    decision = certified.live[0].certificate
    votes = [member.recommit(decision.epoch, decision.proposal) for member in members]
    cast = [
        CastVote(member.index, decision.content_hash, vote.vote)
        for member, vote in zip(members, votes, strict=True)
    ]
    asked = Cosigning(
        decision.epoch,
        decision.proposal,
        live,
        tuple(cast),
        tuple(each.nonces for each in votes),
        tuple(each.pledge for each in votes),
    )
    for member in members:
        with pytest.raises(RefusedError, match="the live chain's certificate follows the archive's records"):
            member.cosign(asked)
    signed = replace(certified.live[0], certificate=certified.certificate)
    chunk = certified.chunks[0]
    with pytest.raises(ContractError, match="InvalidCertificate"):
        contracts.live.send(contracts.live.redact_data(chunk.updates, chunk.header_updates, signed))
    with put_back(case.federation.nodes.live, case.federation.nodes.archive):
        case.roster.execute(certified, coordinator)
        assert transactions(case.federation)["s"].version == 1


def test_too_many_wrong_votes_name_the_members(case: Case) -> None:
    before = transactions(case.federation)
    coordinator = case.roster.coordinator(case.members({2: WrongVote, 4: WrongVote}))
    with pytest.raises(
        QuorumError, match=r"member 2: the signature of this decision .*member 4: the signature of this"
    ):
        coordinator.certify_redaction(case.draft)
    assert transactions(case.federation) == before
