# SPDX-License-Identifier: Apache-2.0
"""Contract calls are cached within one block and repeated at every other block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from blockful_py.chain import block_answers
from blockful_py.chain.block_answers import BlockAnswers
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.errors import ContractError
from blockful_py.types import ArchiveReason, ArchiveRecord, Position
from tests.chain.conftest import Scene
from tests.chain.council import uri


@contextmanager
def counted(scene: Scene) -> Iterator[Counter[str]]:
    """Counts JSON-RPC calls by method."""
    rpc, calls = scene.node.rpc, Counter[str]()
    batch = rpc.batch

    def counting(asked: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        calls.update(method for method, _ in asked)
        return batch(asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rpc, "batch", counting)
        yield calls


def append(scene: Scene, count: int) -> list[Position]:
    live, council = scene.live, scene.council
    block = council.block(live, count)
    live.send(live.append_data(block, council.certify(live, [live.append_leaf(block, 0, 1)])[0]))
    return [Position(live.height(), index) for index in range(count)]


def redact(scene: Scene, positions: Sequence[Position]) -> None:
    """Redacts models to their next versions through another adapter than the reading one."""
    live, council = scene.live, scene.council
    updates, headers = council.redaction(live, positions)
    live.send(
        live.redact_data(
            updates, headers, council.certify(live, [live.redact_leaf(updates, headers, 0, 1)])[0]
        )
    )


def versions(live: LiveChainContract, positions: Sequence[Position]) -> list[int]:
    return [each.version for each in live.transactions(positions)]


def test_the_same_block_is_asked_once(scene: Scene) -> None:
    live, positions = scene.live, append(scene, 3)
    with counted(scene) as calls:
        found = live.transactions(positions)
        headers = live.headers([positions[0].height])
        hashes = live.block_hashes(range(positions[0].height))
    assert calls["eth_call"] == 2 + len(hashes)
    with counted(scene) as calls:
        assert live.transactions(positions[::-1]) == found[::-1]
        assert (live.headers([positions[0].height]), live.block_hashes(range(len(hashes)))) == (
            headers,
            hashes,
        )
    assert calls["eth_call"] == 0
    assert calls["eth_getBlockByNumber"] > 0


def test_a_redaction_between_two_looks_is_seen(scene: Scene) -> None:
    live, positions = scene.live, append(scene, 3)
    before = live.header(positions[0].height)
    assert versions(live, positions) == [0, 0, 0]
    redact(scene, positions[1:2])
    assert versions(live, positions) == [0, 1, 0]
    assert live.transaction(positions[1]).uri == uri(f"{positions[1]} again")
    assert live.header(positions[0].height).version == before.version + 1


def test_what_a_reorganisation_undoes_is_not_remembered(scene: Scene) -> None:
    live, positions, rpc = scene.live, append(scene, 2), scene.node.rpc
    first = live.transactions(positions)
    mark = rpc.call("evm_snapshot")
    redact(scene, positions)
    assert versions(live, positions) == [1, 1]
    assert rpc.call("evm_revert", mark)
    assert live.transactions(positions) == first
    redact(scene, positions[:1])
    assert versions(live, positions) == [1, 0]


def test_a_refused_question_is_asked_again(scene: Scene) -> None:
    live = scene.live
    missing = Position(live.height() + 1, 0)
    for _ in range(2):
        with counted(scene) as calls, pytest.raises(ContractError, match="UnknownPosition"):
            live.transaction(missing)
        assert calls["eth_call"] == 1
    append(scene, 1)
    assert live.transaction(missing).version == 0


def test_of_the_archive_only_records_that_are_new_to_it_are_asked_for(scene: Scene) -> None:
    archive, council = scene.archive, scene.council
    start = archive.length()
    records = [
        ArchiveRecord(Position(1, index), 0, ArchiveReason.PUBLISHED, uri(f"record {start}:{index}"))
        for index in range(4)
    ]
    archive.send(
        archive.append_data(
            archive.head(), archive.node.timestamp(), records, council.archive(archive, records)
        )
    )
    middle = archive.records(start + 1, 2)
    with counted(scene) as calls:
        whole = archive.records(start, 4)
    assert calls["eth_call"] == 2
    assert (whole[1:3], [each.record for each in whole]) == (middle, records)
    assert [each.index for each in whole] == [*range(start, start + 4)]


def test_answers_stay_with_their_block_when_another_reader_sees_a_newer_one(scene: Scene) -> None:
    answers, rpc = BlockAnswers(scene.node), scene.node.rpc

    def slow(arguments: Sequence[int], block: str) -> list[str]:
        """While a call waits, the chain grows and another reader asks the same."""
        rpc.call("evm_mine")
        assert answers.each("f", [1], lambda _, newer: [newer]) == [hex(int(block, 16) + 1)]
        return [block for _ in arguments]

    old = int(scene.node.settled_block()["number"], 16)
    assert answers.each("f", [1, 2], slow) == [hex(old)] * 2
    assert answers.each("f", [1], slow) == [hex(old + 1)]


def test_more_answers_than_fit_are_asked_for_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_answers, "KEPT", 3)
    answers, asked = BlockAnswers(scene.node), list[Sequence[int]]()

    def ask(arguments: Sequence[int], _: str) -> Sequence[int]:
        asked.append(arguments)
        return arguments

    for wanted in ([1, 2, 1], [2, 3], [1, 4], [4, 3]):
        assert answers.each("f", wanted, ask) == wanted
    assert asked == [[1, 2], [3], [4], [4]]
    assert answers.each("g", [1], ask) == [1]
    assert answers.each("f", [], ask) == []
