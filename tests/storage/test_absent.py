# SPDX-License-Identifier: Apache-2.0
"""Finding 5: neither a file that nobody has nor one machine that drags holds others up again and again."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from blockful_py.errors import BlockNotFoundError, StorageError, StoreUnreachableError
from blockful_py.storage import ContentStore, file_uri, uri_of
from blockful_py.storage import search as module
from blockful_py.storage.fetch import Machine
from blockful_py.storage.standing import (
    LONGEST_ALONE_SECONDS,
    LONGEST_REST,
    LONGEST_SECONDS,
    MOST_FILES,
    AbsentFiles,
    Standing,
)
from blockful_py.types import Codec, Uri
from tests.limits import ANY_SIZE
from tests.storage.machines import Liar, Pieces, honest, lying, store_at

LIMIT = 1 << 20
ACCOUNT, OTHER = b"a" * 20, b"o" * 20
FILED = [file_uri(f"a request that nobody has, {n}".encode()) for n in range(10)]


@dataclass
class Clock:
    """Seconds that pass when a test says so."""

    time: float = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


def nothing(form: str, uri: Uri) -> None:
    return None


def absent(store: object, uri: Uri) -> StorageError:
    """The error of a read that fails."""
    with pytest.raises((BlockNotFoundError, StoreUnreachableError)) as error:
        store.read(uri, LIMIT)
    return error.value


def test_nobody_is_asked_for_an_absent_file_until_its_next_time(tmp_path: Path, clock: Clock) -> None:
    liar = Liar(nothing)
    with lying(liar) as machine:
        store, _ = store_at(tmp_path / "store", [machine], now=clock)
        pauses = []
        for _ in range(12):
            asked = len(liar.asked)
            assert isinstance(absent(store, FILED[0]), BlockNotFoundError)
            assert len(liar.asked) == asked + 1
            begun = clock.time
            while len(liar.asked) == asked + 1:
                assert "The next attempt is in" in str(absent(store, FILED[0]))
                clock.time += 0.5
                if clock.time - begun >= min(2.0 ** len(pauses), LONGEST_SECONDS):
                    break
            pauses.append(clock.time - begun)
    assert pauses == [min(2.0**n, LONGEST_SECONDS) for n in range(12)]


def test_a_file_comes_at_once_when_its_blocks_have_arrived(tmp_path: Path, clock: Clock) -> None:
    uri = file_uri(b"late")
    with lying(Liar(nothing)) as machine:
        store, _ = store_at(tmp_path / "store", [machine], now=clock)
        absent(store, uri)
        store.arrivals.put("owner", uri_of(b"late", Codec.RAW), b"late")
        assert store.read(uri, LIMIT) == b"late"


def test_a_file_that_came_is_remembered_as_absent_no_more(tmp_path: Path, clock: Clock) -> None:
    source = ContentStore(tmp_path / "source")
    liar = Liar(nothing)
    with lying(liar) as machine:
        store, _ = store_at(tmp_path / "store", [machine], now=clock)
        for _ in range(8):
            absent(store, file_uri(b"late"))
            clock.time += LONGEST_SECONDS
        uri, liar.answer = source.add(b"late"), honest(source)
        assert store.read(uri, LIMIT) == b"late"
        store.delete(uri)
        liar.answer = nothing
        absent(store, uri)
        clock.time += 1.0
        liar.answer = honest(source)
        assert store.read(uri, LIMIT) == b"late"


def test_where_no_machine_is_reached_the_network_is_expected_back_soon(tmp_path: Path, clock: Clock) -> None:
    source = ContentStore(tmp_path / "source")
    uri = source.add(b"model")
    liar = Liar(honest(source), status=500)
    with lying(liar) as machine:
        store, _ = store_at(tmp_path / "store", [machine], now=clock)
        for _ in range(20):
            assert isinstance(absent(store, uri), StoreUnreachableError)
            clock.time += LONGEST_ALONE_SECONDS
        liar.status = 200
        assert store.read(uri, LIMIT) == b"model"


def test_absent_files_that_are_remembered_are_bounded_in_number(clock: Clock) -> None:
    files = AbsentFiles(clock)
    named = [Uri(n.to_bytes(32, "big"), Codec.RAW) for n in range(MOST_FILES + 1)]
    for uri in named:
        files.note(uri, BlockNotFoundError("nobody has it"), (uri,), True)
    files.require_due(named[0], lambda block: False)
    for uri in named[1:]:
        with pytest.raises(BlockNotFoundError, match=r"nobody has it The next attempt is in 1 s"):
            files.require_due(uri, lambda block: False)


@pytest.fixture
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a busy machine raises ValueError."""
    monkeypatch.setattr(module, "BUSY_SECONDS", float("nan"))


@pytest.mark.usefixtures("no_wait")
@pytest.mark.parametrize("owner", [None, ACCOUNT], ids=["a member", "a participant"])
def test_one_busy_machine_is_not_waited_for_where_others_lack_the_file(
    tmp_path: Path, owner: bytes | None
) -> None:
    members, busy = [Liar(nothing) for _ in range(3)], Liar(nothing, status=503)
    busy.answer = lambda form, uri: []
    with ExitStack() as stack:
        machines = [stack.enter_context(lying(each)) for each in (*members, busy)]
        machines[-1] = replace(machines[-1], owner=owner)
        store, _ = store_at(tmp_path / "store", machines)
        for uri in FILED:
            assert "it is busy" in str(absent(store, uri))
            assert "The next attempt" in str(absent(store, uri))
    assert len(busy.asked) == len(FILED)


@pytest.mark.usefixtures("no_wait")
def test_busy_participants_are_not_waited_for_where_a_member_lacks_the_file(tmp_path: Path) -> None:
    busy = [Liar(lambda form, uri: [], status=503) for _ in range(3)]
    with ExitStack() as stack:
        machines = [stack.enter_context(lying(Liar(nothing)))]
        for number, liar in enumerate(busy):
            machines.append(replace(stack.enter_context(lying(liar)), owner=bytes([number]) * 20))
        store, _ = store_at(tmp_path / "store", machines)
        absent(store, FILED[0])


def test_several_busy_members_are_waited_for_although_another_lacks_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a push, its blocks have arrived at two and are not kept there yet."""
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.01)
    source = ContentStore(tmp_path / "source")
    uri = source.add(b"pushed")

    def late(liar: Liar) -> Callable[[str, Uri], Pieces | None]:
        def answer(form: str, asked: Uri) -> Pieces | None:
            liar.status = 503 if len(liar.asked) < 3 else 200
            return honest(source)(form, asked)

        return answer

    members = [Liar(nothing), Liar(nothing, status=503), Liar(nothing, status=503)]
    for each in members[1:]:
        each.answer = late(each)
    with ExitStack() as stack:
        store, _ = store_at(tmp_path / "store", [stack.enter_context(lying(each)) for each in members])
        assert store.read(uri, LIMIT) == b"pushed"
    assert len(members[0].asked) == 1


def dragging(clock: Clock, seconds: float) -> Callable[[str, Uri], Pieces]:
    """Answers that take as long, and bring nothing."""

    def answer(form: str, uri: Uri) -> Iterator[bytes]:
        clock.time += seconds
        yield b"\x3a"

    return answer


def test_a_participant_that_drags_rests_and_the_next_files_are_not_held_up(
    tmp_path: Path, clock: Clock
) -> None:
    liar = Liar(dragging(clock, 36.0))
    with lying(Liar(nothing)) as member, lying(liar) as machine:
        store, _ = store_at(tmp_path / "store", [member, replace(machine, owner=ACCOUNT)], now=clock)
        for uri in FILED:
            absent(store, uri)
        assert len(liar.asked) == 1
        assert "rests for" in str(absent(store, file_uri(b"another")))
        clock.time += 310.0
        absent(store, file_uri(b"yet another"))
        assert len(liar.asked) == 2


def test_an_account_that_announces_another_url_still_rests(tmp_path: Path, clock: Clock) -> None:
    first, second = Liar(dragging(clock, 36.0)), Liar(dragging(clock, 36.0))
    listed: list[Machine] = []
    with lying(Liar(nothing)) as member, lying(first) as one, lying(second) as two:
        listed = [member, replace(one, owner=ACCOUNT)]
        store, _ = store_at(tmp_path / "store", listed, now=clock)
        absent(store, FILED[0])
        listed[1] = replace(two, owner=ACCOUNT)
        absent(store, FILED[1])
    assert (len(first.asked), len(second.asked)) == (1, 0)


def test_a_machine_that_rests_is_asked_where_nobody_else_answers(tmp_path: Path, clock: Clock) -> None:
    source = ContentStore(tmp_path / "source")
    uri, liar = source.add(b"model"), Liar(dragging(clock, 36.0))
    with lying(liar) as machine:
        store, _ = store_at(tmp_path / "store", [replace(machine, owner=ACCOUNT)], now=clock)
        absent(store, FILED[0])
        liar.answer = honest(source)
        assert store.read(uri, LIMIT) == b"model"


def test_bringing_a_file_ends_the_rest_and_no_account_takes_anothers(clock: Clock) -> None:
    standing = Standing(clock)
    member = Machine("https://192.0.2.1:1", ACCOUNT)
    one, two = replace(member, owner=ACCOUNT), replace(member, owner=OTHER)
    assert standing.order([one, two, member]) == [one, two, member]
    standing.fault(one, 1000.0)
    assert (standing.rest(one), standing.rest(two), standing.rest(member)) == (LONGEST_REST, 0.0, 0.0)
    standing.fault(member, 0.1)
    assert standing.order([one, member, two]) == [two, member, one]
    standing.brought(one)
    assert standing.rest(one) == 0.0
    assert standing.order([one, member, two]) == [two, one, member]


def test_a_quick_answer_costs_nothing(clock: Clock) -> None:
    standing, machine = Standing(clock), Machine("https://192.0.2.1:1", ACCOUNT)
    standing.cost(machine, 4.0)
    assert standing.rest(machine) == 0.0


def test_honest_machines_are_asked_in_their_order(tmp_path: Path) -> None:
    source = ContentStore(tmp_path / "source")
    uris = [source.add(bytes([n])) for n in range(5)]
    liars = [Liar(nothing), Liar(honest(source)), Liar(honest(source))]
    with ExitStack() as stack:
        machines = [stack.enter_context(lying(each)) for each in liars]
        machines[2] = replace(machines[2], owner=ACCOUNT)
        store, _ = store_at(tmp_path / "store", machines)
        for uri in uris:
            assert store.read(uri, ANY_SIZE)
    assert [len(each.asked) for each in liars] == [5, 5, 0]


def test_what_machines_sent_for_files_that_nobody_has_is_not_kept(tmp_path: Path, clock: Clock) -> None:
    """Errors that were remembered kept 2 MiB each: members grew by 20 MiB for each account that filed."""
    noise = Liar(lambda form, uri: [os.urandom(1 << 20)] * 4)
    with lying(noise) as machine:
        store, _ = store_at(tmp_path / "store", [machine], now=clock)
        absent(store, file_uri(b"the first, which imports"))
        gc.disable()
        tracemalloc.start()
        try:
            for uri in FILED:
                assert "more than 2097152 bytes" in str(absent(store, uri))
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
            gc.enable()
    assert held < 2 << 20
