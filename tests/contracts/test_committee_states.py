# SPDX-License-Identifier: Apache-2.0
"""Random histories of the elected committee on a node, compared with a model in Python.

Each action is possible for somebody at any time.  Calls that the model refuses must fail in the contract with
the same error; accepted calls must leave both in the same state.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.merkle import action_leaf
from tests.contracts.committee_model import Book
from tests.contracts.committee_witness import STAKES, Witness
from tests.contracts.histories import action, run
from tests.contracts.refusal import refusal
from tests.contracts.scene import Panel
from tests.contracts.sortition import ETHER, RULES, Elections, Phase, equivocation, rules
from tests.contracts.stake_model import RefusedError

PERIOD = 10_000
TIMES = {
    **dict.fromkeys(("commitPeriod", "revealPeriod", "provePeriod", "confirmPeriod"), PERIOD),
    "epochLength": 3 * PERIOD,
    "unbondingDelay": 5 * PERIOD,
}
SETTINGS = {**RULES, **TIMES, "maxCandidates": 4, "minTrust": 340_000, "withholding": 1}
STRANGERS = Panel((1, 2, 3, 4, 5), 7)
EXAMPLES, STEPS = 14, 40
WHO = st.integers(min_value=0, max_value=5)
VOTERS = st.sampled_from([{0, 1, 2}, {1, 2, 3}, {0, 1, 2, 3}, {0, 1}, {2}])
FEW = st.sets(WHO, max_size=2)
EVENTS = (
    "EpochStarted",
    "Withheld",
    "ElectionVoid",
    "Displaced",
    "Slashed",
    "Withdrawn",
    "Claimed",
    "Reported",
    "MirrorsAcknowledged",
)


def always(_: Any) -> bool:
    return True


def in_office(histories: Any) -> bool:
    return bool(histories.model.epoch > 0)


def during(phase: Phase) -> Callable[[Any], bool]:
    return lambda histories: bool(histories.model.phase == phase)


class CommitteeHistories(Witness):
    """Six candidates, five of them registered from the start; a draw takes four."""

    def act(
        self, who: int, method: str, *arguments: Any, value: int = 0, does: Callable[[Book], Any]
    ) -> bool:
        """Calls `method` as candidate `who` and applies `does` to the model; returns whether it succeeded."""
        sender = self.pool[who].account
        trial = copy.deepcopy(self.model)
        trial.now = latest()
        try:
            does(trial)
        except RefusedError as refused:
            (expected,) = refused.args
            found = refusal(self.contract, method, *arguments, sender=sender.address, value=value)
            assert found[0] == expected, (method, who, found)
            self.seen[expected] += 1
            return False
        done = getattr(self.contract, method)(*arguments, {"from": sender, "value": value})
        self.seen.update({name: len(done.events[name]) for name in EVENTS if name in done.events})
        self.model.now = done.timestamp
        self.paid += value - (does(self.model) or 0)
        return True

    # Stake

    @action(
        always,
        who=WHO,
        kind=st.sampled_from(["deposit", "deposit", "register", "unbond", "withdraw", "claim"]),
        value=st.sampled_from([ETHER, ETHER // 4, 1, 0]),
    )
    def move_stake(self, who: int, kind: str, value: int) -> None:
        if kind == "deposit":
            self.act(who, kind, value=value, does=lambda book: book.deposit(who, value))
        elif kind == "register":
            arguments = self.elections.registration(self.pool[who])
            self.act(who, kind, *arguments, value=value, does=lambda book: book.register(who, value))
        elif kind == "unbond":
            self.act(who, kind, does=lambda book: book.unbond(who))
        elif kind == "withdraw":
            self.act(who, kind, does=lambda book: book.withdraw(who))
        else:
            self.act(who, kind, does=lambda book: book.claim(who))

    @action(always, who=st.integers(3, 5))
    def leave(self, who: int) -> None:
        """One candidate asks for its stake; all that have asked try to withdraw after the delay."""
        self.act(who, "unbond", does=lambda book: book.unbond(who))
        if in_office(self):
            for epoch in (self.model.epoch - 1, self.model.epoch):
                self.acknowledge(who, epoch)
        self.elections.wait(SETTINGS["unbondingDelay"])
        for each, entry in list(self.model.entries.items()):
            if entry.unbonding:
                self.act(each, "withdraw", does=lambda book, each=each: book.withdraw(each))

    @action(lambda self: self.model.rewards)
    def claim_rewards(self) -> None:
        self.elections.wait(SETTINGS["unbondingDelay"])
        for who in sorted(self.model.rewards):
            self.act(who, "claim", does=lambda book, who=who: book.claim(who))

    # Elections

    @action(during(Phase.IDLE), who=WHO, waits=st.booleans())
    def open_election(self, who: int, waits: bool) -> None:
        if waits:
            self.elections.wait(SETTINGS["epochLength"])
        self.act(who, "openElection", does=lambda book: book.open_election())

    @action(during(Phase.COMMIT), who=WHO)
    def commit(self, who: int) -> None:
        content = self.elections.commitment(self.pool[who])
        self.act(who, "commit", content, does=lambda book: book.commit(who))

    @action(during(Phase.COMMIT), out=FEW)
    def most_commit(self, out: set[int]) -> None:
        for who in set(range(6)) - out:
            self.commit(who)

    @action(during(Phase.REVEAL), who=WHO, right=st.booleans())
    def reveal(self, who: int, right: bool) -> None:
        secret = self.pool[who].secret if right else bytes(32)
        self.act(who, "reveal", secret, does=lambda book: book.reveal(who, right))

    @action(during(Phase.REVEAL), out=st.sampled_from([set(), set(), {0}, {1, 4}]))
    def most_reveal(self, out: set[int]) -> None:
        """All but some candidates reveal; nobody leaves in between."""
        for who in self.model.entrants[:1]:
            self.move_stake(who, "unbond", 0)
        for who in set(self.model.entrants) - out:
            self.reveal(who, True)

    @action(during(Phase.PROVE), who=WHO, whose=WHO, stale=st.booleans())
    def prove(self, who: int, whose: int, stale: bool) -> None:
        """Proofs of another candidate, or for another input, are refused."""
        alpha = self.contract.alpha()
        error = "WrongVrfKey" if whose != who else "Error" if stale else None
        proof = self.pool[whose].proof(alpha ^ stale)
        output = self.pool[who].output(alpha)
        self.act(who, "prove", proof, does=lambda book: book.prove(who, output, error))

    @action(during(Phase.PROVE), out=FEW)
    def most_prove(self, out: set[int]) -> None:
        for who in set(self.model.entrants) - out:
            self.prove(who, who, False)

    @action(
        during(Phase.CONFIRM),
        who=WHO,
        trapdoor=st.sampled_from([0, 7, 8]),
        threshold=st.integers(1, 4),
    )
    def confirm(self, who: int, trapdoor: int, threshold: int) -> None:
        """Trapdoor 0 stands for a point that is not on the curve."""
        key = Panel((), trapdoor).key if trapdoor else None
        place = (key.x, key.y) if key else (1, 1)
        chosen = (trapdoor, threshold)
        self.act(who, "confirmKey", *place, threshold, does=lambda book: book.confirm(who, chosen, bool(key)))

    @action(during(Phase.CONFIRM), out=FEW, others=st.sampled_from([set(), {2}, {2, 3}]))
    def most_confirm(self, out: set[int], others: set[int]) -> None:
        """All but some members confirm, and some of them confirm another key."""
        members = list(self.model.elected)
        for place, who in enumerate(members):
            if who not in out and self.model.phase == Phase.CONFIRM:
                self.confirm(who, 8 if place in others else 7, Book.quorum(len(members)))

    @action(always, who=WHO, waits=st.booleans())
    def proceed(self, who: int, waits: bool) -> None:
        if waits:
            self.elections.wait(PERIOD)
        self.act(who, "proceed", does=lambda book: book.proceed())

    @action(
        during(Phase.IDLE),
        out=FEW,
        late=st.sampled_from([set(), set(), {0}, {3}]),
        guilty=st.sampled_from([None, None, 0]),
        reported=st.booleans(),
    )
    def elect(self, out: set[int], late: set[int], guilty: int | None, reported: bool) -> None:
        """Holds an election: `out` do not enter, `late` withhold their proofs, a member `guilty` is
        convicted."""
        if reported and in_office(self):
            self.report(0, 0, {0, 1}, False)
            self.report(0, 0, {0, 1, 2}, False)
        self.open_election(0, True)
        for step in (lambda: self.most_commit(out), lambda: self.most_reveal(set())):
            step()
            self.proceed(0, True)
        if self.model.phase == Phase.PROVE:
            self.most_prove(late)
            if guilty is not None and in_office(self):
                self.slash(0, guilty, False, True)
            self.proceed(0, True)
        if self.model.phase == Phase.CONFIRM:
            self.most_confirm(set(), set())

    @action(always, who=WHO, phase=st.sampled_from(list(Phase)))
    def act_out_of_phase(self, who: int, phase: Phase) -> None:
        """Calls of another phase are refused."""
        if phase == self.model.phase:
            return
        {
            Phase.IDLE: lambda: self.open_election(who, True),
            Phase.COMMIT: lambda: self.commit(who),
            Phase.REVEAL: lambda: self.reveal(who, True),
            Phase.PROVE: lambda: self.prove(who, who, False),
            Phase.CONFIRM: lambda: self.confirm(who, 7, 3),
        }[phase]()

    # Accountability

    def panel(self, epoch: int) -> Panel:
        """The members of an epoch, or the same number of strangers."""
        members = [self.pool[each].voting for each in self.model.rosters.get(epoch, [])]
        return Panel(tuple(members), 7) if members else STRANGERS

    @action(
        in_office,
        who=WHO,
        proposal=st.integers(0, 2),
        voters=VOTERS,
        old=st.booleans(),
    )
    def report(self, who: int, proposal: int, voters: set[int], old: bool) -> None:
        epoch = self.model.epoch - old
        panel = self.panel(epoch)
        voters = {each for each in voters if each < len(panel.secrets)}
        name = keccak(bytes([epoch, proposal]))
        executor = (1, "0x" + "00" * 20)
        value = panel.certificate(self.elections.domain, executor, epoch, name, bytes(32), voters)
        self.act(who, "report", value, *executor, does=lambda book: book.report(epoch, proposal, voters))

    def acknowledge(self, who: int, epoch: int) -> None:
        """All members of an epoch state that the mirrors have reached it."""
        panel = self.panel(epoch)
        voters = set(range(len(panel.secrets)))
        place = (self.elections.domain.chain_id, self.elections.domain.contract)
        selector = bytes.fromhex(self.contract.acknowledge.signature[2:])
        content = action_leaf(*place, selector, 0, 1, keccak(words(epoch)))
        executor = (self.elections.domain.chain_id, self.contract.address)
        value = panel.certificate(self.elections.domain, executor, epoch, bytes(32), content, voters)
        self.act(who, "acknowledge", value, does=lambda book: book.acknowledge(epoch, voters))

    @action(
        in_office,
        who=WHO,
        index=st.integers(0, 4),
        old=st.booleans(),
        guilty=st.sampled_from([True, True, False]),
    )
    def slash(self, who: int, index: int, old: bool, guilty: bool) -> None:
        """Submits evidence against a member; for an innocent one it has a stranger's votes only."""
        epoch = self.model.epoch - old
        panel = self.panel(epoch)
        guilty = guilty and index < len(panel.secrets)
        evidence = equivocation(self.elections, panel if guilty else STRANGERS, index, epoch)
        self.act(who, "slash", evidence, does=lambda book: book.slash(epoch, index if guilty else 99, who))


def latest() -> int:
    """Time of the newest block, seconds."""
    from brownie import web3

    return int(web3.eth.get_block("latest")["timestamp"])


def test_random_histories_of_the_elected_committee(elected_committee: Any, fn_isolation: None) -> None:
    from brownie import Committee, accounts, chain

    verifier, seen = elected_committee.vrf(), Counter[str]()

    contract = accounts[0].deploy(Committee, verifier, rules(**SETTINGS), [])
    elections = Elections(contract, chain.id)
    for index in range(1, 6):
        elections.join(accounts[index], STAKES[index - 1])
    chain.snapshot()

    def machine() -> CommitteeHistories:
        chain.revert()
        return CommitteeHistories(contract, chain.id, SETTINGS, seen)

    run(machine, EXAMPLES, STEPS)
    assert all(seen[name] for name in EVENTS), f"the histories are too tame: {dict(seen)}"
