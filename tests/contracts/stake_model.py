# SPDX-License-Identifier: Apache-2.0
"""A model of stake and trust (IStakes) in Python: the effect of each call, or its error.

Candidates are numbers; times are seconds, amounts wei.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

NONE = 0
SERVING = 2**40 - 1
MEMORY = 100
Key = tuple[int, int]
"""The number of a key, and the threshold confirmed with it."""


class RefusedError(Exception):
    """Its argument is the name of the custom error."""


def require(holds: bool, error: str) -> None:
    if not holds:
        raise RefusedError(error)


@dataclass
class Entry:
    """One candidate."""

    stake: int
    good: int = 0
    bad: int = 0
    unbonding: int = 0
    draw: int = 0
    stage: int = NONE
    attempt: int = 0
    slashed: bool = False
    served_until: int = 0
    votes: int = 0
    barred: int = 0
    confirmed: Key | None = None
    output: int = 0

    @property
    def trust(self) -> int:
        return 1_000_000 * (self.good + 1) // (self.good + self.bad + 2)


@dataclass
class StakeBook(ABC):
    """Stakes of the contract; `rules` are its parameters, `now` is the time of the call."""

    rules: dict[str, int]
    now: int = 0
    entries: dict[int, Entry] = field(default_factory=dict)
    burnt: int = 0
    rewards: dict[int, int] = field(default_factory=dict)
    claimable: dict[int, int] = field(default_factory=dict)
    acknowledged: int = 0
    acknowledgements: list[tuple[int, int]] = field(default_factory=list)
    """Start of each acknowledging epoch, and time of its acknowledgement."""

    def register(self, who: int, value: int) -> None:
        require(value >= self.rules["minStake"], "StakeTooLow")
        require(who not in self.entries, "AlreadyRegistered")
        self.entries[who] = Entry(value)

    def deposit(self, who: int, value: int) -> None:
        entry = self._known(who)
        require(not entry.slashed, "Excluded")
        require(entry.stake + value >= self.rules["minStake"], "StakeTooLow")
        entry.stake += value
        entry.unbonding = 0

    def unbond(self, who: int) -> None:
        entry = self._known(who)
        require(entry.unbonding == 0, "IsUnbonding")
        require(not self._drawing(who), "Engaged")
        entry.unbonding = self.now

    def withdraw(self, who: int) -> int:
        entry = self._known(who)
        require(entry.unbonding != 0, "NotUnbonding")
        require(entry.served_until != SERVING, "Engaged")
        since = entry.unbonding
        if entry.served_until:
            given = [when for began, when in self.acknowledgements if began >= entry.served_until]
            require(bool(given), "MirrorsBehind")
            since = max(since, given[0])
        self._reached(since + self.rules["unbondingDelay"])
        amount, entry.stake = entry.stake, 0
        require(amount != 0, "NothingToPay")
        if entry.bad > entry.good:
            entry.good = entry.bad = 0
        return amount

    def claim(self, who: int) -> int:
        self._reached(self.claimable.get(who, 0))
        require(self.rewards.get(who, 0) != 0, "NothingToPay")
        return self.rewards.pop(who)

    def exclude(self, who: int, reporter: int) -> None:
        """Takes the whole stake: a share is the reporter's after a delay, the rest is burnt."""
        entry = self.entries[who]
        require(not entry.slashed, "Excluded")
        reward = entry.stake * self.rules["reward"] // 100
        self.rewards[reporter] = self.rewards.get(reporter, 0) + reward
        self.claimable[reporter] = self.now + self.rules["unbondingDelay"]
        self.burnt += entry.stake - reward
        entry.stake, entry.slashed = 0, True

    def forfeit(self, who: int, epoch: int) -> None:
        """The candidate withheld something in the election of `epoch`."""
        entry = self.entries[who]
        entry.barred = epoch
        self.experience(entry, bad=self.rules["withholding"])
        amount = min(entry.stake, self.rules["forfeit"])
        entry.stake -= amount
        self.burnt += amount

    @staticmethod
    def experience(entry: Entry, good: int = 0, bad: int = 0) -> None:
        entry.good, entry.bad = min(entry.good + good, MEMORY), min(entry.bad + bad, MEMORY)
        if bad:
            entry.good = min(entry.good, MEMORY - entry.bad)
        else:
            entry.bad = min(entry.bad, MEMORY - entry.good)

    def fit(self, who: int) -> bool:
        """Whether the candidate is not slashed and has enough stake and trust."""
        entry = self.entries[who]
        enough = entry.stake >= self.rules["minStake"] and entry.trust >= self.rules["minTrust"]
        return enough and not entry.slashed

    def weight(self, who: int) -> int:
        return self.entries[who].stake * self.entries[who].trust

    @abstractmethod
    def _drawing(self, who: int) -> bool:
        """Whether the current election counts on this candidate."""

    def _known(self, who: int) -> Entry:
        require(who in self.entries, "UnknownCandidate")
        return self.entries[who]

    def _reached(self, time: int) -> None:
        require(self.now >= time, "TooEarly")
