# SPDX-License-Identifier: Apache-2.0
"""Settings of the committee, appointed or elected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from blockful_py.settings.section import Count, Positive, Range, Section

Seconds = Annotated[int, Range(ge=0, lt=2**32)]
Period = Annotated[int, Range(ge=1, lt=2**32)]


def quorum_of(size: int) -> int:
    """Quorum of a committee, ceil(2n/3): two quorums share more than the third that may be faulty."""
    return -(-2 * size // 3)


@dataclass(frozen=True)
class ElectionSettings(Section):
    """Rules of the elected committee, in force for ever once deployed; reasons in IStakes.

    Attributes:
        min_stake: minimum stake of a candidate, wei.
        forfeit: burnt from the stake of a candidate that withholds a secret, a proof or a key; wei.
        min_trust: minimum trust of a candidate, parts per million.
        minimum: minimum number of candidates of an election; by default 4, or the size of a smaller
            committee.
        founders: accounts, 0x and 40 hexadecimal digits, that alone may stand for the first committee; an
            empty list admits everybody, which only a development chain should do.
        max_candidates: maximum number of candidates of one election.
        reward: share of a slashed stake that the reporter gets, percent.
        credited_votes: maximum number of votes of an epoch that raise a member's trust.
        withholding: added to a member's bad marks for a withheld secret, proof or key.
        attempts: key generations before an election is void.
        epoch_length: minimum time before the next election, seconds.
        commit_period, reveal_period, prove_period: seconds to commit to a secret, to reveal it, and to prove
            one's output.
        confirm_period: seconds to generate and confirm a group key.
        unbonding_delay: seconds until a stake, or a reward, is paid out.
    """

    min_stake: Annotated[int, Range(ge=1, lt=2**96)] = 10**18
    forfeit: Annotated[int, Range(ge=1, lt=2**96)] = 10**17
    min_trust: Annotated[int, Range(ge=0, le=500_000)] = 400_000
    minimum: Annotated[int, Range(ge=1, le=100)] | None = None
    founders: tuple[str, ...] = ()
    max_candidates: Annotated[int, Range(ge=1, le=256)] = 64
    reward: Annotated[int, Range(ge=0, le=10)] = 5
    credited_votes: Annotated[int, Range(ge=0, lt=2**8)] = 8
    withholding: Annotated[int, Range(ge=0, lt=2**8)] = 2
    attempts: Annotated[int, Range(ge=1, lt=2**8)] = 3
    epoch_length: Seconds = 86_400
    commit_period: Period = 600
    reveal_period: Period = 600
    prove_period: Period = 600
    confirm_period: Period = 3_600
    unbonding_delay: Seconds = 7 * 86_400


@dataclass(frozen=True)
class CommitteeSettings(Section):
    """The committee that decides.

    Attributes:
        roster: "appointed" (members in this process, with keys derived from the seed), "services" (processes
            started with `blockful committee serve`, at the URLs in `members`; appointed members hand over to
            them) or "elected" (processes at `members`, elected on the chain).
        members: URLs of the members that are processes.
        review_seconds, round_seconds: a service's time limits for the review of a proposal, and for
            everything else.
        stall_seconds: how long members wait for progress of a certified proposal before they finish it
            themselves.
        takeover_seconds: how long members wait before they lead a request whose leader has gone.
        size, threshold, unanimous: of the committee; the threshold is the quorum by default.
        attested: members also sign results that only the models' owners can vouch for: that methods which no
            member can recompute made models forget clients and single samples (docs/reference/unlearning.md).
        election: rules of an elected committee.
    """

    roster: Literal["appointed", "services", "elected"] = "appointed"
    members: tuple[str, ...] = ()
    review_seconds: Positive = 120.0
    round_seconds: Positive = 20.0
    stall_seconds: Positive = 60.0
    takeover_seconds: Positive = 300.0
    size: Annotated[int, Range(ge=1, le=256)] = 4
    threshold: Count | None = None
    unanimous: bool = False
    attested: bool = False
    election: ElectionSettings = ElectionSettings()

    @property
    def quorum(self) -> int:
        """Votes needed: ceil(2n/3), or all if unanimous."""
        return self.size if self.unanimous else quorum_of(self.size)

    @property
    def shares(self) -> int:
        """Shares needed for a collision; the quorum by default."""
        return self.threshold if self.threshold is not None else self.quorum
