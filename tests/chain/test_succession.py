# SPDX-License-Identifier: Apache-2.0
"""Mirrors of an appointed committee that hands over, through the adapters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.chain.deployments import deploy_archive
from blockful_py.chain.quorum import QuorumMirrorContract
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.certificates import CastVote
from blockful_py.committee.memory import Ballot, Memory, VolatileMemory
from blockful_py.committee.outbox_store import OutboxStore
from blockful_py.committee.polling import in_turn
from blockful_py.committee.service.outbox import Outbox
from blockful_py.committee.succession import MirrorVoter, Succession, certify_succession
from blockful_py.crypto import curve
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import QuorumError, RefusedError
from tests.chain.conftest import Scene


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox(OutboxStore(tmp_path / "notes.sqlite")) as outbox:
        yield outbox


@pytest.fixture(scope="module")
def mirrors(scene: Scene) -> tuple[QuorumMirrorContract, QuorumMirrorContract]:
    """Two mirrors of one committee, which has appointed its successor."""
    place = (scene.sender, scene.node.chain_id, scene.committee.address, scene.council.roster)
    second = deploy_archive(*place).address("QuorumMirror")
    scene.committee.appoint(replace(scene.council.roster, group_key=curve.multiply_base(77)))
    return scene.mirror, QuorumMirrorContract(scene.node, second, scene.sender)


def outgoing(scene: Scene, mirror: QuorumMirrorContract, memories: list[Memory]) -> list[MirrorVoter]:
    """The members of epoch 1, as this mirror's operators start them, each with its single memory."""
    return [
        MirrorVoter(
            CertificateSigner(secret, scene.council.roster, scene.council.domain, memory, system_rng),
            scene.committee,
            mirror,
        )
        for secret, memory in zip(scene.council.secrets, memories, strict=True)
    ]


def test_two_mirrors_honestly_advanced_give_no_evidence_against_anybody(
    scene: Scene, mirrors: tuple[QuorumMirrorContract, QuorumMirrorContract], outbox: Outbox
) -> None:
    """Regression: the proposal omitted the mirror, so one proposal had two contents."""
    domain, roster = scene.council.domain, scene.council.roster.members
    following, _ = scene.committee.roster(2)
    memories: list[Memory] = [VolatileMemory() for _ in roster]
    seen = set()
    for mirror in mirrors:
        succession = Succession.on(mirror, 1, following)
        voters = outgoing(scene, mirror, memories)
        action = certify_succession(succession, voters, scene.council.roster, domain, mirror, in_turn)
        mirror.advance(2, following, action)
        assert mirror.current_epoch() == 2
        certificate = action.certificate
        ballot = Ballot(domain.chain_id, domain.contract, 1, certificate.proposal)
        cast = [
            CastVote(voter.index, certificate.content_hash, voter.recommit(1, certificate.proposal).vote)
            for voter in voters
        ]
        outbox.witness(ballot, cast, roster, domain)
        seen.add((certificate.proposal, certificate.content_hash))
    assert outbox.evidence() == ()
    assert len({proposal for proposal, _ in seen}) == len(seen) == 2


def test_a_member_votes_for_its_own_mirror_only(
    scene: Scene, mirrors: tuple[QuorumMirrorContract, QuorumMirrorContract]
) -> None:
    following, _ = scene.committee.roster(2)
    memories: list[Memory] = [VolatileMemory() for _ in scene.council.secrets]
    members = outgoing(scene, mirrors[0], memories)
    foreign = Succession.on(mirrors[1], 1, following)
    with pytest.raises(RefusedError, match="this member follows the mirror at"):
        members[0].vote_succession(foreign)
    with pytest.raises(QuorumError, match="0 of 4 members of epoch 1 vote for its succession"):
        certify_succession(foreign, members, scene.council.roster, scene.council.domain, mirrors[1], in_turn)


def test_votes_on_successions_go_through_the_memory(
    scene: Scene, mirrors: tuple[QuorumMirrorContract, QuorumMirrorContract]
) -> None:
    """A member with other content of the proposal in its memory gives no second vote."""
    following, _ = scene.committee.roster(2)
    succession, memory = Succession.on(mirrors[0], 1, following), VolatileMemory()
    domain = scene.council.domain
    memory.vote(Ballot(domain.chain_id, domain.contract, 1, succession.proposal()), bytes(32))
    member = outgoing(scene, mirrors[0], [memory, *[VolatileMemory()] * 3])[0]
    with pytest.raises(RefusedError, match="has voted for other content"):
        member.vote_succession(succession)
