# SPDX-License-Identifier: Apache-2.0
"""The kinds of questions to a member: one row each.

round 1       2         3         4       5                 6
vote-publication -> finish-publication
approve    -> commit -> attest -> sign -> vote-redaction -> finish-redaction
keygen-commit, -reveal, -deal, -receive, -answer, -confirm, -finish      (rounds 1 to 7)
keygen-held, -settle                                                     (rounds 8 and 9, elected only)

All others have round 1.  To add a kind, add its row, and ask it in a method of `remote.RemoteMember` or with
`MemberClient.ask`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Any, NoReturn

from blockful_py.committee.certificates import CommittedVote, Cosigning
from blockful_py.committee.certified import CertifiedPublication, CertifiedRedaction
from blockful_py.committee.member import Member
from blockful_py.committee.motions import Motion
from blockful_py.committee.pledges import PledgedNonces
from blockful_py.committee.proposals import PublicationProposal, RedactionDraft
from blockful_py.committee.service import messages
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.limits import KIB, MAX_NAMES, MIB, Limits
from blockful_py.committee.service.message_row import Handler, MessageRow
from blockful_py.committee.service.messages import Empty, RelayedAnswers, Vote
from blockful_py.committee.succession import Acknowledgement, Succession
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.threshold.keys import CommitteeKey
from blockful_py.crypto.threshold.messages import Confirmation, Reveal, SignatureShares
from blockful_py.errors import MessageError
from blockful_py.ledger.replay import SignedWord
from blockful_py.storage.bounds import MAX_BLOCK_SIZE


def _in_seat(answer: Callable[[Member, Any], Any]) -> Handler:
    """Has the current committee's member answer; a refuted proposal is recorded."""
    return lambda at, m, body: at.in_seat(m, lambda seat: answer(seat.member, body))


def _generation(round_: int, name: str, answer: type, limits: Limits, handler: Handler) -> MessageRow:
    """A round of a key generation, which relays the answers of the previous round."""
    label = f"keygen-{name}"
    return MessageRow(label, RelayedAnswers, answer, limits, handler, round_, by_outgoing=True)


def _of_body(body: Any) -> tuple[int, bytes]:
    return body.epoch, body.proposal


def _of_draft(body: Any) -> tuple[int, bytes]:
    return _of_body(body.draft)


def _of_proposal(body: Succession | Acknowledgement) -> tuple[int, bytes]:
    return body.epoch, body.proposal()


def _refuse_question() -> NoReturn:
    raise MessageError("fetch-blocks signs a request for blocks and is not a question.")


_EMPTY = Limits(16)
_DRAFT = Limits(16 * KIB, model=3 * KIB // 2)
"""A target with its header and archive record has about 900 bytes."""
_NONCES = replace(_DRAFT, growth=1)
"""A pair of nonces, or of their sums, has 320 bytes; a model has two with its header."""
_RELAY = Limits(4 * KIB, member=2 * KIB, growth=1)
"""Relays a short answer of each member, with its line of at most 1,024 bytes."""
_BROAD_RELAY = replace(_RELAY, square=512)
"""Relays answers that contain a point or a sealed share for each member."""
_COSIGNING = Limits(4 * KIB, member=2 * KIB)
"""A voter's vote, nonces, pledge and attestation have about 1,200 bytes."""
_KEYS = Limits(16 * KIB, model=8 * KIB, most=2 * MIB)
"""A model has up to 80 sealed files, each with a name of 95 bytes and a wrapped key of 284 bytes."""


class MessageKind(Enum):
    """Every kind of question; each value is the kind's row."""

    IDENTIFY = MessageRow(
        "identify",
        Empty,
        messages.Identity,
        replace(_EMPTY, answer=64 * KIB),
        lambda at, m, body: at.office.identity(),
        by_strangers=True,
        is_concurrent=True,
    )
    TELL_KEY = MessageRow(
        "tell-key",
        Empty,
        CommitteeKey,
        replace(_EMPTY, answer=64 * KIB),
        lambda at, m, body: at.dkg.key(m.subject),
        is_concurrent=True,
    )
    LEAD = MessageRow(
        "lead",
        Empty,
        Empty,
        _EMPTY,
        lambda at, m, body: body,  # `member.leads` notes its sender
        by_leader=True,
        is_concurrent=True,
    )

    PUBLICATION = MessageRow(
        "vote-publication",
        PublicationProposal,
        CommittedVote,
        Limits(16 * KIB, published=8 * KIB),
        _in_seat(lambda member, body: member.vote_publication(body)),
        subject=_of_body,
        is_reviewed=True,
    )
    FINISH_PUBLICATION = MessageRow(
        "finish-publication",
        CertifiedPublication,
        Empty,
        Limits(32 * KIB, published=10 * KIB, member=KIB),
        lambda at, m, body: at.keep(m, body),
        subject=lambda body: body.subject,
        round=2,
    )

    APPROVE = MessageRow(
        "approve",
        RedactionDraft,
        messages.Approval,
        _DRAFT,
        lambda at, m, body: at.approve(m, body),
        subject=_of_body,
        by_leader=True,
        is_reviewed=True,
    )
    COMMIT = MessageRow(
        "commit",
        messages.CommitRequest,
        PledgedNonces,
        _NONCES,
        _in_seat(lambda member, body: member.commit(body.draft, body.session)),
        subject=_of_draft,
        session=lambda body: body.session,
        by_leader=True,
        round=2,
    )
    ATTEST = MessageRow(
        "attest",
        messages.AttestRequest,
        Vote,
        Limits(4 * KIB, member=KIB),
        _in_seat(lambda member, body: Vote(member.attest(body.session, body.pledges, body.nonces))),
        subject=lambda body: _of_body(body.session),
        session=lambda body: body.session,
        by_leader=True,
        round=3,
    )
    SIGN = MessageRow(
        "sign",
        messages.SignRequest,
        SignatureShares,
        replace(_NONCES, model=5 * KIB // 2, member=2 * KIB),
        _in_seat(lambda member, body: member.sign(body.draft, body.nonces)),
        subject=_of_draft,
        session=lambda body: body.nonces.session,
        by_leader=True,
        round=4,
    )
    REDACTION = MessageRow(
        "vote-redaction",
        messages.VoteRequest,
        CommittedVote,
        replace(_DRAFT, model=5 * KIB // 2),
        _in_seat(lambda member, body: member.vote_redaction(body.draft, body.chunks)),
        subject=_of_draft,
        by_leader=True,
        round=5,
    )
    FINISH_REDACTION = MessageRow(
        "finish-redaction",
        CertifiedRedaction,
        Empty,
        # each chunk, of some ten models, carries the certificate twice
        replace(_DRAFT, model=5 * KIB, pair=64, member=2 * KIB),
        lambda at, m, body: at.keep(m, body),
        subject=lambda body: body.subject,
        by_leader=True,
        round=6,
    )

    OPEN_HEADS = MessageRow(
        "open-heads",
        messages.HeadRequest,
        messages.HeadAnswer,
        Limits(512 * KIB, answer=16 * MIB),
        lambda at, m, body: at.office.open_heads(m, body),
        by_leader=True,
        is_reviewed=True,
        is_concurrent=True,
    )
    HAND_ON = MessageRow(
        "hand-on-shares",
        messages.HandOnRequest,
        Empty,
        Limits(512 * KIB),
        lambda at, m, body: at.office.hand_on(m, body),
        by_outgoing=True,
        is_reviewed=True,
        is_concurrent=True,
    )
    CARRY_SHARES = MessageRow(
        "carry-shares",
        None,
        Empty,
        Limits(32 * MIB),
        lambda at, m, body: at.office.carry_shares(m, body),
        by_outgoing=True,
        is_concurrent=True,
    )

    ERASURE = MessageRow(
        "vote-erasure",
        messages.ErasureRequest,
        Vote,
        Limits(512 * KIB, model=4 * KIB, member=KIB),
        lambda at, m, body: at.in_seat(
            m, lambda seat: Vote(seat.member.vote_erasure(m.epoch, body.statement))
        ),
        subject=lambda body: (None, keccak(body.statement)),
        is_reviewed=True,
    )
    MOTION = MessageRow(
        "vote-motion",
        Motion,
        CommittedVote,
        Limits(4 * KIB),
        _in_seat(lambda member, body: member.vote_motion(body)),
        subject=_of_body,
        is_reviewed=True,
    )
    SUCCESSION = MessageRow(
        "vote-succession",
        Succession,
        CommittedVote,
        Limits(4 * KIB, member=128),
        lambda at, m, body: at.mirror_voter(m).vote_succession(body),
        subject=_of_proposal,
    )
    ACKNOWLEDGEMENT = MessageRow(
        "vote-acknowledgement",
        Acknowledgement,
        CommittedVote,
        Limits(4 * KIB),
        lambda at, m, body: at.mirror_voter(m).vote_acknowledgement(body),
        subject=_of_proposal,
    )

    WITNESS = MessageRow(
        "witness",
        messages.CastVotes,
        Empty,
        Limits(4 * KIB, member=512),
        lambda at, m, body: at.witness(m, body),
    )
    RECOMMIT = MessageRow(
        "recommit",
        Empty,
        CommittedVote,
        _EMPTY,
        lambda at, m, body: at.voter(m).recommit(m.epoch, m.subject),
        by_leader=True,
    )
    ATTEST_COSIGNING = MessageRow(
        "attest-certificate",
        Cosigning,
        Vote,
        _COSIGNING,
        lambda at, m, body: Vote(at.cosigner(m, body).attest_cosigning(body)),
        subject=_of_body,
        by_leader=True,
    )
    COSIGN = MessageRow(
        "cosign",
        Cosigning,
        messages.CertificateShare,
        _COSIGNING,
        lambda at, m, body: messages.CertificateShare(at.cosigner(m, body).cosign(body)),
        subject=_of_body,
        by_leader=True,
    )

    KEEP_KEYS = MessageRow(
        "keep-keys",
        messages.KeyDelivery,
        Empty,
        replace(_KEYS, model=32 * KIB, most=4 * MIB),
        lambda at, m, body: at.office.key_custody().keep(body),
        by_leader=True,
        is_concurrent=True,
    )
    LEND_KEYS = MessageRow(
        "lend-keys",
        messages.KeyRequest,
        messages.KeyDelivery,
        replace(_KEYS, growth=3),
        lambda at, m, body: at.office.key_custody().lend(m.sender, body),
        by_leader=True,  # also by a member that lacks keys
        is_concurrent=True,
    )
    DESTROY_KEYS = MessageRow(
        "destroy-keys",
        messages.Versions,
        messages.Versions,
        replace(_KEYS, growth=1),
        lambda at, m, body: at.office.key_custody().destroy(body),
        by_leader=True,
        is_concurrent=True,
    )
    READ_KEY = MessageRow(
        "read-key",
        messages.ReadRequest,
        messages.WrappedKey,
        Limits(KIB),
        lambda at, m, body: at.office.read_key(m.sender, body),
        by_strangers=True,
        is_concurrent=True,
    )
    TELL_WORD = MessageRow(
        "tell-word",
        SignedWord,
        Empty,
        Limits(2 * KIB),
        lambda at, m, body: at.office.hear(body),
        by_strangers=True,
        is_concurrent=True,
    )
    READ_WORDS = MessageRow(
        "read-words",
        messages.WordsRequest,
        messages.Words,
        Limits(KIB, answer=64 * KIB),
        lambda at, m, body: messages.Words(at.office.words().on(body.commitment)),
        by_strangers=True,
        is_concurrent=True,
    )
    HAS_BLOCKS = MessageRow(
        "has-blocks",
        messages.BlockNames,
        messages.BlockNames,
        Limits(KIB + 128 * MAX_NAMES, growth=1),
        lambda at, m, body: at.office.block_custody().had(m.sender, body),
        by_leader=True,
        is_concurrent=True,
    )
    KEEP_BLOCKS = MessageRow(
        "keep-blocks",
        None,
        Empty,
        Limits(MAX_BLOCK_SIZE + 64 * KIB),
        lambda at, m, body: at.office.block_custody().keep(m.sender, body),
        by_leader=True,
        is_concurrent=True,
    )
    FETCH_BLOCKS = MessageRow(
        "fetch-blocks", None, Empty, Limits(0), lambda at, m, body: _refuse_question(), is_concurrent=True
    )

    KEY_COMMIT = replace(
        _generation(
            1,
            "commit",
            messages.DealerCommitment,
            Limits(24 * KIB),
            lambda at, m, body: at.dkg.begin(m, body, at.office),
        ),
        body=Charter,
        subject=lambda body: (body.epoch, body.digest()),
    )
    KEY_REVEAL = _generation(
        2, "reveal", Reveal, _RELAY, lambda at, m, body: at.dkg.opened(m).reveal(m, body)
    )
    KEY_DEAL = _generation(
        3, "deal", messages.SealedShares, _BROAD_RELAY, lambda at, m, body: at.dkg.opened(m).deal(m, body)
    )
    KEY_RECEIVE = _generation(
        4, "receive", messages.Complaints, _BROAD_RELAY, lambda at, m, body: at.dkg.opened(m).receive(m, body)
    )
    KEY_ANSWER = _generation(
        5, "answer", messages.Answers, _BROAD_RELAY, lambda at, m, body: at.dkg.opened(m).answer(m, body)
    )
    KEY_CONFIRM = _generation(
        6, "confirm", Confirmation, _BROAD_RELAY, lambda at, m, body: at.dkg.opened(m).confirm(m, body)
    )
    KEY_FINISH = _generation(7, "finish", CommitteeKey, _RELAY, lambda at, m, body: at.dkg.finish(m, body))
    KEY_HELD = replace(
        _generation(
            8, "held", messages.HeldShare, _EMPTY, lambda at, m, body: at.dkg.held(m.subject, at.office)
        ),
        body=Empty,
    )
    KEY_SETTLE = _generation(
        9, "settle", Empty, _RELAY, lambda at, m, body: at.dkg.settle(m, body, at.office)
    )

    def __init__(self, row: MessageRow) -> None:
        self.row = row
        self.label = row.label
        self.round = row.round
