# SPDX-License-Identifier: Apache-2.0
"""A machine's store: missing files come from others and stay, even if some machines lie."""

from __future__ import annotations

import datetime
import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from blockful_py.committee.service.server import Server
from blockful_py.crypto import tls
from blockful_py.crypto.tls import server_context
from blockful_py.errors import BlockNotFoundError, FormatError, StorageError, StoreUnreachableError
from blockful_py.record.parts import MAX_REQUEST_BYTES
from blockful_py.storage import ContentStore, car, cid_string, file_uri, uri_of
from blockful_py.storage import search as module
from blockful_py.storage.arrivals import FETCHED, FOLDER, Arrivals
from blockful_py.storage.bounds import MAX_BLOCK_SIZE
from blockful_py.storage.dag_pb import Link, encode
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.fetch import Machine
from blockful_py.storage.gateway import gateway
from blockful_py.storage.unixfs import blocks_of
from blockful_py.types import Codec, Uri
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN
from tests.storage.machines import ADDRESS, SECONDS, SECRET, Liar, Pieces, honest, lying, serving, store_at

LONG = PATTERN + PATTERN[::-1] + b"end"
"""Three leaves below a node."""
SMALL_FILES = (b"", b"small")


@pytest.fixture
def source(tmp_path: Path) -> ContentStore:
    return ContentStore(tmp_path / "source")


@pytest.mark.parametrize("data", [*SMALL_FILES, LONG])
def test_what_is_not_here_is_fetched_and_kept(tmp_path: Path, source: ContentStore, data: bytes) -> None:
    uri = source.add(data)
    with serving(source) as machine:
        store, reports = store_at(tmp_path / "store", [machine])
        assert not store.has(uri)
        assert store.read(uri, ANY_SIZE) == data
    assert store.has(uri)
    assert b"".join(store.stream(uri, ANY_SIZE)) == data
    assert ContentStore(tmp_path / "store").read(uri, ANY_SIZE) == data
    assert list(store) == [uri]
    assert reports == []
    assert store.arrivals.used().get(FETCHED) == 0


def test_the_chain_is_asked_again_where_machines_are_when_those_known_bring_nothing(
    tmp_path: Path, source: ContentStore
) -> None:
    listed: list[tuple[Machine, ...]] = []
    with serving(source) as first, serving(ContentStore(tmp_path / "other")) as second:
        places = iter([(first,), (second,)])

        def machines() -> tuple[Machine, ...]:
            listed.append(next(places))
            return listed[-1]

        own = ContentStore(tmp_path / "own")
        store = FederatedStore(own, Arrivals(tmp_path / FOLDER), machines)
        for text in (b"one", b"two"):
            assert store.read(source.add(text), ANY_SIZE) == text
        assert listed == [(first,)]
        assert store.read(ContentStore(tmp_path / "other").add(b"three"), ANY_SIZE) == b"three"
        assert listed == [(first,), (second,)]


def test_a_store_adds_streams_and_deletes_as_any_other(tmp_path: Path) -> None:
    store, _ = store_at(tmp_path / "store")
    assert store.add(LONG) == store.add_pieces([LONG[:7], LONG[7:]]) == file_uri(LONG)
    assert store.read(file_uri(LONG), ANY_SIZE) == LONG
    store.delete(file_uri(LONG))
    with pytest.raises(BlockNotFoundError, match="no machine that it may ask has all of it"):
        store.read(file_uri(LONG), ANY_SIZE)


def test_tls_is_pinned_to_the_key_of_the_machine(tmp_path: Path, source: ContentStore) -> None:
    uri = source.add(LONG)
    with Server(None, tls=server_context(SECRET), gateway=gateway(source)) as server:
        wrong, right = Machine(server.url, bytes(20)), Machine(server.url, ADDRESS)
        store, reports = store_at(tmp_path / "store", [wrong])
        with pytest.raises(StoreUnreachableError, match="not to the member asked"):
            store.read(uri, ANY_SIZE)
        store, reports = store_at(tmp_path / "store", [wrong, right])
        assert store.read(uri, ANY_SIZE) == LONG
        assert [url for url, _ in reports] == [server.url]
        store, reports = store_at(tmp_path / "other", [Machine(server.url, None)])
        assert store.read(uri, ANY_SIZE) == LONG


@pytest.mark.parametrize("year", [2001, 2100])
def test_no_clock_makes_a_certificate_invalid(
    tmp_path: Path, source: ContentStore, year: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is over, or not valid yet, is bound to its key all the same."""
    for name, day in (("_BEGIN", 1), ("_END", 2)):
        monkeypatch.setattr(tls, name, datetime.datetime(year, 1, day, tzinfo=datetime.UTC))
    uri = source.add(LONG)
    with Server(None, tls=server_context(SECRET), gateway=gateway(source)) as server:
        store, _ = store_at(tmp_path / "store", [Machine(server.url, ADDRESS)])
        assert store.read(uri, ANY_SIZE) == LONG


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_machine_that_sends_elsewhere_is_not_followed(
    tmp_path: Path, source: ContentStore, status: int
) -> None:
    uri, target = source.add(LONG), Liar(honest(source))
    with lying(target) as elsewhere:
        location = {"Location": f"{elsewhere.url}/ipfs/{cid_string(uri)}?format=car", "Content-Length": "0"}
        with lying(Liar(lambda form, asked: [], status=status, headers=location)) as machine:
            store, _ = store_at(tmp_path / "store", [machine])
            with pytest.raises(StoreUnreachableError, match=f"it answers {status}"):
                store.read(uri, ANY_SIZE)
    assert target.asked == []


Answer = Callable[[str, Uri], Pieces | None]
Lie = Callable[[ContentStore, Liar], Answer]


def _absent(source: ContentStore, liar: Liar) -> Answer:
    return lambda form, uri: None


def _wrong_bytes(source: ContentStore, liar: Liar) -> Answer:
    def answer(form: str, uri: Uri) -> Pieces:
        if form == "raw":
            return [b"something else"]
        return car.write(uri, [(each, b"something else") for each in blocks_of(uri, source.block)])

    return answer


def _endless(source: ContentStore, liar: Liar) -> Answer:
    return lambda form, uri: itertools.repeat(bytes(1 << 16))


def _endless_number(source: ContentStore, liar: Liar) -> Answer:
    return lambda form, uri: itertools.repeat(b"\xff" * 64)


def _endless_blocks(source: ContentStore, liar: Liar) -> Answer:
    """The same right block over and over."""

    def answer(form: str, uri: Uri) -> Pieces:
        block = source.block(uri)
        pieces = itertools.repeat(block * (1 + 2**16 // len(block)))
        return car.write(uri, itertools.repeat((uri, block))) if form == "car" else pieces

    return answer


def _not_asked_for(source: ContentStore, liar: Liar) -> Answer:
    """A block that is right, and of no file that was asked for, before all others."""
    other = (uri_of(b"other", Codec.RAW), b"other")

    def answer(form: str, uri: Uri) -> Pieces:
        rest = ((each, source.block(each)) for each in blocks_of(uri, source.block))
        return car.write(uri, itertools.chain([other], rest)) if form == "car" else [b"other"]

    return answer


def _truncated(source: ContentStore, liar: Liar) -> Answer:
    def answer(form: str, uri: Uri) -> Pieces:
        whole = b"".join(honest(source)(form, uri) or ())
        return [whole[: len(whole) - 2]]

    return answer


def _only_the_header(source: ContentStore, liar: Liar) -> Answer:
    return lambda form, uri: itertools.islice(car.write(uri, ()), 1)


def _nothing(source: ContentStore, liar: Liar) -> Answer:
    return lambda form, uri: []


def _no_car(source: ContentStore, liar: Liar) -> Answer:
    return lambda form, uri: [b"<html>" * 100]


def _stopping(source: ContentStore, liar: Liar) -> Answer:
    def pieces() -> Iterator[bytes]:
        yield b"\x3a"
        liar.over.wait()

    return lambda form, uri: pieces()


def _trickling(source: ContentStore, liar: Liar) -> Answer:
    def pieces(form: str, uri: Uri) -> Iterator[bytes]:
        for byte in b"".join(honest(source)(form, uri) or ()):
            yield bytes([byte])
            if liar.over.wait(0.2):
                return

    return pieces


LIES = [
    _absent,
    _wrong_bytes,
    _endless,
    _endless_number,
    _endless_blocks,
    _not_asked_for,
    _truncated,
    _only_the_header,
    _nothing,
    _no_car,
]
SLOW = [_stopping, _trickling]


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("data", [b"small", LONG])
def test_a_machine_that_lies_or_breaks_off_is_passed_over_and_then_asked_last(
    tmp_path: Path, source: ContentStore, lie: Lie, data: bytes
) -> None:
    uri = source.add(data)
    liar = Liar(lambda form, asked: None)
    liar.answer = lie(source, liar)
    with lying(liar) as crooked, serving(source) as machine:
        store, reports = store_at(tmp_path / "store", [crooked, machine])
        assert store.read(uri, ANY_SIZE) == data
        assert [url for url, _ in reports] == [crooked.url]
        assert liar.sent < 64 << 20
        asked = len(liar.asked)
        other = source.add(b"another file")
        assert store.read(other, ANY_SIZE) == b"another file"
        assert len(liar.asked) == asked + (lie is _absent)


@pytest.mark.parametrize("lie", LIES + SLOW)
def test_liars_alone_give_nothing_and_what_they_sent_rightly_stays(
    tmp_path: Path, source: ContentStore, lie: Lie
) -> None:
    uri = source.add(LONG)
    liar = Liar(lambda form, asked: None)
    liar.answer = lie(source, liar)
    with lying(liar) as crooked:
        store, reports = store_at(tmp_path / "store", [crooked], patience=0.5 if lie in SLOW else SECONDS)
        with pytest.raises((BlockNotFoundError, StoreUnreachableError), match=cid_string(uri)):
            store.read(uri, ANY_SIZE)
        assert list(store) == []
        assert {url for url, _ in reports} == {crooked.url}
        assert (lie in SLOW) == ("it sent no block for 0.5 s" in reports[0][1])
    with serving(source) as machine:
        store, reports = store_at(tmp_path / "store", [machine])
        assert store.read(uri, ANY_SIZE) == LONG
        assert reports == []


def test_a_machine_that_answers_another_status_is_passed_over(tmp_path: Path, source: ContentStore) -> None:
    uri = source.add(b"small")
    with lying(Liar(honest(source), status=418)) as crooked, serving(source) as machine:
        store, reports = store_at(tmp_path / "store", [crooked, machine])
        assert store.read(uri, ANY_SIZE) == b"small"
    assert reports == [(crooked.url, "it answers 418")]


def test_a_machine_that_is_gone_is_passed_over(tmp_path: Path, source: ContentStore) -> None:
    uri = source.add(b"small")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        gone = Machine(f"http://127.0.0.1:{listening.getsockname()[1]}", ADDRESS)
    with serving(source) as machine:
        store, _ = store_at(tmp_path / "store", [Machine("http://192.0.2.1:1", ADDRESS), gone, machine])
        assert store.read(uri, ANY_SIZE) == b"small"
    with pytest.raises(StoreUnreachableError, match="run the command again"):
        store.read(file_uri(b"other"), ANY_SIZE)


def test_no_machine_that_has_it_is_another_error_than_none_that_answers(
    tmp_path: Path, source: ContentStore
) -> None:
    with serving(source) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        with pytest.raises(BlockNotFoundError, match="it does not have"):
            store.read(file_uri(b"unknown"), ANY_SIZE)


def test_what_came_is_not_fetched_again(tmp_path: Path, source: ContentStore) -> None:
    """Each machine sends the root and one leaf before it breaks off; the last is asked for one leaf alone."""
    uri = source.add(LONG)
    leaves = list(blocks_of(uri, source.block))[1:]

    def having(leaf: Uri) -> Answer:
        def answer(form: str, asked: Uri) -> Pieces | None:
            if form == "car":
                return car.write(uri, ((each, source.block(each)) for each in (uri, leaf)))
            return [source.block(asked)] if asked == leaf else None

        return answer

    liars = [Liar(having(leaf)) for leaf in leaves]
    with ExitStack() as stack:
        machines = [stack.enter_context(lying(each)) for each in liars]
        store, reports = store_at(tmp_path / "store", machines)
        assert store.read(uri, ANY_SIZE) == LONG
        assert [form for form, _ in liars[0].asked].count("car") == 1
        for number, liar in enumerate(liars[1:], start=1):
            assert {form for form, _ in liar.asked} == {"raw"}
            assert {asked for _, asked in liar.asked} <= set(leaves[number:])
    assert [url for url, _ in reports] == [each.url for each in machines[:-1]]


def test_a_restarted_machine_goes_on_where_it_stopped(tmp_path: Path, source: ContentStore) -> None:
    uri = source.add(LONG)
    root, first, *_ = blocks_of(uri, source.block)
    partial = Liar(
        lambda form, asked: (
            car.write(uri, ((each, source.block(each)) for each in (root, first))) if form == "car" else None
        )
    )
    with lying(partial) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        with pytest.raises(BlockNotFoundError):
            store.read(uri, ANY_SIZE)
    whole = Liar(honest(source))
    with lying(whole) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        assert store.read(uri, ANY_SIZE) == LONG
    assert {asked for _, asked in whole.asked} == set(blocks_of(uri, source.block)) - {root, first}


def test_blocks_that_were_pushed_and_those_of_other_files_are_not_fetched(
    tmp_path: Path, source: ContentStore
) -> None:
    uri = source.add(LONG)
    root, first, second, last = blocks_of(uri, source.block)
    liar = Liar(honest(source))
    with lying(liar) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        assert store.add(source.block(first)) == first
        store.arrivals.put("a", root, source.block(root))
        store.arrivals.put("b", last, source.block(last))
        assert store.read(uri, ANY_SIZE) == LONG
    assert liar.asked == [("raw", second)]


def test_a_lost_or_damaged_block_of_a_kept_file_is_fetched_again(
    tmp_path: Path, source: ContentStore
) -> None:
    uri = source.add(LONG)
    with serving(source) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        store.keep(uri, ANY_SIZE)
        for each in blocks_of(uri, source.block):
            (path,) = (tmp_path / "store" / "blocks").rglob(cid_string(each))
            path.write_bytes(b"damaged")
        assert store.read(uri, ANY_SIZE) == LONG
        path.unlink()
        assert b"".join(store.stream(uri, ANY_SIZE)) == LONG
    assert ContentStore(tmp_path / "store").read(uri, ANY_SIZE) == LONG
    path.unlink()
    with pytest.raises(StorageError):
        store.read(uri, ANY_SIZE)


def test_a_file_over_the_limit_is_refused_before_its_leaves_are_asked_for(
    tmp_path: Path, source: ContentStore
) -> None:
    uri = source.add(LONG)

    def slow(form: str, asked: Uri) -> Iterator[bytes]:
        pieces = car.write(uri, ((each, source.block(each)) for each in blocks_of(uri, source.block)))
        yield from itertools.islice(pieces, 3)
        liar.over.wait()

    liar = Liar(slow)
    with lying(liar) as machine:
        store, reports = store_at(tmp_path / "store", [machine])
        with pytest.raises(FormatError, match="longer than the 1000 bytes"):
            store.read(uri, 1000)
    assert reports == []
    assert list(store) == []


def test_a_bomb_is_refused_by_its_root_and_no_leaf_of_it_is_kept(
    tmp_path: Path, source: ContentStore
) -> None:
    """Finding 4: one block of 1 MiB that is linked 1,024 times."""
    bomb = source.add_pieces([PATTERN] * 1024)
    assert len(list(blocks_of(bomb, source.block))) == 2
    with serving(source) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        for _ in range(3):
            with pytest.raises(FormatError, match=f"longer than the {MAX_REQUEST_BYTES} bytes"):
                store.read(bomb, MAX_REQUEST_BYTES)
    assert list(store) == []
    assert store.arrivals.used()[FETCHED] <= 2**17


def wide(count: int) -> tuple[Uri, dict[Uri, bytes]]:
    """A node of `count` leaves of a few bytes."""
    leaves = [number.to_bytes(4, "big") for number in range(count)]
    blocks = {uri_of(leaf, Codec.RAW): leaf for leaf in leaves}
    root = encode(tuple(Link(uri, 4, 4) for uri in blocks))
    return uri_of(root, Codec.DAG_PB), {uri_of(root, Codec.DAG_PB): root} | blocks


def test_a_dag_that_is_too_wide_is_refused_by_its_root(tmp_path: Path) -> None:
    """Of 30,000 leaves below a node of 1.4 MB: no leaf is asked for."""
    uri, blocks = wide(30_000)
    assert len(blocks[uri]) < MAX_BLOCK_SIZE
    liar = Liar(lambda form, asked: car.write(asked, [(asked, blocks[asked])]))
    with lying(liar) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        with pytest.raises(FormatError, match="more than 1031 blocks"):
            store.read(uri, 120_000)
    assert liar.asked == [("car", uri)]


def test_a_dag_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    uri, blocks = uri_of(b"x", Codec.RAW), {uri_of(b"x", Codec.RAW): b"x"}
    for _ in range(100):
        block = encode((Link(uri, 1, 1),))
        uri = uri_of(block, Codec.DAG_PB)
        blocks[uri] = block
    liar = Liar(lambda form, asked: car.write(uri, reversed(blocks.items())))
    with lying(liar) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        with pytest.raises(FormatError, match="more than 8 levels"):
            store.read(uri, ANY_SIZE)


def test_a_file_that_is_none_is_its_authors_fault(tmp_path: Path) -> None:
    block = b"\x0a\x02\x08\x01"
    uri = uri_of(block, Codec.DAG_PB)
    with lying(Liar(lambda form, asked: car.write(uri, [(uri, block)]))) as machine:
        store, reports = store_at(tmp_path / "store", [machine])
        with pytest.raises(FormatError, match="type 1"):
            store.read(uri, ANY_SIZE)
    assert reports == []


def test_a_busy_machine_is_asked_again(
    tmp_path: Path, source: ContentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.01)
    uri = source.add(LONG)
    liar = Liar(honest(source), status=503)

    def answer(form: str, asked: Uri) -> Pieces | None:
        liar.status = 200 if len(liar.asked) % 3 == 0 else 503
        return honest(source)(form, asked)

    liar.answer = answer
    with lying(liar) as machine:
        store, reports = store_at(tmp_path / "store", [machine])
        assert store.read(uri, ANY_SIZE) == LONG
    assert set(reports) == {(machine.url, "it is busy")}


def test_a_busy_machine_and_one_that_hangs_are_left_at_the_deadline(
    tmp_path: Path, source: ContentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.01)
    uri = source.add(LONG)
    with lying(Liar(honest(source), status=503)) as machine:
        store, _ = store_at(tmp_path / "store", [machine], seconds=0.2)
        with pytest.raises(StoreUnreachableError, match=r"could not be fetched.*(busy|in time)"):
            store.read(uri, ANY_SIZE)
    hanging = Liar(lambda form, asked: iter(lambda: bytes(hanging.over.wait()), None))
    with lying(hanging) as machine:
        store, _ = store_at(tmp_path / "store", [machine], seconds=0.2)
        with pytest.raises(StoreUnreachableError, match="it sent no block in time"):
            store.read(uri, ANY_SIZE)


def test_many_readers_at_once_get_the_file(tmp_path: Path, source: ContentStore) -> None:
    uri = source.add(LONG)
    found: list[bytes] = []
    with serving(source) as machine:
        store, _ = store_at(tmp_path / "store", [machine])
        readers = [threading.Thread(target=lambda: found.append(store.read(uri, ANY_SIZE))) for _ in range(6)]
        for each in readers:
            each.start()
        for each in readers:
            each.join()
    assert found == [LONG] * 6
