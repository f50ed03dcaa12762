# SPDX-License-Identifier: Apache-2.0
"""The bounds of every kind let its largest messages through: 2,000 models, 100 members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.certificates import CastVote, Cosigning
from blockful_py.committee.certified import CertifiedPublication, CertifiedRedaction
from blockful_py.committee.pledges import (
    AttestedNonces,
    CollisionSession,
    Pledge,
    SignedAttestation,
    SignedPledge,
)
from blockful_py.committee.proposals import (
    ArchiveChunk,
    DraftChunk,
    HeaderTarget,
    PublicationProposal,
    RedactionChunk,
    RedactionDraft,
    Target,
)
from blockful_py.committee.service import limits
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.key_custody import MAX_KEYS
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import REFUSAL, Extent
from blockful_py.committee.service.member_client import post
from blockful_py.committee.service.messages import (
    AttestRequest,
    CastVotes,
    CommitRequest,
    DeliveredKey,
    ErasureRequest,
    KeyDelivery,
    KeyRequest,
    Refused,
    RelayedAnswers,
    SealedShare,
    SealedShares,
    SignRequest,
    Versions,
    VoteRequest,
)
from blockful_py.committee.service.request_handler import REASON_LENGTH
from blockful_py.committee.service.server import Server
from blockful_py.committee.succession import Acknowledgement, Succession
from blockful_py.crypto.envelope import WRAPPED_BYTES
from blockful_py.crypto.roster import Roster
from blockful_py.crypto.threshold.keys import CommitteeKey
from blockful_py.crypto.threshold.messages import NonceCommitments, Reveal, SignatureShares
from blockful_py.ledger.protocols import MAX_BLOCK_MODELS
from blockful_py.ledger.signed import Executor
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.types import (
    Action,
    ArchiveReason,
    ArchiveRecord,
    Certificate,
    Codec,
    HeaderUpdate,
    NewBlock,
    Opening,
    Point,
    Position,
    Publication,
    Update,
    Uri,
)
from tests.committee.service.dealers import LEADER
from tests.committee.service.desks import SECONDS, Desk

MODELS, MEMBERS = 2000, 100
EXTENT = Extent(MODELS, MEMBERS)
WIDE = 2**256 - 1
WORD = bytes([255]) * 32
ADDRESS = bytes([255]) * 20
LATE = 2**63
URI = Uri(WORD, Codec.DAG_PB)
POINT = Point(WIDE, WIDE)
PLACE = Position(2**31, 2**31)
OPENING = Opening(WIDE, WIDE)
RECORD = ArchiveRecord(PLACE, 2**31, ArchiveReason.SUPERSEDED, URI)
TARGET = Target(PLACE, WIDE, ADDRESS, WORD, URI, URI, 2**31)
HEADER = HeaderTarget(2**31, WIDE, WORD, 2**31)
CHUNKS = MODELS // 10
"""Ten models in one transaction, each in a separate block."""


ROSTER = Roster((POINT,) * MEMBERS, MEMBERS, True, POINT)
SESSION = CollisionSession(LATE, WORD, WORD, ADDRESS, 2**MEMBERS - 1, WORD)
SIGNED = SignedPledge(Pledge(WORD, MEMBERS, LATE, WORD), bytes([255]) * 64)
ATTESTED = SignedAttestation(MEMBERS, bytes([255]) * 64)


def cosigning() -> Cosigning:
    votes = (CastVote(MEMBERS, WORD, bytes([255]) * 64),) * MEMBERS
    nonces = ((POINT, POINT),) * MEMBERS
    place = (LATE, WORD, Executor(WIDE, ADDRESS))
    return Cosigning(*place, votes, nonces, (SIGNED,) * MEMBERS, (ATTESTED,) * MEMBERS)


def draft() -> RedactionDraft:
    chunk = DraftChunk((TARGET,) * 10, (HEADER,) * 10)
    archive = ArchiveChunk(WORD, LATE, (RECORD,) * 10)
    return RedactionDraft(WORD, LATE, (chunk,) * CHUNKS, (archive,) * CHUNKS)


def redaction_chunks() -> tuple[RedactionChunk, ...]:
    update = Update(PLACE, 2**31, URI, OPENING)
    return (RedactionChunk((update,) * 10, (HeaderUpdate(2**31, 2**31, OPENING),) * 10),) * CHUNKS


def action() -> Action:
    certificate = Certificate(LATE, WORD, WORD, 2**MEMBERS - 1, ADDRESS, WIDE)
    return Action(certificate, 2**31, 2**31, (WORD,) * 12)


def publication() -> PublicationProposal:
    published = Publication(WIDE, OPENING, URI, ADDRESS, (PLACE,) * 16)
    block = NewBlock(WORD, LATE, WIDE, OPENING, (published,) * MAX_BLOCK_MODELS)
    return PublicationProposal(WORD, LATE, block, (ArchiveChunk(WORD, LATE, (RECORD,) * MAX_BLOCK_MODELS),))


def relayed(body: Any, times: int = MEMBERS) -> tuple[str, ...]:
    question = LEADER.question("finish-publication", 2**64 - 1, WORD, 2**32 - 1, ADDRESS, b"")
    envelope = LEADER.answer(question, wire.ANSWERED, codec.encode(body)).envelope.decode()
    return (envelope,) * times


def charter() -> Charter:
    members = tuple(number.to_bytes(20, "big") for number in range(1, 257))
    return Charter(WIDE, ADDRESS, LATE, LATE, LATE, members, tuple(range(1, 257)), 256, WORD)


def certified_redaction() -> CertifiedRedaction:
    return CertifiedRedaction(draft(), redaction_chunks(), (action(),) * CHUNKS, (action(),) * CHUNKS)


def reveals() -> RelayedAnswers:
    return RelayedAnswers(relayed(Reveal(MEMBERS, (POINT,) * MEMBERS, POINT, WIDE)))


def boxes() -> RelayedAnswers:
    return RelayedAnswers(relayed(SealedShares((SealedShare(MEMBERS, bytes(129)),) * MEMBERS)))


QUESTIONS: dict[MessageKind, Callable[[], Any]] = {
    MessageKind.PUBLICATION: publication,
    MessageKind.FINISH_PUBLICATION: lambda: CertifiedPublication(publication(), (action(),) * 2, action()),
    MessageKind.SUCCESSION: lambda: Succession(LATE, WIDE, ADDRESS, ROSTER),
    MessageKind.ACKNOWLEDGEMENT: lambda: Acknowledgement(LATE, WIDE, ADDRESS),
    MessageKind.ATTEST_COSIGNING: cosigning,
    MessageKind.COSIGN: cosigning,
    MessageKind.ATTEST: lambda: AttestRequest(SESSION, (SIGNED,) * MEMBERS, WORD),
    MessageKind.ERASURE: lambda: ErasureRequest(bytes(MODELS * 1500)),
    MessageKind.WITNESS: lambda: CastVotes((CastVote(MEMBERS, WORD, bytes(64)),) * MEMBERS),
    MessageKind.APPROVE: draft,
    MessageKind.COMMIT: lambda: CommitRequest(draft(), SESSION),
    MessageKind.REDACTION: lambda: VoteRequest(draft(), redaction_chunks()),
    MessageKind.FINISH_REDACTION: certified_redaction,
    MessageKind.KEEP_KEYS: lambda: KeyDelivery((DeliveredKey(URI, bytes(WRAPPED_BYTES)),) * MAX_KEYS),
    MessageKind.LEND_KEYS: lambda: KeyRequest((URI,) * MAX_KEYS, POINT),
    MessageKind.DESTROY_KEYS: lambda: Versions((URI,) * MAX_KEYS),
    MessageKind.KEY_COMMIT: charter,
    MessageKind.KEY_DEAL: reveals,
    MessageKind.KEY_RECEIVE: boxes,
}


def signing() -> SignRequest:
    """A batch of 2,000 collisions, including headers, by a hundred signers."""
    half = draft()
    whole = RedactionDraft(half.proposal, half.epoch, half.chunks[: CHUNKS // 2], half.archive)
    sums = ((POINT, POINT),) * MODELS
    pledges = (SIGNED.pledge,) * MEMBERS
    return SignRequest(whole, AttestedNonces(SESSION, pledges, sums, (ATTESTED,) * MEMBERS))


@pytest.mark.parametrize("kind", QUESTIONS, ids=lambda kind: kind.label)
def test_the_largest_questions_fit(kind: MessageKind) -> None:
    assert len(codec.encode(QUESTIONS[kind]())) <= kind.row.limits.question_bytes(EXTENT)


def test_answers_fit_what_their_questions_allow() -> None:
    committed = NonceCommitments(MEMBERS, WORD, ((POINT, POINT),) * 2 * MODELS)
    shares = SignatureShares(MEMBERS, WORD, (WIDE,) * 2 * MODELS)
    lent = KeyDelivery((DeliveredKey(URI, bytes(WRAPPED_BYTES)),) * MAX_KEYS)
    wanted = len(codec.encode(KeyRequest((URI,) * MAX_KEYS, POINT)))
    assert len(codec.encode(lent)) <= MessageKind.LEND_KEYS.row.limits.answer_bytes(wanted)
    asked = len(codec.encode(draft()))
    assert len(codec.encode(committed)) <= MessageKind.COMMIT.row.limits.answer_bytes(asked)
    assert len(codec.encode(shares)) <= MessageKind.SIGN.row.limits.answer_bytes(asked)
    assert len(
        codec.encode(CommitteeKey(256, 256, POINT, (POINT,) * 256))
    ) <= MessageKind.TELL_KEY.row.limits.answer_bytes(2)


def test_the_longest_refusal_fits() -> None:
    refused = Refused("CheaterError", "\U0001f600" * REASON_LENGTH, tuple(range(1, 257)))
    assert len(codec.encode(refused)) <= REFUSAL
    assert all(each.row.limits.answer_bytes(0) >= REFUSAL for each in MessageKind)


def test_2000_collisions_by_100_signers_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sends the largest possible question over HTTP."""
    body = codec.encode(signing())
    allowed = MessageKind.SIGN.row.limits.question_bytes(EXTENT)
    assert limits.MIB < len(body) <= allowed
    desk = Desk()
    monkeypatch.setattr("tests.committee.service.desks.LIMIT", allowed)
    monkeypatch.setattr(desk, "answer", lambda admitted, body: b"line\n%d" % len(body))
    with Server(desk) as server:
        assert post(server.url, b"a\n" + body, SECONDS, lambda line: 20) == b"line\n%d" % len(body)


def test_a_small_federation_allows_small_messages_only() -> None:
    sizes = {kind: kind.row.limits.question_bytes(Extent(28, 4)) for kind in MessageKind}
    assert sizes.pop(MessageKind.KEEP_BLOCKS) > MAX_BLOCK_SIZE
    assert sizes.pop(MessageKind.CARRY_SHARES) > limits.MIB  # among members alone; grows with features
    assert max(sizes.values()) < limits.MIB
