# SPDX-License-Identifier: Apache-2.0
"""Attacks by a leader, a stranger or the network on members that are real processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.pledges import AttestedNonces, CollisionSession, PledgedNonces, pairs_digest
from blockful_py.committee.proposals import RedactionDraft
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import MIB
from blockful_py.committee.service.member_client import Deadlines, MemberClient, post
from blockful_py.committee.service.messages import CommitRequest, Refused
from blockful_py.committee.service.remote import RemoteMember
from blockful_py.committee.succession import Succession
from blockful_py.crypto import curve
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.roster import Roster
from blockful_py.errors import CheaterError, CommitteeError, MessageError, QuorumError, RefusedError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.identities import Identities
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.certificates.verifying import Chains, verify_certificate
from blockful_py.record.model_node import parse_node
from blockful_py.record.proofs.anchors import Anchors
from blockful_py.record.request import Request
from tests.colluders import attested_by, session_for, summed
from tests.federations import AFFECTED, transactions
from tests.limits import ANY_SIZE
from tests.member.conftest import Crew, row_of_each_start
from tests.member.processes import WORDS


def shown(session: CollisionSession, pledged: Sequence[PledgedNonces]) -> AttestedNonces:
    """Nonces that nobody attests."""
    return AttestedNonces(session, tuple(each.pledge.pledge for each in pledged), summed(pledged), ())


class Seized:
    """The leader's key in an attacker's hands, and a draft that members approve and sign."""

    def __init__(self, crew: Crew, draft: RedactionDraft) -> None:
        contracts = crew.federation.contracts
        self.domain = wire.domain(contracts.committee.chain_id, contracts.committee.address)
        identities = Identities(crew.federation.settings.seed, (contracts.live.chain_id, 1338))
        self.signer = wire.MessageSigner(identities.leader(), self.domain)
        self.draft = draft
        members = {member.address: member.url for member in crew.members}
        roster = contracts.committee.roster(contracts.committee.current_epoch())[0].members
        self.clients = [
            MemberClient(members[address], address, self.signer, Deadlines(60, 60)) for address in roster
        ]
        self.members = [
            RemoteMember(index, client, lambda *_: None) for index, client in enumerate(self.clients, start=1)
        ]

    def question(self, kind: MessageKind, body: Any, **changes: Any) -> bytes:
        """A question to member 1, signed after the changes."""
        client, draft = self.clients[0], self.draft
        fields = {"epoch": draft.epoch, "subject": draft.proposal, "recipient": client.address} | changes
        asked = (kind.label, fields["epoch"], fields["subject"], kind.round, fields["recipient"])
        return self.signer.question(*asked, codec.encode(body)).envelope

    def answer(self, data: bytes) -> wire.Message:
        """The answer of member 1 to these bytes."""
        return wire.receive(self.domain, post(self.clients[0].url, data, 60, lambda line: MIB)).message

    def refusal(self, data: bytes) -> str:
        answer = self.answer(data)
        assert answer.kind == wire.REFUSED
        return codec.decode(Refused, answer.body).reason

    def session(self, salt: int, leader: bytes | None = None) -> CollisionSession:
        return session_for(self.draft, (1, 2, 3), bytes([salt]) * 32, leader or self.signer.address)

    def pledged(self, session: CollisionSession) -> list[PledgedNonces]:
        return [member.commit(self.draft, session) for member in self.members[:3]]


@pytest.fixture(scope="module")
def seized(crew: Crew) -> Seized:
    """An abandoned draft that members 1, 2 and 3 have approved."""
    seen: list[RedactionDraft] = []
    content: set[bytes] = set()
    store = crew.federation.stores.live
    with pytest.MonkeyPatch.context() as patch:

        def stop(self: RemoteMember, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
            seen.append(draft)
            nodes = [store.read(target.uri, ANY_SIZE) for chunk in draft.chunks for target in chunk.targets]
            content.update(nodes, (store.read(parse_node(node).weights, ANY_SIZE) for node in nodes))
            raise RefusedError("the leader stops here")

        patch.setattr(RemoteMember, "commit", stop)
        before = transactions(crew.federation)
        with pytest.raises(QuorumError, match="members remain"):
            crew.federation.unlearn(classes=[8, 9])
        assert transactions(crew.federation) == before
    for data in content:
        store.add(data)
    return Seized(crew, seen[0])


def test_a_stranger_is_refused(seized: Seized) -> None:
    stranger = wire.MessageSigner(curve.random_scalar(SeededRng(b"stranger")), seized.domain)
    client = replace(seized.clients[0], signer=stranger)
    with pytest.raises(MessageError, match="neither a member of this committee nor a leader it serves"):
        client.ask(MessageKind.APPROVE, seized.draft.epoch, seized.draft.proposal, seized.draft)


def test_a_member_may_lead(crew: Crew, seized: Seized) -> None:
    leader = next(member for member in crew.members if member.address == seized.clients[3].address)
    leader.kill()
    folder = MemberFolder.open(leader.folder, WORDS)
    signer = wire.MessageSigner(folder.voting_secret, seized.domain)
    folder.close()
    leader.start()
    RemoteMember(1, replace(seized.clients[0], signer=signer), lambda *_: None).approve(seized.draft)


def test_a_message_to_one_member_is_refused_by_another(seized: Seized) -> None:
    data = seized.question(MessageKind.APPROVE, seized.draft, recipient=seized.clients[1].address)
    with pytest.raises(MessageError, match="for another member"):
        seized.answer(data)


@pytest.mark.parametrize("change", [{"subject": bytes(32)}, {"epoch": 1}, {"epoch": 3}])
def test_a_body_of_another_proposal_or_epoch_is_refused(seized: Seized, change: dict[str, Any]) -> None:
    reason = seized.refusal(seized.question(MessageKind.APPROVE, seized.draft, **change))
    assert "another epoch or subject than its envelope" in reason or "not the current one" in reason


def test_a_captured_message_fits_nowhere_else(seized: Seized) -> None:
    captured = seized.question(MessageKind.APPROVE, seized.draft)
    line = wire.first_line(captured)
    first, body = codec.decode(wire.FirstLine, line[:-1]), captured[len(line) :]
    for change in ({"subject": bytes(32)}, {"epoch": 3}, {"kind": "commit", "round": 2}):
        altered = replace(first, header=replace(first.header, **change))
        with pytest.raises(MessageError, match="is not signed by it"):
            seized.answer(codec.encode(altered) + b"\n" + body)


def test_nonces_are_answered_for_once(seized: Seized) -> None:
    session = seized.session(1)
    nonces = attested_by(seized.members, session, seized.pledged(session))
    first = seized.members[0].sign(seized.draft, nonces)
    with pytest.raises(RefusedError, match="these nonces are used"):
        seized.members[0].sign(seized.draft, nonces)
    with pytest.raises(RefusedError, match="was begun before"):
        seized.members[0].commit(seized.draft, session)
    assert first.signer == 1


def test_other_nonces_than_their_signer_signed_are_refused(seized: Seized) -> None:
    """The leader shows other commitments than member 2's own."""
    session = seized.session(2)
    pledged = seized.pledged(session)
    given = pledged[1].commitments
    pledged[1] = replace(pledged[1], commitments=replace(given, pairs=given.pairs[::-1]))
    for member in seized.members:
        with pytest.raises(CheaterError, match=r"the pledge from member\(s\) 2 "):
            member.attest(session, [each.pledge for each in pledged], pairs_digest(summed(pledged)))
    with pytest.raises(RefusedError, match="0 members attest these nonces, 3 are needed"):
        seized.members[0].sign(seized.draft, shown(session, pledged))


def test_nonces_of_another_session_are_refused(seized: Seized) -> None:
    """Concurrent sessions (ROS): commitments of one session cannot be used in another."""
    here, there = seized.pledged(seized.session(3)), seized.pledged(seized.session(4))
    mixed = (here[0], there[1], here[2])
    with pytest.raises(RefusedError, match="not by enough signers of this session"):
        seized.members[3].attest(seized.session(3), [each.pledge for each in mixed], bytes(32))
    with pytest.raises(RefusedError, match="not by enough signers of this session"):
        seized.members[0].sign(seized.draft, shown(seized.session(3), mixed))


def test_fewer_than_t_signers_are_refused(seized: Seized) -> None:
    session = session_for(seized.draft, (1, 2), bytes([8]) * 32, seized.signer.address)
    pledged = [member.commit(seized.draft, session) for member in seized.members[:2]]
    with pytest.raises(RefusedError, match="not by enough signers"):
        seized.members[0].sign(seized.draft, shown(session, pledged))


def test_the_session_of_another_leader_is_refused(seized: Seized) -> None:
    """Otherwise a member could use up the sessions of every leader."""
    session = seized.session(9, leader=seized.clients[3].address)
    nonces = AttestedNonces(session, (), (), ())
    for ask in (
        lambda: seized.members[0].commit(seized.draft, session),
        lambda: seized.members[0].attest(session, [], bytes(32)),
        lambda: seized.members[0].sign(seized.draft, nonces),
    ):
        with pytest.raises(RefusedError, match="another leader's"):
            ask()


def test_another_draft_of_an_approved_proposal_is_refused(seized: Seized) -> None:
    other = replace(seized.draft, archive=())
    for kind, body in (
        (MessageKind.APPROVE, other),
        (MessageKind.COMMIT, CommitRequest(other, seized.session(10))),
    ):
        reason = seized.refusal(seized.question(kind, body))
        assert "other content" in reason or "not approved" in reason


def test_an_unheard_of_roster_is_not_certified(seized: Seized) -> None:
    roster = Roster((curve.G,), 1, False, curve.G)
    succession = Succession(seized.draft.epoch, 1, bytes(20), roster)
    with pytest.raises(CommitteeError, match="epoch 3"):
        seized.members[0].vote_succession(succession)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\xff" * 100, b"[" * 200_000, b'{"version":"blockful-committee/1"}']
)
def test_malformed_bytes_are_refused_and_the_member_goes_on(seized: Seized, data: bytes) -> None:
    with pytest.raises(MessageError, match="did not accept a message"):
        seized.answer(data)
    assert seized.answer(seized.question(MessageKind.APPROVE, seized.draft)).kind == wire.ANSWERED


@pytest.mark.parametrize("body", ["", "[]", '{"x":"0x1"}', "null", "[" * 5000])
def test_malformed_bodies_are_refused_and_the_member_goes_on(seized: Seized, body: str) -> None:
    client, draft = seized.clients[0], seized.draft
    for kind in set(MessageKind) - {MessageKind.IDENTIFY}:
        question = seized.signer.question(
            kind.label, draft.epoch, draft.proposal, kind.round, client.address, body.encode()
        )
        try:
            assert seized.answer(question.envelope).kind == wire.REFUSED
        except MessageError as error:
            assert "did not accept" in str(error)
    assert seized.answer(seized.question(MessageKind.APPROVE, draft)).kind == wire.ANSWERED


def test_an_answer_by_someone_else_is_not_taken(seized: Seized) -> None:
    wrong = replace(seized.clients[0], url=seized.clients[1].url, address=seized.clients[0].address)
    with pytest.raises(MessageError, match="for another member"):
        wrong.ask(MessageKind.APPROVE, seized.draft.epoch, seized.draft.proposal, seized.draft)


def test_a_new_epoch_takes_the_old_ones_power(crew: Crew, seized: Seized) -> None:
    federation = crew.federation
    generated = federation.epochs.hand_over()
    contracts = federation.contracts
    assert generated.charter.epoch == contracts.committee.current_epoch() == 3
    assert contracts.mirror.roster(3) == contracts.committee.roster(3)
    assert generated.key.key_id != contracts.committee.key_id(2)
    assert "epoch 2 is not the current one" in seized.refusal(
        seized.question(MessageKind.COMMIT, CommitRequest(seized.draft, seized.session(8)))
    )
    before = transactions(federation)
    unlearned = federation.unlearn(forget=row_of_each_start(2))
    assert unlearned.nodes
    _members_sign_certificates_over_the_wire(federation, unlearned.request)
    after = transactions(federation)
    assert {name for name in after if after[name] != before[name]} == set(AFFECTED)
    assert {after[name].epoch for name in AFFECTED} == {3}
    assert federation.verify().passed


def _members_sign_certificates_over_the_wire(federation: Federation, request: Request) -> None:
    certificate = federation.certify_erasure(request)
    contracts = federation.contracts
    chains = Chains(contracts.live, contracts.committee, contracts.archive)
    outcome = verify_certificate(certificate, Anchors(), chains=chains)
    assert certificate.endorsed.epoch == 3
    assert set(outcome.checked.rosters) == {3}
    altered = certificate.statement.model_copy(update={"left_alone": ("z",)})
    coordinator = federation.context.session(Counter()).coordinator
    with pytest.raises(QuorumError, match="left alone are none, not z"):
        coordinator.endorse_erasure(3, altered.to_bytes())
