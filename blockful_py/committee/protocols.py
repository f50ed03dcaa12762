# SPDX-License-Identifier: Apache-2.0
"""Protocols of the chains, the store and the reviewer that a committee works with.

`chain` and `storage` implement them structurally; `pipeline` gives each member a `Reviewer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from blockful_py.committee.certificates import CertificateVoter, CommittedVote
from blockful_py.committee.motions import Motion
from blockful_py.committee.pledges import AttestedNonces, CollisionSession, PledgedNonces, SignedPledge
from blockful_py.committee.proposals import PublicationProposal, RedactionChunk, RedactionDraft
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.types import Bytes32


class Clock(Protocol):
    """Seconds since 1970; never goes back."""

    def now(self) -> int: ...

    def wait_until(self, moment: float) -> None: ...


class Voter(CertificateVoter, Protocol):
    """A member from its coordinator's point of view, in this process or another.

    Methods raise CommitteeError or CryptoError when the member refuses.
    """

    def approve(self, draft: RedactionDraft) -> None: ...

    def commit(self, draft: RedactionDraft, session: CollisionSession) -> PledgedNonces: ...

    def attest(
        self, session: CollisionSession, pledges: Sequence[SignedPledge], nonces: Bytes32
    ) -> bytes: ...

    def sign(self, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares: ...

    def vote_publication(self, proposal: PublicationProposal) -> CommittedVote: ...

    def vote_redaction(self, draft: RedactionDraft, chunks: Sequence[RedactionChunk]) -> CommittedVote: ...

    def vote_erasure(self, epoch: int, statement: bytes) -> bytes: ...

    def vote_motion(self, motion: Motion) -> CommittedVote: ...


class Reviewer(Protocol):
    """Reviews the content of a proposal; raises RefusedError with a reason for bad content."""

    def review_publication(self, proposal: PublicationProposal) -> None: ...

    def review_redaction(self, draft: RedactionDraft) -> None: ...

    def review_erasure(self, statement: bytes) -> None: ...

    def review_motion(self, motion: Motion) -> bytes:
        """Leaf of the call that a motion allows.  Raises RefusedError unless the operator agreed to it."""
