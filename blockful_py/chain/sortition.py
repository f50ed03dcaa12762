# SPDX-License-Identifier: Apache-2.0
"""Structs of the Committee contract as dataclasses (IStakes, IElection, ICommittee)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

from blockful_py.crypto.eip712 import typed
from blockful_py.types import Address, Bytes32


class Phase(IntEnum):
    """Phase of an election (IElection.Phase)."""

    IDLE = 0
    COMMIT = 1
    REVEAL = 2
    PROVE = 3
    CONFIRM = 4


class Stage(IntEnum):
    """Progress of a candidate in a draw (IStakes.Stage)."""

    NONE = 0
    COMMITTED = 1
    REVEALED = 2
    PROVEN = 3
    ELECTED = 4


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of a committee, explained in IStakes.  Amounts in wei, times in seconds, trust in ppm."""

    min_stake: int = 10**18
    forfeit: int = 10**17
    min_trust: int = 400_000
    seats: int = 4
    minimum: int = 4
    max_candidates: int = 64
    reward: int = 5
    credited_votes: int = 8
    withholding: int = 2
    attempts: int = 3
    epoch_length: int = 86_400
    commit_period: int = 600
    reveal_period: int = 600
    prove_period: int = 600
    confirm_period: int = 3_600
    unbonding_delay: int = 7 * 86_400

    def values(self) -> tuple[int, ...]:
        """The ABI's Parameters."""
        return tuple(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, slots=True)
class ElectionState:
    """State of an election (IElection.Election); `deadline` in seconds."""

    phase: Phase
    epoch: int
    draw: int
    attempt: int
    deadline: int
    committed: int
    revealed: int
    proven: int
    fold: bytes
    seed: bytes


@dataclass(frozen=True, slots=True)
class CandidateState:
    """State of a candidate (IStakes.Candidate).

    `stake` in wei, times in seconds; `key` is its voting key (x, y).
    """

    voter: Address
    unbonding_since: int
    draw: int
    attempt: int
    stage: Stage
    slashed: bool
    stake: int
    good: int
    bad: int
    served_until: int
    votes: int
    barred: int
    vrf_key: bytes
    commitment: bytes
    output: int
    key: tuple[int, int]
    confirmed: bytes


@dataclass(frozen=True, slots=True)
class Reward:
    """A reporter's reward (IStakes.Reward): amount in wei, claimable since a time in seconds."""

    amount: int
    claimable: int


@dataclass(frozen=True, slots=True)
class Equivocation:
    """Two votes (64 bytes each) of the member at `index` on one proposal, with different content."""

    epoch: int
    proposal: Bytes32
    index: int
    first_content: bytes
    first_vote: bytes
    second_content: bytes
    second_vote: bytes


@dataclass(frozen=True, slots=True)
class Registration:
    """The struct that a voting key signs so that an account can register it."""

    registrant: Address = typed("address")
