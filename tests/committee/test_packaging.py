# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import pairwise

from blockful_py.committee.drafting import NewModel, Packager, transaction_bytes
from blockful_py.ledger.protocols import MAX_BLOCK_MODELS
from blockful_py.pipeline.run.clock import LogicalClock
from blockful_py.types import Codec, Position, Uri


def _models(count: int, references: int = 2) -> list[NewModel]:
    places = tuple(Position(1, i) for i in range(references))
    return [NewModel(f"r{i}", Uri(bytes(32), Codec.RAW), bytes(20), places) for i in range(count)]


def test_blocks_keep_the_order_and_lose_nothing() -> None:
    models = _models(300)
    blocks = list(Packager(0, 1_000_000, LogicalClock(0)).blocks(models))
    assert [model for _, block in blocks for model in block] == models
    full, rest = MAX_BLOCK_MODELS, 300 - 2 * MAX_BLOCK_MODELS
    assert [len(block) for _, block in blocks] == [full, full, rest]


def test_a_block_is_no_larger_than_its_limit() -> None:
    models = _models(10)
    limit = 3 * transaction_bytes(models[0])
    blocks = [block for _, block in Packager(0, limit, LogicalClock(0)).blocks(models)]
    assert [len(block) for block in blocks] == [3, 3, 3, 1]


def test_a_model_larger_than_the_limit_still_gets_a_block() -> None:
    assert [len(block) for _, block in Packager(0, 1, LogicalClock(0)).blocks(_models(2))] == [1, 1]


def test_blocks_are_an_interval_apart() -> None:
    packager = Packager(15, 1, LogicalClock(100))
    times = [time for time, _ in packager.blocks(_models(3))]
    times += [time for time, _ in packager.blocks(_models(1))]
    assert all(later - earlier >= 15 for earlier, later in pairwise(times))


def test_no_models_make_no_block() -> None:
    assert list(Packager(0, 1_000, LogicalClock(0)).blocks([])) == []
