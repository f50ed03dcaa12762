# SPDX-License-Identifier: Apache-2.0
"""Bundles: many small files come with a few requests, whatever some machines answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from blockful_py.committee.service.server import Server
from blockful_py.errors import BusyError
from blockful_py.storage import ContentStore, car, cid_string
from blockful_py.storage.bounds import MOST_BUNDLED
from blockful_py.storage.cid import CID_SIZE, cid_bytes, uri_from_bytes
from blockful_py.storage.fetch import Machine
from blockful_py.storage.gateway import gateway
from blockful_py.types import Codec, Uri
from tests.limits import ANY_SIZE
from tests.storage.conftest import PATTERN
from tests.storage.machines import ADDRESS, answering, serving, store_at

FILES = [b"node %d" % number for number in range(300)]
PATH = "/ipfs/?format=car"
PATIENCE = 1.0


@contextmanager
def counting(store: ContentStore) -> Iterator[tuple[Machine, list[str]]]:
    """A machine that notes the method of each request."""
    asked: list[str] = []
    inner = gateway(store)

    async def noted(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["method"])
        await inner(scope, receive, send)

    app: ASGIApp = noted
    with Server(None, gateway=app) as server:
        yield Machine(server.url, ADDRESS), asked


def split(folder: Path) -> tuple[ContentStore, ContentStore, list[Uri]]:
    """Two stores, the first with two thirds of the files, the second with the rest."""
    first, second = ContentStore(folder / "first"), ContentStore(folder / "second")
    return first, second, [(second if n % 3 == 2 else first).add(each) for n, each in enumerate(FILES)]


def test_many_files_come_with_a_few_requests(tmp_path: Path) -> None:
    first, second, uris = split(tmp_path)
    with counting(first) as (one, of_first), counting(second) as (other, of_second):
        store, reports = store_at(tmp_path / "store", [one, other])
        store.prefetch(uris)
        assert (of_first, of_second) == (["POST"] * 2, ["POST"] * 2)
        assert [store.read(uri, ANY_SIZE) for uri in uris] == FILES
        store.prefetch(uris)
        assert (len(of_first), len(of_second)) == (2, 2)
    assert reports == []
    assert all(store.has(uri) for uri in uris)


def test_a_single_file_and_large_ones_are_fetched_as_before(tmp_path: Path) -> None:
    source = ContentStore(tmp_path / "source")
    large = [source.add(PATTERN + bytes([number])) for number in range(2)]
    with counting(source) as (machine, asked):
        store, _ = store_at(tmp_path / "store", [machine])
        store.prefetch(large[:1])
        assert asked == []
        store.prefetch(large)
        assert asked == ["POST"]
        assert [store.read(uri, ANY_SIZE) for uri in large] == [PATTERN + b"\0", PATTERN + b"\1"]
        assert "GET" in asked[1:]


def test_what_nobody_has_is_not_asked_for_again_at_once(tmp_path: Path) -> None:
    source, elsewhere = ContentStore(tmp_path / "source"), ContentStore(tmp_path / "elsewhere")
    source.add(b"here")
    lost = [elsewhere.add(b"lost %d" % number) for number in range(3)]
    with counting(source) as (machine, asked):
        store, _ = store_at(tmp_path / "store", [machine], now=lambda: 1.0)
        for uri in lost:
            with pytest.raises(Exception, match="no machine that it may ask has all of it"):
                store.read(uri, ANY_SIZE)
        asked.clear()
        store.prefetch(lost)
        assert asked == []


Answer = Callable[[ContentStore, list[Uri]], Iterator[bytes]]


def _wrong_bytes(store: ContentStore, uris: list[Uri]) -> Iterator[bytes]:
    return car.write(uris[0], [(uris[0], b"another"), (uris[1], store.block(uris[1]))])


def _unasked(store: ContentStore, uris: list[Uri]) -> Iterator[bytes]:
    unasked = store.add(b"unasked")
    return car.write(uris[0], [(uris[0], store.block(uris[0])), (unasked, b"unasked")])


def _twice(store: ContentStore, uris: list[Uri]) -> Iterator[bytes]:
    return car.write(uris[0], [(uris[0], store.block(uris[0]))] * 2)


def _cut(store: ContentStore, uris: list[Uri]) -> Iterator[bytes]:
    yield b"".join(car.write(uris[0], [(uris[0], store.block(uris[0]))]))[:-3]


def _no_car(store: ContentStore, uris: list[Uri]) -> Iterator[bytes]:
    yield b"\x00" * 100


def _endless(store: ContentStore, uris: list[Uri]) -> Iterator[bytes]:
    yield from car.write(uris[0], ())
    while True:
        yield b"\xff\xff\xff\xff\x7f" + bytes(2**16)


def _dripping(store: ContentStore, uris: list[Uri]) -> Iterator[bytes]:
    """A block now and then, each within the patience."""
    yield from car.write(uris[0], ())
    for uri in uris:
        time.sleep(PATIENCE / 2)
        yield b"".join([*car.write(uri, [(uri, store.block(uri))])][1:])


@contextmanager
def lying(store: ContentStore, answer: Answer, status: int = 200) -> Iterator[Machine]:
    """A machine that answers bundles so."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            names = self.rfile.read(int(self.headers["content-length"]))
            starts = range(0, len(names), CID_SIZE)
            uris = [uri_from_bytes(names[start : start + CID_SIZE]) for start in starts]
            self.send_response(status)
            self.end_headers()
            with suppress(OSError):
                for piece in answer(store, uris):
                    self.wfile.write(piece)

        def log_message(self, *_arguments: object) -> None:
            pass

    with answering(Handler) as machine:
        yield machine


@pytest.mark.parametrize("answer", [_wrong_bytes, _unasked, _twice, _cut, _no_car, _endless])
def test_a_liar_is_reported_and_the_next_machine_asked(tmp_path: Path, answer: Answer) -> None:
    source = ContentStore(tmp_path / "source")
    uris = [source.add(each) for each in FILES[:5]]
    with lying(source, answer) as liar, serving(source) as machine:
        store, reports = store_at(tmp_path / "store", [liar, machine])
        store.prefetch(uris)
        assert [url for url, _ in reports] == [liar.url]
        assert [store.read(uri, ANY_SIZE) for uri in uris] == FILES[:5]
        assert [url for url, _ in reports] == [liar.url]


def test_who_drips_blocks_is_left(tmp_path: Path) -> None:
    source = ContentStore(tmp_path / "source")
    uris = [source.add(each) for each in FILES[:20]]
    with lying(source, _dripping) as slow:
        store, reports = store_at(tmp_path / "store", [slow], patience=PATIENCE)
        store.prefetch(uris)
        assert reports == [(slow.url, "it sends a bundle too slowly")]


def test_a_block_that_has_only_just_arrived_is_left_out(tmp_path: Path) -> None:
    source = ContentStore(tmp_path / "source")
    kept, arrived = (source.add(each) for each in FILES[:2])

    class Blocks:
        def kept_block(self, uri: Uri) -> bytes:
            if uri == arrived:
                raise BusyError("the block has arrived")
            return source.kept_block(uri)

    names = b"".join(map(cid_bytes, (arrived, kept)))
    answer = TestClient(gateway(Blocks())).post(PATH, content=names)
    assert list(car.read(answer.content)) == [(kept, FILES[0])]


@pytest.mark.parametrize(("status", "told"), [(404, 0), (405, 0), (503, 0), (500, 1)])
def test_who_serves_no_bundles_is_passed_over(tmp_path: Path, status: int, told: int) -> None:
    source = ContentStore(tmp_path / "source")
    uris = [source.add(each) for each in FILES[:5]]
    with lying(source, _no_car, status) as other, serving(source) as machine:
        store, reports = store_at(tmp_path / "store", [other, machine])
        store.prefetch(uris)
        assert len(reports) == told
        assert [store.read(uri, ANY_SIZE) for uri in uris] == FILES[:5]


def test_without_a_machine_nothing_is_raised(tmp_path: Path) -> None:
    store, _ = store_at(tmp_path / "store", [Machine("http://127.0.0.1:9", ADDRESS)])
    store.prefetch([Uri(bytes([number]) * 32, Codec.RAW) for number in range(3)])
    assert list(store) == []


def test_a_bundle_leaves_out_what_is_not_kept_or_is_damaged(tmp_path: Path) -> None:
    source = ContentStore(tmp_path / "source")
    kept, damaged, deleted = (source.add(each) for each in FILES[:3])
    source.delete(deleted)
    (path,) = (
        each
        for each in source.directory.rglob("*")
        if each.name.startswith(cid_string(damaged)[:20])
        and each.is_file()
        and each.stat().st_size == len(FILES[1])
    )
    path.write_bytes(b"damaged"[: len(FILES[1])])
    names = b"".join(map(cid_bytes, (kept, damaged, deleted, kept)))
    answer = TestClient(gateway(source)).post(PATH, content=names)
    assert answer.status_code == 200
    assert list(car.read(answer.content)) == [(kept, FILES[0])]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"x" * CID_SIZE, 400),
        (b"x" * (CID_SIZE - 1), 400),
        (cid_bytes(Uri(b"\1" * 32, Codec.RAW)) * (MOST_BUNDLED + 1), 413),
    ],
)
def test_other_bodies_are_refused(tmp_path: Path, body: bytes, status: int) -> None:
    client = TestClient(gateway(ContentStore(tmp_path / "source")))
    assert client.post(PATH, content=body).status_code == status


def test_a_bundle_is_a_car(tmp_path: Path) -> None:
    source = ContentStore(tmp_path / "source")
    body = cid_bytes(source.add(b"one"))
    client = TestClient(gateway(source))
    assert client.post("/ipfs/?format=raw", content=body).status_code == 406
    assert client.post("/ipfs/", content=body).status_code == 400
    accepted = {"accept": "application/vnd.ipld.car"}
    assert client.post("/ipfs/", content=body, headers=accepted).status_code == 200
