# SPDX-License-Identifier: Apache-2.0
"""A committee member: it has one voting key and one key share, and checks every proposal itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.certificates import CommittedVote, Cosigning
from blockful_py.committee.certified import CertifiedProposal, require_certified
from blockful_py.committee.cosigner import Cosigner
from blockful_py.committee.memory import Ballot, Memory
from blockful_py.committee.motions import Motion
from blockful_py.committee.pledges import AttestedNonces, CollisionSession, PledgedNonces, SignedPledge
from blockful_py.committee.proposals import (
    ArchiveChunk,
    HeaderTarget,
    PublicationProposal,
    RedactionChunk,
    RedactionDraft,
    Target,
    opening_tasks,
)
from blockful_py.committee.protocols import Reviewer
from blockful_py.crypto import chameleon, eip712, merkle, payload
from blockful_py.crypto.roster import Roster
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.messages import SignatureShares, Task
from blockful_py.errors import EarlyError, RefusedError, RefutedError
from blockful_py.ledger.erasure import erasure_digest
from blockful_py.ledger.leaves import archive_leaves, redaction_leaves
from blockful_py.ledger.protocols import ArchiveLedger, LiveLedger
from blockful_py.ledger.signed import Executor
from blockful_py.types import Address, ArchiveReason, ArchiveRecord, Bytes32, NewBlock, Opening, Position, Rng


class Member:
    """Checks proposals against the chains and the store, then contributes to collisions and votes.

    It approves at most one content for each proposal, and only after its own checks.  It stores approvals and
    votes in its memory before it answers.
    """

    def __init__(
        self,
        voter: CertificateSigner,
        share: KeyShare,
        live: LiveLedger,
        archive: ArchiveLedger,
        reviewer: Reviewer,
        rng: Rng,
        memory: Memory,
    ) -> None:
        self._voter = voter
        self._cosigner = Cosigner(voter, share, rng, memory)
        self._share = share
        self._live = live
        self._archive = archive
        self._reviewer = reviewer
        self._memory = memory

    def __repr__(self) -> str:
        return f"Member(index={self.index}, address=0x{self.address.hex()})"

    @property
    def index(self) -> int:
        """1-based index of its share."""
        return self._share.index

    @property
    def address(self) -> Address:
        """Voting address, 20 bytes."""
        return self._voter.address

    @property
    def roster(self) -> Roster:
        """Roster of the epoch in which the member votes."""
        return self._voter.roster

    @property
    def domain(self) -> eip712.Domain:
        """EIP-712 domain of votes."""
        return self._voter.domain

    def led_by(self, leader: Address) -> Member:
        """A copy that answers another leader."""
        member = copy(self)
        member._voter = self._voter.led_by(leader)
        return member

    def check_certified(self, certified: CertifiedProposal) -> None:
        """Checks that a quorum of the roster signed this decision for the archive.  Raises RefusedError."""
        require_certified(certified, self._archive, self._live, self.roster, self.domain)

    def approve(self, draft: RedactionDraft) -> None:
        """Checks a draft against the chain, the archive and its content. Raises RefusedError."""
        ballot, digest = self.ballot(draft.epoch, draft.proposal), draft.digest()
        _require_same(self._memory.approved(ballot) or digest, digest, ballot)
        self._check_redaction(draft)
        _reviewed(lambda: self._reviewer.review_redaction(draft), lambda: self._check_redaction(draft))
        _require_same(self._memory.approve(ballot, digest), digest, ballot)

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces:
        """Round 1: pledged nonces for the openings of an approved draft."""
        self._require_approved(draft)
        _require_about(session, draft)
        return self._cosigner.commit(session, len(self._tasks(draft)))

    def attest(self, session: CollisionSession, pledges: Sequence[SignedPledge], nonces: Bytes32) -> bytes:
        """Attests (64 bytes) that the member knows no other use of the pledged nonces."""
        return self._cosigner.attest(session, pledges, nonces)

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        """Round 2: shares of the openings of an approved draft."""
        self._require_approved(draft)
        _require_about(nonces.session, draft)
        return self._cosigner.sign(self._tasks(draft), nonces)

    def vote_publication(self, proposal: PublicationProposal) -> CommittedVote:
        """Votes on a block of new models.  Raises RefusedError."""
        self._check_publication(proposal)
        _reviewed(
            lambda: self._reviewer.review_publication(proposal), lambda: self._check_parent(proposal.block)
        )
        live = (self._live.append_leaf(proposal.block, 0, 1),)
        return self._vote(
            proposal.epoch, proposal.proposal, (*archive_leaves(self._archive, proposal.archive), *live)
        )

    def vote_redaction(self, draft: RedactionDraft, chunks: Sequence[RedactionChunk]) -> CommittedVote:
        """Votes on an approved draft with its openings.  Raises RefusedError."""
        self._require_approved(draft)
        openings = []
        for drafted, chunk in zip(draft.chunks, chunks, strict=True):
            for target, update in zip(drafted.targets, chunk.updates, strict=True):
                _agree(
                    (update.position, update.version, update.uri),
                    (target.position, target.version, target.uri),
                    "update",
                )
                openings.append(update.opening)
            for header, header_update in zip(drafted.headers, chunk.header_updates, strict=True):
                _agree(
                    (header_update.height, header_update.version),
                    (header.height, header.version),
                    "header update",
                )
                openings.append(header_update.opening)
        for task, opening in zip(self._tasks(draft), openings, strict=True):
            if not chameleon.verify(self._share.group_key, task.label, task.message, task.h, opening):
                raise RefutedError("an opening of the proposal does not verify")
        live = redaction_leaves(self._live, chunks)
        return self._vote(draft.epoch, draft.proposal, (*archive_leaves(self._archive, draft.archive), *live))

    def vote_erasure(self, epoch: int, statement: bytes) -> bytes:
        """Signs (64 bytes) the statement of an erasure.  Raises RefusedError."""
        self._reviewer.review_erasure(statement)
        return self._voter.sign(erasure_digest(self.domain, epoch, statement))

    def vote_motion(self, motion: Motion) -> CommittedVote:
        """Votes on a motion that the operator agreed to.  Raises RefusedError."""
        return self._vote(motion.epoch, motion.proposal, (self._reviewer.review_motion(motion),))

    def recommit(self, epoch: int, proposal: Bytes32) -> CommittedVote:
        """Repeats the vote on a proposal with fresh nonces.

        Raises RefusedError when the member has not voted on it.
        """
        return self._voter.recommit(epoch, proposal)

    def attest_cosigning(self, cosigning: Cosigning) -> bytes:
        """Attests (64 bytes) that the member knows no other use of a certificate's nonces."""
        return self._voter.attest(cosigning)

    def cosign(self, cosigning: Cosigning) -> int:
        """The member's share of a certificate of content it voted for.

        Signs the live chain's certificate only after the member's own node shows the complete proposal in the
        archive.  Raises RefusedError or NonceReuseError.
        """
        if cosigning.executor == Executor(self._live.chain_id, self._live.address):
            done, chunks = self._archive.progress(cosigning.proposal)
            if not 0 < done == chunks:
                raise RefusedError(
                    f"the archive holds {done} of {chunks or 'no'} transactions of "
                    f"0x{cosigning.proposal.hex()[:8]}: "
                    "the live chain's certificate follows the archive's records"
                )
        return self._voter.cosign(cosigning)

    def _check_publication(self, proposal: PublicationProposal) -> None:
        """Checks a block of new models against the current state of the chains; errors as for a draft."""
        block = proposal.block
        height = self._check_parent(block) + 1
        for index, publication in enumerate(block.publications):
            position = Position(height, index)
            content = payload.transaction_payload(
                publication.uri, publication.owner, payload.references_hash(publication.references)
            )
            self._check_first_opening(position, content, publication.ch, publication.opening)
        leaves = [
            payload.block_leaf(Position(height, index), publication.ch)
            for index, publication in enumerate(block.publications)
        ]
        content = payload.header_payload(
            block.parent_hash, merkle.root(leaves), block.timestamp, len(block.publications)
        )
        self._check_first_opening(Position.of_header(height), content, block.ch, block.opening)
        published = [
            ArchiveRecord(Position(height, index), 0, ArchiveReason.PUBLISHED, publication.uri)
            for index, publication in enumerate(block.publications)
        ]
        self._check_archive(proposal.archive, published)

    def _check_redaction(self, draft: RedactionDraft) -> None:
        """Checks a draft against the current state of the chains.

        Raises RefutedError when it fits no state, RefusedError when the chains may have changed since.
        """
        targets = [target for chunk in draft.chunks for target in chunk.targets]
        self._check_targets(targets)
        self._check_headers([header for chunk in draft.chunks for header in chunk.headers])
        superseded = ArchiveReason.SUPERSEDED
        self._check_archive(
            draft.archive, [ArchiveRecord(t.position, t.version - 1, superseded, t.old_uri) for t in targets]
        )

    def _check_targets(self, targets: Sequence[Target]) -> None:
        transactions = self._live.transactions([target.position for target in targets])
        for target, current in zip(targets, transactions, strict=True):
            where = f"model at {target.position}"
            _agree(target.ch, current.ch, f"{where}: chameleon hash")
            _agree(target.owner, current.owner, f"{where}: owner")
            _keep_pace(target.old_uri, current.uri, f"{where}: URI")
            _keep_pace(target.version, current.version + 1, f"{where}: version")
            references = payload.references_hash(current.references)
            _agree(target.references_hash, references, f"{where}: references")

    def _check_headers(self, headers: Sequence[HeaderTarget]) -> None:
        stored = self._live.headers([header.height for header in headers])
        for header, current in zip(headers, stored, strict=True):
            where = f"header {header.height}"
            _agree(header.ch, current.ch, f"{where}: chameleon hash")
            _keep_pace(header.version, current.version + 1, f"{where}: version")
            content = payload.header_payload(
                current.parent_hash, current.merkle_root, current.timestamp, current.tx_count
            )
            _agree(header.payload, content, f"{where}: content")

    def _tasks(self, draft: RedactionDraft) -> tuple[Task, ...]:
        return opening_tasks(draft, self._live.chain_id, self._live.address)

    def _check_parent(self, block: NewBlock) -> int:
        """The height of the parent block."""
        height = self._live.height()
        _keep_pace(block.parent_hash, self._live.block_hash(height), "parent hash")
        return height

    def _check_archive(self, chunks: Sequence[ArchiveChunk], expected: Sequence[ArchiveRecord]) -> None:
        """Checks that the chunks extend the archive's head and hold exactly the expected records."""
        records = [record for chunk in chunks for record in chunk.records]
        held = frozenset(records)
        for record in expected:
            if record not in held:
                raise RefutedError(
                    f"version {record.version} of the model at {record.position} would not be archived"
                )
        _agree(len(records), len(expected), "number of archive records")
        head, length = self._archive.head(), self._archive.length()
        for chunk in chunks:
            _keep_pace(chunk.expected_head, head, "archive head")
            for record in chunk.records:
                head = payload.archive_head_step(head, length, record, chunk.timestamp)
                length += 1

    def _check_first_opening(self, position: Position, content: bytes, ch: int, opening: Opening) -> None:
        """As the live chain does: the archive would have the records of a block that it refuses."""
        label = chameleon.label(self._live.chain_id, self._live.address, position.packed)
        message = chameleon.message(0, content)
        if chameleon.first_opening(self._share.group_key, label, message, ch) != opening:
            raise RefutedError(f"the opening at {position} does not follow from the content published there")

    def _require_approved(self, draft: RedactionDraft) -> None:
        if self._memory.approved(self.ballot(draft.epoch, draft.proposal)) != draft.digest():
            raise RefusedError(f"proposal 0x{draft.proposal.hex()[:8]} is not approved by this member")

    def ballot(self, epoch: int, proposal: Bytes32) -> Ballot:
        """The ballot of a proposal. Raises RefusedError when its epoch or identifier is out of range."""
        return self._voter.ballot(epoch, proposal)

    def _vote(self, epoch: int, proposal: Bytes32, leaves: Sequence[bytes]) -> CommittedVote:
        return self._voter.vote(epoch, proposal, merkle.root(leaves))


def _reviewed(review: Callable[[], None], check: Callable[[], object]) -> None:
    """Reviews a proposal, then checks it against the chains once more.

    During the review, a decision that only the archive held may reach the live chain and outdate the draft.
    """
    try:
        review()
    except EarlyError:
        raise
    except RefusedError as error:
        check()
        raise RefutedError(str(error)) from None
    check()


def _require_same(approved: bytes, content: bytes, ballot: Ballot) -> None:
    if approved != content:
        raise RefusedError(f"proposal 0x{ballot.proposal.hex()[:8]} was approved with other content")


def _require_about(session: CollisionSession, draft: RedactionDraft) -> None:
    if (session.epoch, session.proposal, session.content) != (draft.epoch, draft.proposal, draft.digest()):
        raise RefusedError("the session is not about this draft")


def _agree(proposed: object, expected: object, what: str) -> None:
    """Compares a property that never changes.  Raises RefutedError when it differs."""
    if proposed != expected:
        raise RefutedError(_difference(proposed, expected, what))


def _keep_pace(proposed: object, expected: object, what: str) -> None:
    """Compares a property that other proposals change.  Raises RefusedError when it differs."""
    if proposed != expected:
        raise RefusedError(_difference(proposed, expected, what))


def _difference(proposed: object, expected: object, what: str) -> str:
    return f"{what} is {_shown(proposed)}, {_shown(expected)} was expected"


def _shown(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
