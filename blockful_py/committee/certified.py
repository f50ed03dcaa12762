# SPDX-License-Identifier: Apache-2.0
"""Certified decisions of a committee: proposals with the actions that write them to both chains.

Anybody who has a certified decision can write it: the contracts check the certificate, not the sender.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from blockful_py.committee.certificates import CastVote, actions_under, require_votes
from blockful_py.committee.leaves import archive_leaves, redaction_leaves
from blockful_py.committee.proposals import PublicationProposal, RedactionChunk, RedactionDraft
from blockful_py.committee.protocols import ArchiveLedger, LiveLedger
from blockful_py.crypto import eip712
from blockful_py.errors import RefusedError
from blockful_py.types import Action, Certificate


@dataclass(frozen=True, slots=True)
class CertifiedPublication:
    """A block with the actions that write it to the archive and to the live chain."""

    proposal: PublicationProposal
    archive: tuple[Action, ...]
    live: Action

    @property
    def certificate(self) -> Certificate:
        return self.live.certificate

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
    """Replacements with the actions that write them, chunk by chunk."""

    draft: RedactionDraft
    chunks: tuple[RedactionChunk, ...]
    archive: tuple[Action, ...]
    live: tuple[Action, ...]

    @property
    def certificate(self) -> Certificate:
        """Raises RefusedError when there is none."""
        if not self.live:
            raise RefusedError("a certified redaction redacts nothing")
        return self.live[0].certificate

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


Certified = CertifiedPublication | CertifiedRedaction


class DecisionKeeper(Protocol):
    """A member in another process, which finishes decisions that their leader leaves unfinished.

    Methods raise CommitteeError or CryptoError when the member refuses.
    """

    @property
    def index(self) -> int:
        """1-based index of its share."""

    def keep(self, certified: Certified) -> None:
        """Stores a decision durably."""

    def witness(self, epoch: int, proposal: bytes, ballots: Sequence[CastVote]) -> None:
        """Compares votes with earlier votes of the same members on the same proposal."""


def require_certified(
    certified: Certified,
    archive: ArchiveLedger,
    live: LiveLedger,
    roster: Sequence[bytes],
    quorum: int,
    domain: eip712.Domain,
) -> None:
    """Raises RefusedError unless the contracts will take each action once the one before is done.

    The state of the chains is not checked: the decision may be half written already.
    """
    certificate = certified.certificate
    if (certificate.epoch, certificate.proposal) != certified.subject:
        raise RefusedError("a certificate names another epoch or proposal than its content")
    require_votes(certificate, roster, quorum, domain)
    if certified.actions != actions_under(certificate, certified.contents(archive, live)):
        raise RefusedError("a certificate does not cover the transactions that came with it")
