# SPDX-License-Identifier: Apache-2.0
"""What makes a member's process cheat: each changes one thing that it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import blockful_py.cli.main
import blockful_py.member.office  # noqa: F401
from blockful_py.committee.member import Member
from blockful_py.committee.pledges import AttestedNonces
from blockful_py.committee.proposals import RedactionDraft
from blockful_py.committee.service.generation import Generation
from blockful_py.committee.service.messages import SealedShares
from blockful_py.committee.wire import Message
from blockful_py.crypto import eip712, merkle, signature
from blockful_py.crypto.threshold.messages import SignatureShares


def wrong_shares() -> None:
    """Adds one to its share of the first collision."""
    honest = Member.sign

    def sign(self: Member, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        shares = honest(self, draft, nonces)
        return replace(shares, values=(shares.values[0] + 1, *shares.values[1:]))

    Member.sign = sign  # type: ignore[method-assign]


def wrong_deal() -> None:
    """Deals boxes that nobody can open."""
    honest = Generation._deal

    def deal(self: Generation, question: Message) -> SealedShares:
        boxes = honest(self, question).boxes
        return SealedShares(
            tuple(replace(box, sealed=box.sealed[:-1] + bytes([box.sealed[-1] ^ 1])) for box in boxes)
        )

    Generation._deal = deal  # type: ignore[method-assign]


def blind() -> None:
    """Approves whatever it is asked to."""
    Member.approve = _approve_blindly  # type: ignore[method-assign]


def _approve_blindly(self: Member, draft: RedactionDraft) -> None:
    self._memory.approve(self.ballot(draft.epoch, draft.proposal), draft.digest())


def two_votes() -> None:
    """Votes for every content of a proposal."""

    def vote(self: Member, epoch: int, proposal: bytes, leaves: Sequence[bytes]) -> bytes:
        digest = eip712.decision_digest(self.domain, epoch, proposal, merkle.root(leaves))
        return signature.sign(self._voting_secret, digest)

    Member._vote = vote  # type: ignore[method-assign]


CHEATS: dict[str, Callable[[], None]] = {
    "wrong shares": wrong_shares,
    "wrong deal": wrong_deal,
    "blind": blind,
    "two votes": two_votes,
}
