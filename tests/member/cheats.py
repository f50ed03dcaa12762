# SPDX-License-Identifier: Apache-2.0
"""Cheats for a service's process: each changes one of its actions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from blockful_py.child_process import ChildProcesses
from blockful_py.committee.durable import DurableMemory
from blockful_py.committee.member import Member
from blockful_py.committee.memory import Ballot
from blockful_py.committee.pledges import AttestedNonces
from blockful_py.committee.proposals import RedactionDraft
from blockful_py.committee.service.generation import Generation
from blockful_py.committee.service.messages import RelayedAnswers, SealedShares
from blockful_py.committee.wire import Message
from blockful_py.crypto.envelope import WRAPPED_BYTES
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.keys.access import Access
from blockful_py.member.office import MemberOffice
from tests.participant.clocks import follow

FOLDER = 3
"""The argument of a service's command line that names its folder."""


def wrong_shares() -> None:
    """Adds one to its share of the first collision."""
    honest = Member.sign

    def sign(self: Member, draft: RedactionDraft, nonces: AttestedNonces) -> SignatureShares:
        shares = honest(self, draft, nonces)
        return replace(shares, values=(shares.values[0] + 1, *shares.values[1:]))

    Member.sign = sign  # type: ignore[method-assign]


def wrong_deal() -> None:
    """Deals boxes that cannot be opened."""
    honest = Generation.deal

    def deal(self: Generation, question: Message, relayed: RelayedAnswers) -> SealedShares:
        boxes = honest(self, question, relayed).boxes
        return SealedShares(
            tuple(replace(box, sealed=box.sealed[:-1] + bytes([box.sealed[-1] ^ 1])) for box in boxes)
        )

    Generation.deal = deal  # type: ignore[method-assign]


def blind() -> None:
    """Approves everything."""
    Member.approve = _approve_blindly  # type: ignore[method-assign]


def _approve_blindly(self: Member, draft: RedactionDraft) -> None:
    self._memory.approve(self.ballot(draft.epoch, draft.proposal), draft.digest())


def two_votes() -> None:
    """Votes for every content of a proposal: its memory keeps the latest."""
    latest: dict[Ballot, bytes] = {}

    def vote(self: DurableMemory, ballot: Ballot, content: bytes) -> bytes:
        latest[ballot] = content
        return content

    DurableMemory.vote = vote  # type: ignore[method-assign]
    DurableMemory.voted = lambda self, ballot: latest.get(ballot)  # type: ignore[method-assign]


def short_account() -> None:
    """Reports an account of 3 bytes."""
    honest = MemberOffice.identity
    MemberOffice.identity = lambda self: replace(honest(self), account=b"abc")  # type: ignore[method-assign]


def false_keys() -> None:
    """Gives readers keys that cannot be unwrapped."""
    Access.wrapped = lambda *asked: bytes(WRAPPED_BYTES)  # type: ignore[method-assign]


def in_steps() -> None:
    """Follows the clock that a test sets (`tests.participant.clocks`), and stops at the steps that a test
    names.

    Otherwise honest; see `tests.participant.steps`.
    """
    follow(Path(sys.argv[FOLDER]))
    honest = ChildProcesses.__init__

    def init(self: ChildProcesses, module: str) -> None:
        honest(self, "tests.participant.steps")

    ChildProcesses.__init__ = init  # type: ignore[method-assign]


def an_hour_ahead() -> None:
    """Its machine's clock is wrong."""
    _off_by(3600)


def an_hour_behind() -> None:
    """Its machine's clock is wrong."""
    _off_by(-3600)


def _off_by(seconds: int) -> None:
    right = time.time
    time.time = lambda: right() + seconds


CHEATS: dict[str, Callable[[], None]] = {
    "wrong shares": wrong_shares,
    "wrong deal": wrong_deal,
    "blind": blind,
    "two votes": two_votes,
    "short account": short_account,
    "false keys": false_keys,
    "in steps": in_steps,
    "an hour ahead": an_hour_ahead,
    "an hour behind": an_hour_behind,
}
