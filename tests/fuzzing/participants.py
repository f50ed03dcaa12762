# SPDX-License-Identifier: Apache-2.0
"""Plays dishonest participants against an honest committee: filings, hand-ins, publications, timing.

    python -m tests.fuzzing.participants --seconds 300 --seed 1

Each case is drawn from its seed, and raises FilingViolationError if an invariant is broken
(`filings_oracle.py`).  No model falls to a request that cannot reach it, or before its owner had its time.
Owners that do their parts lose nothing.  Members only prevent building on models that a request is about to
replace.  Honest requests are decided and executed in time, counted from their filing, during the attack and
after it.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from random import Random

from blockful_py.pipeline.review.admission import UNREAD_BLOCKS
from blockful_py.record.parts import MAX_REQUEST_BYTES, request_to_bytes
from blockful_py.record.request import Request, Start
from blockful_py.storage.cid import uri_of
from blockful_py.types import Codec, Paradigm
from tests.fuzzing.cases import play
from tests.fuzzing.filings_oracle import Asked, FilingsOracle, FilingViolationError
from tests.fuzzing.filings_world import (
    BLOCKS,
    CHAIN_ID,
    CONTRACT,
    Account,
    FilingsWorld,
    HeldUpError,
    RefusedByContractError,
)

METHODS = {Paradigm.SEQUENTIAL: "retrain {}", Paradigm.PARALLEL: 'gradient_ascent {"alpha":1.0}'}
BAD_METHODS = {
    Paradigm.SEQUENTIAL: ("nobody.has:This {}", "no_such {}", "head_mask {}", "retrain {"),
    Paradigm.PARALLEL: ("retrain {}", "head_mask {}", ":: {}"),
}
"""Methods that nobody has, that cannot be read, or that this federation's members do not review."""

WORK = (BLOCKS - 1) // 2
"""Maximum blocks that a part takes an honest owner; meanwhile another may become due."""


class FilingCase:
    """One federation and its players."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._honest = rng.randint(2, 4)
        self._colluders = rng.randint(1, 2)
        count = self._honest + self._colluders
        accounts = [Account(i + 1, i < self._honest, i + 1) for i in range(count)]
        self.world = FilingsWorld(accounts)
        self.asked: dict[int, Asked] = {}
        self._wanted: dict[int, int] = {}  # honest requests, and the block by which they are to be done
        self._done = 0
        for account in accounts:
            self._publish(account)

    def run(self) -> int:
        """Plays the case; returns the number of honest requests that were executed.

        Raises FilingViolationError, and any unexpected error.
        """
        for _ in range(self._rng.randint(5, 20)):
            self._turn()
        self._settle()
        self._end()  # nobody works in the time that is skipped
        self.world.block += UNREAD_BLOCKS + 1
        self.world.look()
        for account in self.world.accounts:  # end with all open work
            with nullcontext() if account.honest else suppress(RefusedByContractError):
                self._ask(account)
        self._settle()
        return self._done

    def _settle(self) -> None:
        """Ends the attack, with silent dishonest accounts, until honest requests are done."""
        while self._wanted:
            self._pass(BLOCKS // 2, attack=False)

    def _end(self) -> None:
        """Passes blocks until no request is open.  Raises FilingViolationError if one does not end."""
        waits = self._oracle().parts_before(len(self.world.filed)) + 2 * len(self.world.models) + 2
        by = self.world.block + waits * (BLOCKS + 2)
        while any(status.stage.is_open for status in self.world.admitted()):
            if self.world.block > by:
                raise FilingViolationError(f"a request is still open at block {self.world.block}")
            self._pass(BLOCKS // 2, attack=False)

    def _turn(self) -> None:
        rng = self._rng
        for account in self.world.accounts:
            if rng.random() < (0.15 if account.honest else 0.2):
                self._publish(account)
            if not account.honest and rng.random() < 0.6:
                self._attack(account)
            if account.honest and rng.random() < 0.1:
                with suppress(RefusedByContractError):
                    self._ask(account)
        self._pass(rng.choice((1, 1, 2, 3, BLOCKS - 1, BLOCKS, BLOCKS + 1)), attack=True)

    def _pass(self, blocks: int, attack: bool) -> None:
        """Lets the committee and the honest accounts look at every block."""
        for _ in range(blocks):
            self.world.block += 1
            for account in self.world.accounts:
                if account.honest:
                    self._work(account)
                elif attack and self._rng.random() < 0.1:
                    self._misanswer(account)
            self.world.look()
        oracle = self._oracle()
        oracle.check(frozenset(each.address for each in self.world.accounts if each.honest))
        for number, by in list(self._wanted.items()):
            if self.world.block > by:
                check = oracle.check_done if self._is_honest(number) else oracle.check_decided
                check(number, by)
                del self._wanted[number]
                self._done += 1

    def _publish(self, account: Account) -> None:
        rng, models = self._rng, list(self.world.models)
        references = rng.sample(models, min(len(models), rng.randint(0, 2)))
        with suppress(RefusedByContractError):
            try:
                self.world.publish(account, references)
            except HeldUpError as held:
                self._oracle().check_held_up(str(held), self.world.block)

    def _work(self, account: Account) -> None:
        """Does the first due part of any request; it takes up to half of an owner's time."""
        world = self.world
        if world.block < account.busy_until:
            return
        if account.busy_until:
            account.busy_until = 0
            for status in world.admitted():
                if due := status.due(account.address):
                    if status.is_parallel:
                        with suppress(RefusedByContractError):
                            world.hand_in(account, status.number, due[0], b"part")
                    else:
                        world.answer(status, due[0])
                    break
        if any(status.due(account.address) for status in world.admitted()):
            account.busy_until = world.block + self._rng.randint(1, WORK)

    def _misanswer(self, account: Account) -> None:
        """Hands in a part out of turn, of another's model, a second time, or correctly."""
        world = self.world
        for status in world.admitted():
            due = status.due(account.address)
            if due and self._rng.random() < 0.5 and not status.is_parallel:
                world.answer(status, self._rng.choice(due))
                return
            with suppress(RefusedByContractError):
                name = self._rng.choice(list(world.models))
                world.hand_in(account, status.number, name, self._rng.randbytes(4))

    def _ask(self, account: Account) -> None:
        """Files a valid request, which must be executed in time if the account is honest.

        Raises RefusedByContractError.
        """
        own = [name for name in self._own(account) if not self.world.models[name].node.is_withdrawn]
        if not own:
            return
        paradigm = self._rng.choice(list(Paradigm))
        draft = self._draft((self._rng.choice(own),), paradigm, METHODS[paradigm], self.world.block)
        waits = self._oracle().has_open(account.address)
        number = self._file(account, self._signed(draft, account), BLOCKS, admissible=True)
        self._wanted[number] = self.world.block + (self._oracle().parts_before(number) + 2) * (BLOCKS + 2)
        if not waits:
            self.world.look()
            self._oracle().check_decided(number, self.world.block)

    def _attack(self, account: Account) -> None:
        """Files anything."""
        rng, world = self._rng, self.world
        own = self._own(account)
        paradigm = rng.choice(list(Paradigm))
        blocks = rng.choice((1, BLOCKS, BLOCKS, 2 * BLOCKS, (1 << 32) - 1))
        with suppress(RefusedByContractError):
            if not own or rng.random() < 0.2:
                self._file_bytes(account, blocks)
                return
            starts = tuple(rng.sample(own, min(len(own), rng.randint(1, 2))))
            method, created = METHODS[paradigm], rng.choice((0, world.block, (1 << 64) - 1))
            admissible = False if blocks > BLOCKS * len(world.models) else None
            draft = self._draft(starts, paradigm, method, created)
            wrong, left_out = rng.random(), False
            if wrong < 0.2:
                draft = draft.model_copy(update={"method": rng.choice(BAD_METHODS[paradigm])})
            elif wrong < 0.3:
                other = rng.choice([name for name in world.models if name not in own])
                draft = self._draft((other,), paradigm, method, created)
            elif wrong < 0.4:
                moved = draft.starts[0].model_copy(update={"position": f"{world.height + 1}:0"})
                draft = draft.model_copy(update={"starts": (moved, *draft.starts[1:])})
            elif wrong < 0.5:
                others = [each.user for each in world.accounts if each is not account]
                draft = draft.model_copy(update={"classes": (), "clients": (rng.choice(others),)})
            elif wrong < 0.6 and paradigm is Paradigm.SEQUENTIAL:
                draft = draft.model_copy(update={"classes": (), "clients": (account.user,)})
                standing = {name for name in own if not world.models[name].node.is_withdrawn}
                left_out = bool(standing - set(starts))  # models that keep the client's data
            request = self._signed(draft, account)
            if 0.6 <= wrong < 0.7:
                request = request.model_copy(update={"signatures": request.signatures[::-1] * 2})
            if wrong < 0.5 or left_out or 0.6 <= wrong < 0.7:
                admissible = False
            for _ in range(rng.choice((1, 1, 3))):
                self._file(account, request, blocks, admissible)

    def _file_bytes(self, account: Account, blocks: int) -> None:
        """Files an invalid or unavailable request.  Raises RefusedByContractError."""
        rng = self._rng
        data = rng.choice((b"", rng.randbytes(50), bytes(MAX_REQUEST_BYTES + 1), b"{}", b"[" * 1000))
        uri = uri_of(data, Codec.RAW)
        if rng.random() < 0.7:
            self.world.files[uri] = data
        number = self.world.file(account, uri, blocks)
        self.asked[number] = Asked((), sequential=True, blocks=blocks, admissible=False)

    def _draft(self, starts: tuple[str, ...], paradigm: Paradigm, method: str, created: int) -> Request:
        models = self.world.models
        return Request(
            starts=tuple(Start(name=name, position=str(models[name].position)) for name in starts),
            classes=(self._rng.randrange(10),),
            paradigm=paradigm.value,
            method=method,
            created=created,
        )

    def _signed(self, draft: Request, account: Account) -> Request:
        return draft.signed([account.secret] * len(draft.starts), CHAIN_ID, CONTRACT)

    def _file(self, account: Account, request: Request, blocks: int, admissible: bool | None) -> int:
        data = request_to_bytes(request)
        uri = uri_of(data, Codec.RAW)
        self.world.files[uri] = data
        number = self.world.file(account, uri, blocks)
        names = tuple(start.name for start in request.starts)
        sequential = request.paradigm == Paradigm.SEQUENTIAL
        self.asked[number] = Asked(names, sequential, blocks, admissible, bool(request.clients))
        return number

    def _is_honest(self, number: int) -> bool:
        return self.world.by_address[self.world.filed[number - 1].by].honest

    def _own(self, account: Account) -> list[str]:
        models = self.world.models
        return [name for name, each in models.items() if each.node.statement.user == account.user]

    def _oracle(self) -> FilingsOracle:
        world = self.world
        owners = {each.what: each.by for each in world.happened if each.kind == "published"}
        return FilingsOracle(world.happened, owners, world.parents, self.asked)


def run_case(seed: int) -> int:
    """Plays a case; returns the number of honest requests that were executed.

    Raises FilingViolationError, and any unexpected error.
    """
    return FilingCase(Random(seed)).run()


if __name__ == "__main__":
    play(
        "participants",
        "Plays dishonest participants against an honest committee.",
        "honest requests carried out",
        run_case,
    )
