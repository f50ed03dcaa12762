# SPDX-License-Identifier: Apache-2.0
"""A model of elections and accountability (IElection, ICommittee) in Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.contracts.sortition import Phase
from tests.contracts.stake_model import NONE, SERVING, Entry, Key, StakeBook, require

COMMITTED, REVEALED, PROVEN, ELECTED = range(NONE + 1, NONE + 5)


@dataclass
class Book(StakeBook):
    """The contract."""

    phase: Phase = Phase.IDLE
    epoch: int = 0
    target: int = 0
    draw: int = 0
    attempt: int = 0
    deadline: int = 0
    since: int = 0
    entrants: list[int] = field(default_factory=list)
    elected: list[int] = field(default_factory=list)
    rosters: dict[int, list[int]] = field(default_factory=dict)
    excluded: set[int] = field(default_factory=set)
    """Places in the current roster whose votes do not count."""
    credited: dict[tuple[int, int], set[int]] = field(default_factory=dict)

    # Elections

    def open_election(self) -> None:
        require(self.phase == Phase.IDLE, "WrongPhase")
        self._reached(self.since + self.rules["epochLength"])
        self.target = self.epoch + 1
        self._open_draw()

    def commit(self, who: int) -> None:
        self._open(Phase.COMMIT)
        entry = self._known(who)
        require(not entry.slashed, "Excluded")
        require(entry.unbonding == 0, "IsUnbonding")
        require(entry.stake >= self.rules["minStake"], "StakeTooLow")
        require(entry.trust >= self.rules["minTrust"], "Untrusted")
        require(entry.barred != self.target, "Barred")
        require(who not in self.entrants, "WrongStage")
        if len(self.entrants) < self.rules["maxCandidates"]:
            self.entrants.append(who)
        else:
            weights = [self.weight(each) for each in self.entrants]
            least = min(weights)
            require(self.weight(who) > least, "ElectionFull")
            place = len(weights) - 1 - weights[::-1].index(least)
            self.entries[self.entrants[place]].draw = 0
            self.entrants[place] = who
        entry.draw, entry.stage, entry.attempt = self.draw, COMMITTED, 0

    def reveal(self, who: int, right: bool) -> None:
        self._open(Phase.REVEAL)
        entry = self._at(who, COMMITTED)
        require(right, "WrongSecret")
        entry.stage = REVEALED

    def prove(self, who: int, output: int, error: str | None) -> None:
        """Checks a proof; `error` is the reason of its refusal, None for a valid one."""
        self._open(Phase.PROVE)
        entry = self._at(who, REVEALED)
        require(error is None, str(error))
        entry.stage, entry.output = PROVEN, output

    def confirm(self, who: int, key: Key, on_curve: bool) -> None:
        self._open(Phase.CONFIRM)
        entry = self._at(who, ELECTED)
        require(entry.attempt != self.attempt, "AlreadyConfirmed")
        require(self._faults + 1 <= key[1] <= self.quorum(len(self.elected)), "ThresholdOutOfRange")
        require(on_curve, "InvalidRoster")
        entry.attempt, entry.confirmed = self.attempt, key
        if self._count(key) == self.quorum(len(self.elected)):
            self._install()

    def proceed(self) -> None:
        require(self.phase != Phase.IDLE, "WrongPhase")
        {
            Phase.COMMIT: self._close_commit,
            Phase.REVEAL: self._close_reveal,
            Phase.PROVE: self._close_prove,
            Phase.CONFIRM: self._close_confirm,
        }[self.phase]()

    # Accountability

    def report(self, epoch: int, proposal: int, voters: Iterable[int]) -> None:
        require(epoch == self.epoch, "StaleEpoch")
        roster, chosen = self.rosters.get(epoch, []), set(voters)
        require(all(index < len(roster) for index in chosen), "UnknownMember")
        require(len(chosen - self.excluded) >= self.quorum(len(roster)), "QuorumNotReached")
        fresh = chosen - self.excluded - self.credited.get((epoch, proposal), set())
        require(bool(fresh), "NothingToCredit")
        self.credited.setdefault((epoch, proposal), set()).update(fresh)
        for index in fresh:
            entry = self.entries[roster[index]]
            if entry.votes < self.rules["creditedVotes"]:
                entry.votes += 1
                self.experience(entry, good=1)

    def slash(self, epoch: int, index: int, reporter: int) -> None:
        roster = self.rosters.get(epoch, [])
        require(index < len(roster), "InvalidEvidence")
        who = roster[index]
        self.exclude(who, reporter)
        if self.phase == Phase.CONFIRM and self._drawing(who):
            self.entries[who].stage = NONE
        if who in self.rosters.get(self.epoch, []):
            self.excluded.add(self.rosters[self.epoch].index(who))

    def acknowledge(self, epoch: int, voters: Iterable[int]) -> None:
        require(epoch == self.epoch, "StaleEpoch")
        roster, chosen = self.rosters.get(epoch, []), set(voters)
        require(all(index < len(roster) for index in chosen), "UnknownMember")
        require(len(chosen - self.excluded) >= self.quorum(len(roster)), "QuorumNotReached")
        require(epoch != self.acknowledged, "AlreadyAcknowledged")
        self.acknowledged = epoch
        self.acknowledgements.append((self.since, self.now))

    @staticmethod
    def quorum(members: int) -> int:
        """ceil(2n / 3)."""
        return -(-2 * members // 3)

    # Effects of the phases

    def _close_commit(self) -> None:
        self._reached(self.deadline)
        if len(self.entrants) < self.rules["minimum"]:
            self.phase = Phase.IDLE
        else:
            self._enter(Phase.REVEAL, "revealPeriod")

    def _close_reveal(self) -> None:
        late = [each for each in self.entrants if self.entries[each].stage == COMMITTED]
        if late:
            self._reached(self.deadline)
            for each in late:
                self.forfeit(each, self.target)
            self._open_draw()
        else:
            self._enter(Phase.PROVE, "provePeriod")

    def _close_prove(self) -> None:
        late = [each for each in self.entrants if self.entries[each].stage == REVEALED]
        if late:
            self._reached(self.deadline)
            for each in late:
                self.forfeit(each, self.target)
        able = [each for each in self.entrants if self.entries[each].stage == PROVEN and self.fit(each)]
        chosen = sorted(able, key=lambda each: self.entries[each].output)[: self.rules["seats"]]
        if len(chosen) < self.rules["minimum"]:
            self.phase = Phase.IDLE
            return
        self.elected = chosen
        for each in chosen:
            self.entries[each].stage = ELECTED
        self._generate(1)

    def _close_confirm(self) -> None:
        places = self._places()
        silent = [each for each in places if self.entries[each].attempt != self.attempt]
        votes = {each: self._count(self.entries[each].confirmed) for each in places if each not in silent}
        wrong = [each for each, count in votes.items() if count <= self._faults]
        most, quorum = max(votes.values(), default=0), self.quorum(len(self.elected))
        late = self.now >= self.deadline
        require(late or most + len(silent) < quorum, "TooEarly")
        blamed = wrong + silent * late if most > self._faults else []
        for each in blamed:
            self.entries[each].stage = NONE
            self.forfeit(each, self.target)
        if len(places) - len(blamed) < quorum or self.attempt == self.rules["attempts"]:
            self.phase = Phase.IDLE
        else:
            self._generate(self.attempt + 1)

    def _install(self) -> None:
        reported = any(epoch == self.epoch for epoch, _ in self.credited)
        for each in self.rosters.get(self.epoch, []):
            entry = self.entries[each]
            idle = reported and entry.votes == 0
            entry.served_until, entry.votes = self.now, 0
            if not entry.slashed:
                self.experience(entry, good=int(not idle), bad=int(idle))
        self.epoch, self.since, self.phase = self.target, self.now, Phase.IDLE
        self.rosters[self.epoch] = list(self.elected)
        kept = self._places()
        self.excluded = {place for place, each in enumerate(self.elected) if each not in kept}
        for each in self.elected:
            self.entries[each].served_until = SERVING

    def _open_draw(self) -> None:
        self.entrants, self.draw = [], self.draw + 1
        self._enter(Phase.COMMIT, "commitPeriod")

    def _generate(self, attempt: int) -> None:
        self.attempt = attempt
        self._enter(Phase.CONFIRM, "confirmPeriod")

    def _enter(self, phase: Phase, period: str) -> None:
        self.phase, self.deadline = phase, self.now + self.rules[period]

    def _places(self) -> list[int]:
        """Elected members that have kept their places."""
        return [each for each in self.elected if self.entries[each].stage == ELECTED]

    def _count(self, key: Key | None) -> int:
        """Members that confirmed `key` in this key generation and have kept their places."""
        entries = [self.entries[each] for each in self._places()]
        return sum(each.attempt == self.attempt and each.confirmed == key for each in entries)

    @property
    def _faults(self) -> int:
        return (len(self.elected) - 1) // 3

    def _drawing(self, who: int) -> bool:
        entry = self.entries[who]
        within = self.phase != Phase.IDLE and entry.draw == self.draw
        return within and (self.phase != Phase.CONFIRM or entry.stage == ELECTED)

    def _at(self, who: int, stage: int) -> Entry:
        entry = self.entries.get(who)
        require(entry is not None and entry.draw == self.draw and entry.stage == stage, "WrongStage")
        assert entry is not None
        return entry

    def _open(self, phase: Phase) -> None:
        require(self.phase == phase, "WrongPhase")
        require(self.now < self.deadline, "TooLate")
