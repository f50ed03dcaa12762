# SPDX-License-Identifier: Apache-2.0
"""Certified decisions of a committee: proposals with the actions that write them to both chains.

Anybody can write a certified decision to the archive, since the contracts check the certificate and not the
sender.  Members sign the live chain's certificate once the archive has the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from blockful_py.committee.certificates import CastVote, actions_under
from blockful_py.committee.proposals import PublicationProposal, RedactionChunk, RedactionDraft
from blockful_py.crypto import eip712
from blockful_py.crypto.roster import Roster
from blockful_py.errors import RefusedError
from blockful_py.ledger.leaves import archive_leaves, redaction_leaves
from blockful_py.ledger.protocols import ArchiveLedger, LiveLedger
from blockful_py.ledger.signed import Executor, require_signed, unsigned
from blockful_py.types import Action, Bytes32, Certificate


@dataclass(frozen=True, slots=True)
class CertifiedPublication:
    """A block with the actions that write it to the archive and, after that has settled, to the live chain.

    The certificate of `live` is not signed yet.
    """

    proposal: PublicationProposal
    archive: tuple[Action, ...]
    live: Action

    @property
    def certificate(self) -> Certificate:
        """The archive's certificate.  Raises RefusedError when no action has one."""
        return _certificate(self.archive)

    def contents(self, archive: ArchiveLedger, live: LiveLedger) -> tuple[tuple[bytes, ...], ...]:
        """Leaves of the archive's transactions, and of the live chain's."""
        block = (live.append_leaf(self.proposal.block, 0, 1),)
        return archive_leaves(archive, self.proposal.archive), block

    @property
    def subject(self) -> tuple[int, bytes]:
        """Epoch and proposal."""
        return self.proposal.epoch, self.proposal.proposal

    @property
    def actions(self) -> tuple[Action, ...]:
        return (*self.archive, self.live)


@dataclass(frozen=True, slots=True)
class CertifiedRedaction:
    """Replacements with the actions that write them, chunk by chunk.

    The certificates of `live` are not signed yet.
    """

    draft: RedactionDraft
    chunks: tuple[RedactionChunk, ...]
    archive: tuple[Action, ...]
    live: tuple[Action, ...]

    @property
    def certificate(self) -> Certificate:
        """The archive's certificate.  Raises RefusedError without archive actions."""
        return _certificate(self.archive)

    def contents(self, archive: ArchiveLedger, live: LiveLedger) -> tuple[tuple[bytes, ...], ...]:
        """Leaves of the archive's transactions, and of the live chain's."""
        return archive_leaves(archive, self.draft.archive), redaction_leaves(live, self.chunks)

    @property
    def subject(self) -> tuple[int, bytes]:
        """Epoch and proposal."""
        return self.draft.epoch, self.draft.proposal

    @property
    def actions(self) -> tuple[Action, ...]:
        return (*self.archive, *self.live)


CertifiedProposal = CertifiedPublication | CertifiedRedaction


def _certificate(archive: Sequence[Action]) -> Certificate:
    if not archive:
        raise RefusedError("a certified proposal archives nothing")
    return archive[0].certificate


class DecisionKeeper(Protocol):
    """A member in another process that finishes decisions its leader abandons.

    Methods raise CommitteeError or CryptoError when the member refuses.
    """

    @property
    def index(self) -> int:
        """1-based index of its share."""

    def keep(self, certified: CertifiedProposal) -> None:
        """Stores a decision durably."""

    def witness(self, epoch: int, proposal: Bytes32, ballots: Sequence[CastVote]) -> None:
        """Compares votes with earlier votes of the same members on the same proposal."""


def require_certified(
    certified: CertifiedProposal,
    archive: ArchiveLedger,
    live: LiveLedger,
    roster: Roster,
    domain: eip712.Domain,
) -> None:
    """Checks that the archive accepts the actions of a decision in their order.

    The live chain's actions must be of the same decision; they are not signed yet.  The state of the chains
    is not checked, because the decision may be half written already.  Raises RefusedError.
    """
    certificate = certified.certificate
    if (certificate.epoch, certificate.proposal) != certified.subject:
        raise RefusedError("a certificate names another epoch or proposal than its content")
    require_signed(certificate, Executor(archive.chain_id, archive.address), roster, domain)
    contents = certified.contents(archive, live)
    if certified.actions != split_actions(certificate, contents):
        raise RefusedError("a certificate does not cover the transactions that came with it")


def split_actions(certificate: Certificate, contents: Sequence[Sequence[bytes]]) -> tuple[Action, ...]:
    """The archive's actions under `certificate`, and the live chain's actions, which are not signed yet.

    `contents`: leaves of the archive's transactions, then of the live chain's.
    """
    archive, _ = contents
    later = unsigned(certificate.epoch, certificate.proposal, certificate.content_hash)
    return (
        *actions_under(certificate, contents)[: len(archive)],
        *actions_under(later, contents)[len(archive) :],
    )
