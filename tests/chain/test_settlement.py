# SPDX-License-Identifier: Apache-2.0
"""Chunks of a decision are in flight together, and each is executed once, even if the batch fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import pytest

from blockful_py.chain.calls import Call
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.settlement import (
    ARCHIVE,
    LIVE,
    Executed,
    Record,
    Settlement,
    SettlementCall,
    send_missing,
)
from blockful_py.errors import ChainError, ContractError
from blockful_py.types import Position, Receipt
from tests.chain.conftest import Scene

CHUNKS = 4


class Watched(LiveChainContract):
    """Records the number of calls that go out together; `before` is called ahead of the first batch."""

    before: Callable[[], object]
    batches: list[int]

    @classmethod
    def of(cls, scene: Scene, before: Callable[[], object] = lambda: None) -> Watched:
        live = cls(scene.node, scene.deployment.address("LiveChain"), scene.sender)
        live.before, live.batches = before, []
        return live

    def send_each(self, calls: Sequence[Call]) -> tuple[Receipt | ChainError, ...]:
        if not self.batches:
            self.before()
        self.batches.append(len(calls))
        return super().send_each(calls)


class Notes:
    """Records begun chunks and executed chunks, and whether the latter had a receipt."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.executed: dict[int, bool] = {}

    def begin(self, calls: Sequence[SettlementCall]) -> None:
        self.begun += [call.chunk for call in calls]

    def done(self, call: SettlementCall, receipt: Receipt | None) -> None:
        assert call.chunk not in self.executed
        self.executed[call.chunk] = receipt is not None


def published(scene: Scene, *sizes: int, references: Sequence[Position] = ()) -> list[list[Position]]:
    """Publishes blocks with these numbers of models."""
    live, council, places = scene.live, scene.council, []
    for size in sizes:
        block = council.block(live, size, references)
        live.send(live.append_data(block, council.certify(live, [live.append_leaf(block, 0, 1)])[0]))
        places.append([Position(live.height(), index) for index in range(size)])
    return places


def decided(scene: Scene, chunks: Sequence[Sequence[Position]]) -> Settlement:
    """A decision to replace the models of each chunk."""
    live, council = scene.live, scene.council
    parts = [council.redaction(live, chunk) for chunk in chunks]
    leaves = [live.redact_leaf(*part, number, len(parts)) for number, part in enumerate(parts)]
    actions = council.certify(live, leaves)
    calls = [
        SettlementCall(LIVE, action.chunk, live.redact_data(*part, action))
        for part, action in zip(parts, actions, strict=True)
    ]
    return Settlement(actions[0].certificate, tuple(calls))


def settled(scene: Scene, live: Watched, settlement: Settlement, notes: Notes) -> list[Executed]:
    def around(chain: str) -> AbstractContextManager[Record]:
        return nullcontext(notes)

    sides = {ARCHIVE: scene.archive, LIVE: live}
    return list(send_missing(settlement, sides, around, lambda certificate: certificate))


def test_chunks_of_a_chain_are_sent_together(scene: Scene) -> None:
    settlement = decided(scene, published(scene, *CHUNKS * [3]))
    live, notes = Watched.of(scene), Notes()
    executed = settled(scene, live, settlement, notes)
    assert live.batches == [CHUNKS]
    assert notes.begun == [*range(CHUNKS)]
    assert notes.executed == dict.fromkeys(range(CHUNKS), True)
    assert len({each.receipt.transaction_hash for each in executed}) == CHUNKS
    assert live.progress(settlement.proposal) == (CHUNKS, CHUNKS)
    assert settled(scene, live, settlement, Notes()) == []
    assert live.batches == [CHUNKS]


@pytest.mark.parametrize("scene", ["anvil"], indirect=True)
@pytest.mark.parametrize(
    ("dense", "sparse"), [(100, 60), (1, 20), (64, 1)], ids=["as long", "longer", "shorter"]
)
def test_limits_hold_for_models_of_many_blocks_after_those_of_one(
    scene: Scene, dense: int, sparse: int
) -> None:
    """After the cheapest chunk comes the most expensive: a header per model, nine references each, no shared
    slot."""
    nine, cheapest = published(scene, 9, dense)
    dearest = [block[3] for block in published(scene, *sparse * [4], references=nine)]
    settlement = decided(scene, [cheapest, dearest])
    live = Watched.of(scene)
    assert len(settled(scene, live, settlement, Notes())) == 2
    assert live.batches == [2]


def test_a_limit_that_was_too_low_is_replaced_by_an_estimate(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blockful_py.chain.sender.follower_limit", lambda call, first, limit: limit // 2)
    settlement = decided(scene, published(scene, *CHUNKS * [3]))
    live, notes = Watched.of(scene), Notes()
    executed = settled(scene, live, settlement, notes)
    assert live.batches == [4, 3, 2, 1]
    assert notes.executed == dict.fromkeys(range(CHUNKS), True)
    assert len(executed) == CHUNKS
    assert live.progress(settlement.proposal) == (CHUNKS, CHUNKS)


def test_chunks_that_somebody_else_executes_meanwhile_are_left_to_him(scene: Scene) -> None:
    settlement = decided(scene, published(scene, *CHUNKS * [3]))

    def overtake() -> None:
        for call in settlement.calls[:2]:
            scene.live.send(call.data)

    live, notes = Watched.of(scene, overtake), Notes()
    executed = settled(scene, live, settlement, notes)
    assert live.batches == [CHUNKS]
    assert notes.executed == {0: False, 1: False, 2: True, 3: True}
    assert [each.receipt.transaction_hash for each in executed] == [
        live.executed_in(settlement.proposal, chunk) for chunk in (2, 3)
    ]


def test_what_is_refused_in_the_middle_keeps_the_rest_from_being_executed(scene: Scene) -> None:
    settlement = decided(scene, published(scene, *CHUNKS * [3]))
    first, second, *rest = settlement.calls
    damaged = SettlementCall(LIVE, second.chunk, second.data[:-1] + bytes([second.data[-1] ^ 1]))
    live, notes = Watched.of(scene), Notes()
    with pytest.raises(ContractError, match="NotCertified"):
        settled(scene, live, Settlement(settlement.decision, (first, damaged, *rest)), notes)
    assert notes.executed == {0: True}
    assert live.progress(settlement.proposal) == (1, CHUNKS)
    assert len(settled(scene, live, settlement, Notes())) == CHUNKS - 1
    assert live.progress(settlement.proposal) == (CHUNKS, CHUNKS)
