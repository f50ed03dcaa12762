# SPDX-License-Identifier: Apache-2.0
"""Plays dishonest participants against an honest committee: filings, hand-ins, publications, silence, timing.

    python -m tests.fuzzing.participants --seconds 300 --seed 1

A case is drawn from its seed.  It ends in a FilingViolationError unless nobody's model falls to a request
that cannot reach it or before its owner had its time, owners that do their parts lose nothing, every request
ends, and an honest request that is admitted at once is carried out in time
(`filings_oracle.py`).
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import suppress
from random import Random

from blockful_py.pipeline.review.admission import UNREAD_BLOCKS
from blockful_py.record.model_node import Request, Start
from blockful_py.record.parts import MAX_REQUEST_BYTES, request_to_bytes
from blockful_py.storage.cid import uri_of
from blockful_py.types import Codec, Paradigm
from tests.fuzzing.filings_oracle import Asked, FilingsOracle, FilingViolationError
from tests.fuzzing.filings_world import (
    BLOCKS,
    CHAIN_ID,
    CONTRACT,
    Account,
    FilingsWorld,
    RefusedByContractError,
)

METHODS = {
    Paradigm.SEQUENTIAL: ("retrain {}",) * 4
    + ("nobody.has:This {}", "no_such {}", "head_mask {}", "retrain {"),
    Paradigm.PARALLEL: ('gradient_ascent {"alpha":1.0}',) * 4 + ("gradient_ascent", "retrain {}", ":: {}"),
}

WORK = (BLOCKS - 1) // 2
"""Blocks that a part takes an honest owner, at most: while it does one, another may become due."""


class FilingCase:
    """One federation and those who play in it."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._honest = rng.randint(2, 4)
        self._colluders = rng.randint(1, 2)
        count = self._honest + self._colluders
        accounts = [Account(i + 1, i < self._honest, i + 1) for i in range(count)]
        self.world = FilingsWorld(accounts)
        self.asked: dict[int, Asked] = {}
        self._wanted: dict[int, int] = {}  # honest requests, and the block by which they are to be done
        for account in accounts:
            self._publish(account)

    def run(self) -> int:
        """Honest requests that were carried out.  Raises FilingViolationError, and whatever breaks."""
        for _ in range(self._rng.randint(5, 20)):
            self._turn(attack=True)
        self._settle()
        self.world.block += UNREAD_BLOCKS + 1
        self._settle()
        self._oracle().check_end()
        return len(self._wanted)

    def _settle(self) -> None:
        """Nobody attacks any more, and the dishonest answer nothing, for as long as all requests may take."""
        for _ in range(len(self.world.models) * (len(self.world.filed) + 2)):
            self._pass(BLOCKS // 2, attack=False)
            if self.world.docket_is_idle():
                return

    def _turn(self, attack: bool) -> None:
        rng = self._rng
        for account in self.world.accounts:
            if rng.random() < (0.15 if account.honest else 0.2):
                self._publish(account)
            if not account.honest and rng.random() < 0.6:
                self._attack(account)
            if account.honest and rng.random() < 0.05:
                self._ask(account)
        self._pass(rng.choice((1, 1, 2, 3, BLOCKS - 1, BLOCKS, BLOCKS + 1)), attack)

    def _pass(self, blocks: int, attack: bool) -> None:
        """The committee and the honest look at every block."""
        for _ in range(blocks):
            self.world.block += 1
            for account in self.world.accounts:
                if account.honest:
                    self._work(account)
                elif attack and self._rng.random() < 0.1:
                    self._misanswer(account)
            self.world.look()
        self._oracle().check(
            frozenset(each.address for each in self.world.accounts if each.honest and each.since)
        )
        for number, by in self._wanted.items():
            if self.world.block > by and self.world.docket[number].stage.is_open:
                raise FilingViolationError(f"the honest request {number} is not done by block {by}")

    def _publish(self, account: Account) -> None:
        rng, models = self._rng, list(self.world.models)
        references = rng.sample(models, min(len(models), rng.randint(0, 2)))
        with suppress(RefusedByContractError):
            self.world.publish(account, references)

    def _work(self, account: Account) -> None:
        """The first part that is due, whoever asked for it; it takes up to half of an owner's time."""
        world = self.world
        if world.block < account.busy_until:
            return
        if account.busy_until:
            account.busy_until = 0
            for standing in world.docket.admitted():
                if due := standing.due(account.address):
                    if standing.is_parallel:
                        with suppress(RefusedByContractError):
                            world.hand_in(account, standing.number, due[0], b"part")
                    else:
                        world.answer(standing, due[0])
                    break
        if any(standing.due(account.address) for standing in world.docket.admitted()):
            account.busy_until = world.block + self._rng.randint(1, WORK)

    def _misanswer(self, account: Account) -> None:
        """A part out of turn, of somebody else's model, again, or as it should be."""
        world = self.world
        for standing in world.docket.admitted():
            due = standing.due(account.address)
            if due and self._rng.random() < 0.5 and not standing.is_parallel:
                world.answer(standing, self._rng.choice(due))
                return
            with suppress(RefusedByContractError):
                name = self._rng.choice(list(world.models))
                world.hand_in(account, standing.number, name, self._rng.randbytes(4))

    def _ask(self, account: Account) -> None:
        """An honest request: if it is filed and nothing of the account is open, it is done in time."""
        own = [name for name, each in self.world.models.items() if self._owns(account, name)]
        if not own:
            return
        paradigm = self._rng.choice(list(Paradigm))
        request = self._request(account, (self._rng.choice(own),), paradigm, METHODS[paradigm][0])
        with suppress(RefusedByContractError):
            number = self._file(account, request, BLOCKS)
            self.world.look()
            if self.world.filed[number - 1].is_admitted:
                parts = sum(len(each.affected) for each in self.world.docket.admitted() if each.stage.is_open)
                self._wanted[number] = self.world.block + (parts + 2) * (BLOCKS + 2)

    def _attack(self, account: Account) -> None:
        """A filing of any kind."""
        rng, world = self._rng, self.world
        own = [name for name in world.models if self._owns(account, name)]
        other = [name for name in world.models if name not in own]
        starts = tuple(rng.sample(own, min(len(own), rng.randint(1, 2))))
        if rng.random() < 0.2 and other:
            starts = (rng.choice(other),)
        paradigm = rng.choice(list(Paradigm))
        blocks = rng.choice((1, BLOCKS, BLOCKS, 2 * BLOCKS, (1 << 32) - 1))
        with suppress(RefusedByContractError):
            if not starts or rng.random() < 0.2:
                data = rng.choice((b"", rng.randbytes(50), bytes(MAX_REQUEST_BYTES + 1), b"{}", b"[" * 1000))
                uri = uri_of(data, Codec.RAW)
                if rng.random() < 0.7:
                    world.files[uri] = data
                number = world.file(account, uri, blocks)
                self.asked[number] = Asked((), sequential=True)
                return
            request = self._request(account, starts, paradigm, rng.choice(METHODS[paradigm]))
            if rng.random() < 0.1:
                request = request.model_copy(update={"signatures": request.signatures[::-1] * 2})
            for _ in range(rng.choice((1, 1, 3))):
                self._file(account, request, blocks)

    def _request(self, account: Account, starts: tuple[str, ...], paradigm: Paradigm, method: str) -> Request:
        models = self.world.models
        drafted = Request(
            starts=tuple(Start(name=name, position=str(models[name].position)) for name in starts),
            classes=(self._rng.randrange(10),),
            paradigm=paradigm.value,
            method=method,
            created=self._rng.choice((0, self.world.block, (1 << 64) - 1)),
        )
        return drafted.signed([account.secret] * len(starts), CHAIN_ID, CONTRACT)

    def _file(self, account: Account, request: Request, blocks: int) -> int:
        data = request_to_bytes(request)
        uri = uri_of(data, Codec.RAW)
        self.world.files[uri] = data
        number = self.world.file(account, uri, blocks)
        names = tuple(start.name for start in request.starts)
        self.asked[number] = Asked(names, request.paradigm == Paradigm.SEQUENTIAL)
        return number

    def _owns(self, account: Account, name: str) -> bool:
        return self.world.models[name].node.statement.user == account.user

    def _oracle(self) -> FilingsOracle:
        world = self.world
        owners = {each.what: each.by for each in world.happened if each.kind == "published"}
        return FilingsOracle(world.happened, owners, world.parents, self.asked)


def run_case(seed: int) -> int:
    """Honest requests that were carried out.  Raises FilingViolationError, and whatever breaks."""
    return FilingCase(Random(seed)).run()


def main() -> None:
    parser = argparse.ArgumentParser(description="Plays dishonest participants against an honest committee.")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, help="of the first case; each next one has the next")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most")
    given = parser.parse_args()
    first = seed = Random().randrange(1 << 32) if given.seed is None else given.seed
    begun, done = time.monotonic(), 0
    while time.monotonic() < begun + given.seconds and seed < first + given.cases:
        try:
            done += run_case(seed)
        except Exception:
            sys.stderr.write(f"\nparticipants: seed {seed} shows a fault; repeat: --seed {seed} --cases 1\n")
            raise
        seed += 1
    told = f"{seed - first} cases from seed {first}, {done} honest requests carried out, no fault"
    sys.stdout.write(f"participants: {told}\n")


if __name__ == "__main__":
    main()
