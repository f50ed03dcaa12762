# SPDX-License-Identifier: Apache-2.0
"""Invariants of the elected committee, checked after every step of a history."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis.stateful import invariant

from tests.contracts.committee_model import ELECTED, PROVEN, REVEALED, Book
from tests.contracts.histories import Histories
from tests.contracts.reading import batch, plain
from tests.contracts.sortition import ETHER, Candidate, Elections, Phase, voter_of
from tests.contracts.stake_model import NONE, Entry

STAKES = tuple((8 + number) * ETHER // 4 for number in range(5))


class Witness(Histories):
    """Six candidates, five of them registered with STAKES; the contract, its model, all its rosters."""

    def __init__(self, contract: Any, chain_id: int, settings: dict[str, int], seen: Counter[str]) -> None:
        from brownie import accounts

        super().__init__()
        self.contract, self.seen = contract, seen
        self.elections = Elections(contract, chain_id)
        self.pool = [Candidate.seeded(accounts[index]) for index in range(1, 7)]
        self.numbers = {each.account.address: number for number, each in enumerate(self.pool)}
        self.voters = {each.voter: number for number, each in enumerate(self.pool)}
        self.model = Book(settings, entries={number: Entry(stake) for number, stake in enumerate(STAKES)})
        self.paid = sum(STAKES)
        self.epoch, self.rosters = 0, {0: plain(contract.roster(0))}

    @invariant()
    def what_must_hold_holds(self) -> None:
        state = self.state()
        self.stake_is_conserved(state)
        self.epochs_follow_one_by_one_and_past_rosters_stay(state)
        self.nobody_unfit_is_elected(state)
        self.the_contract_is_as_the_model(state)

    def state(self) -> State:
        """All answers of the contract, in one exchange with the node."""
        names = (
            *("totalStake", "totalRewards", "burnt", "currentEpoch", "election", "entrants", "elected"),
            *("excluded", "acknowledged"),
        )
        accounts = [each.account for each in self.pool]
        calls = [(name, ()) for name in names]
        calls += [(name, (each,)) for name in ("candidate", "trust") for each in accounts]
        calls += [("roster", (epoch,)) for epoch in range(self.epoch + 2)]
        found = batch(self.contract, calls)
        single = dict(zip(names, found, strict=False))
        rest = found[len(names) :]
        pool = len(accounts)
        return State(single, rest[:pool], rest[pool : 2 * pool], rest[2 * pool :])

    def stake_is_conserved(self, state: State) -> None:
        total, rewards, burnt = (state.single[name] for name in ("totalStake", "totalRewards", "burnt"))
        assert sum(each[6] for each in state.candidates) == total
        assert total + rewards + burnt == self.contract.balance() == self.paid
        assert (rewards, burnt) == (sum(self.model.rewards.values()), self.model.burnt)

    def epochs_follow_one_by_one_and_past_rosters_stay(self, state: State) -> None:
        epoch = state.single["currentEpoch"]
        assert self.epoch <= epoch <= self.epoch + 1
        assert epoch == self.model.epoch
        if epoch > self.epoch:
            self.rosters[epoch] = state.rosters[epoch]
        self.epoch = epoch
        for known, roster in self.rosters.items():
            assert state.rosters[known] == roster
            assert roster[1] == -(-2 * len(roster[0][0]) // 3)
        members = [self.voters[voter_of(*key)] for key in self.rosters[epoch][0][0]]
        assert members == self.model.rosters.get(epoch, [])

    def nobody_unfit_is_elected(self, state: State) -> None:
        """Candidates in a draw are not unbonding; elected ones have stake and trust and were not slashed."""
        phase, draw = state.single["election"][0], state.single["election"][2]
        if phase == Phase.IDLE:
            return
        for entry, trust in zip(state.candidates, state.trusts, strict=True):
            elected = phase == Phase.CONFIRM and entry[4] == ELECTED
            if entry[2] == draw and (elected or phase != Phase.CONFIRM):
                assert entry[1] == 0
            if entry[2] == draw and elected:
                assert not entry[5]
                assert entry[6] >= self.model.rules["minStake"]
                assert trust >= self.model.rules["minTrust"]

    def the_contract_is_as_the_model(self, state: State) -> None:
        model = self.model
        entries = [model.entries[each] for each in model.entrants]
        counts = [sum(each.stage >= stage for each in entries) for stage in (NONE, REVEALED, PROVEN)]
        expected = (int(model.phase), model.target, model.draw, model.attempt, model.deadline, *counts)
        assert state.single["election"][:8] == expected
        assert [self.numbers[each] for each in state.single["entrants"]] == model.entrants
        assert [self.voters[each] for each in state.single["elected"]] == model.elected
        assert state.single["excluded"] == sum(1 << place for place in model.excluded)
        assert state.single["acknowledged"] == model.acknowledged
        for who, entry in model.entries.items():
            found = state.candidates[who]
            assert state.trusts[who] == entry.trust
            assert (*found[1:12], found[14]) == (
                entry.unbonding,
                entry.draw,
                entry.attempt,
                entry.stage,
                entry.slashed,
                entry.stake,
                entry.good,
                entry.bad,
                entry.served_until,
                entry.votes,
                entry.barred,
                entry.output,
            ), who


@dataclass(frozen=True)
class State:
    """Answers of the contract: keyed by name for functions without arguments, else by candidate or epoch."""

    single: dict[str, Any]
    candidates: list[Any]
    trusts: list[int]
    rosters: list[Any]
