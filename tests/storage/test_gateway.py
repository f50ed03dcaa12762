# SPDX-License-Identifier: Apache-2.0
"""The gateway: answers follow the specification, and only blocks of kept files are served."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from blockful_py.committee.service import door
from blockful_py.committee.service.server import Server
from blockful_py.errors import BusyError
from blockful_py.storage import ContentStore, car, cid_string, file_uri
from blockful_py.storage.gateway import BlockForm, BlockRequest, RefusedRequestError, gateway, matches, parse
from blockful_py.storage.unixfs import blocks_of
from blockful_py.types import Uri
from tests.committee.service.desks import SECONDS, Desk, connected, raw, request
from tests.storage.conftest import PATTERN

LONG = PATTERN * 2 + b"end"
"""Three leaves, of which two are the same, below a node."""


@pytest.fixture
def client(store: ContentStore) -> TestClient:
    return TestClient(gateway(store))


def raw_path(uri_text: str) -> str:
    return f"/ipfs/{uri_text}?format=raw"


@pytest.mark.parametrize("data", [b"", b"small", LONG])
def test_a_block_is_its_bytes(store: ContentStore, client: TestClient, data: bytes) -> None:
    uri = store.add(data)
    name = cid_string(uri)
    for each in blocks_of(uri, store.block):
        assert client.get(raw_path(cid_string(each))).content == store.block(each)
    answer = client.get(raw_path(name))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/vnd.ipld.raw"
    assert answer.headers["content-length"] == str(len(store.block(uri)))
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}.bin"'
    assert answer.headers["cache-control"] == "public, max-age=29030400, immutable"
    assert answer.headers["etag"] == f'"{name}.raw"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-ipfs-path"] == f"/ipfs/{name}"
    assert answer.headers["x-ipfs-roots"] == name


def test_a_car_has_the_blocks_below_its_root_depth_first_and_each_once(
    store: ContentStore, client: TestClient
) -> None:
    uri = store.add(LONG)
    answer = client.get(f"/ipfs/{cid_string(uri)}?format=car")
    assert answer.headers["content-type"] == "application/vnd.ipld.car; version=1; order=dfs; dups=n"
    assert answer.headers["content-disposition"].endswith('.car"')
    leaves = [file_uri(PATTERN), file_uri(b"end")]
    assert [each for each, _ in car.read(answer.content)] == [uri, *leaves]
    scoped = client.get(f"/ipfs/{cid_string(uri)}?format=car&dag-scope=block")
    assert list(car.read(scoped.content)) == [(uri, store.block(uri))]
    assert scoped.headers["etag"] != answer.headers["etag"]


@pytest.mark.parametrize("form", ["raw", "car"])
def test_head_is_get_without_the_body(store: ContentStore, client: TestClient, form: str) -> None:
    url = f"/ipfs/{cid_string(store.add(LONG))}?format={form}"
    head, got = client.head(url), client.get(url)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers == got.headers


def test_a_known_etag_is_not_sent_again(store: ContentStore, client: TestClient) -> None:
    url = raw_path(cid_string(store.add(b"model")))
    tag = client.get(url).headers["etag"]
    for known in (tag, f'"other", W/{tag}', "*"):
        answer = client.get(url, headers={"if-none-match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert client.get(url, headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("query", "accept", "status"),
    [
        ("", "application/vnd.ipld.raw", 200),
        ("", "text/html, application/vnd.ipld.car;version=1;q=0.5", 200),
        ("", "application/vnd.ipld.car; version=2", 406),
        ("", "application/vnd.ipld.car; order=dfs; dups=n", 200),
        ("", "application/vnd.ipld.car; dups=y", 406),
        ("?format=car", "application/vnd.ipld.raw", 200),
        ("?format=raw", "text/html", 200),
        ("?format=tar", "", 406),
        ("?format=dag-json", "application/vnd.ipld.raw", 406),
        ("?format=ipns-record", "", 406),
        ("", "", 400),
        ("", "*/*", 400),
        ("", "text/html", 406),
        ("?format=car&car-version=1&car-order=unk", "", 200),
        ("?format=car&car-version=2", "", 406),
        ("?format=car&car-dups=y", "", 406),
        ("?format=car&car-order=bfs", "", 406),
        ("?format=car&entity-bytes=0:10", "", 400),
        ("?format=car&dag-scope=entity", "", 200),
        ("?format=car&dag-scope=most", "", 400),
    ],
)
def test_what_may_be_asked_for(
    store: ContentStore, client: TestClient, query: str, accept: str, status: int
) -> None:
    url = f"/ipfs/{cid_string(store.add(b'model'))}{query}"
    assert client.get(url, headers={"accept": accept}).status_code == status


def test_the_probe_is_answered(client: TestClient) -> None:
    answer = client.get(raw_path("bafkqaaa"))
    assert (answer.status_code, answer.content) == (200, b"")
    assert client.head(raw_path("bafkqaaa")).status_code == 200
    probe = client.get("/ipfs/bafkqaaa?format=car")
    assert probe.content == b"\x19\xa2\x65roots\x81\xd8\x2a\x45\x00\x01\x55\x00\x00\x67version\x01"


KNOWN = cid_string(file_uri(b"model"))


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (raw_path(cid_string(file_uri(b"unknown"))), 404),
        (raw_path(KNOWN.upper()), 400),
        (raw_path(KNOWN[:-1]), 400),
        (raw_path("QmaZQ4eW7ATdS5x6NMUqyN3Dwi1z1cJtk9TbCbDRWyqyRu"), 400),
        (raw_path("bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"), 400),
        (raw_path(KNOWN + "/file"), 400),
        (raw_path(KNOWN + "/"), 400),
        (raw_path(KNOWN + "%00"), 400),
        (raw_path(KNOWN + "%0a"), 400),
        (raw_path(""), 400),
        (raw_path("%2e%2e/lock"), 400),
        (raw_path("../../pins/" + KNOWN), 404),
        (raw_path("..%2f..%2fetc%2fpasswd"), 400),
        (raw_path("/etc/passwd"), 400),
        (raw_path("b" + "a" * 4000), 400),
        (raw_path("%ff%fe"), 400),
        ("/ipns/" + KNOWN, 404),
        ("/", 404),
        ("/ipfs", 404),
    ],
)
def test_other_paths_are_refused(store: ContentStore, client: TestClient, path: str, status: int) -> None:
    store.add(b"model")
    assert client.get(path).status_code == status
    assert client.get(path, headers={"cache-control": "only-if-cached"}).status_code in (status, 412)


def test_nothing_is_taken(client: TestClient) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.request(method, raw_path(KNOWN)).status_code == 405


def test_only_what_is_cached_is_a_condition_here(client: TestClient) -> None:
    answer = client.get(raw_path(KNOWN), headers={"cache-control": "only-if-cached"})
    assert answer.status_code == 412


def test_only_blocks_of_kept_files_are_served(store: ContentStore, client: TestClient) -> None:
    shared, lone = store.add(LONG), store.add(PATTERN * 2 + b"other")
    leaf, own = cid_string(file_uri(PATTERN)), cid_string(file_uri(b"end"))
    assert client.get(raw_path(own)).status_code == 200
    (store.directory / "pins" / cid_string(shared)).unlink()
    assert client.get(raw_path(own)).status_code == 404
    assert client.get(raw_path(cid_string(shared))).status_code == 404
    assert client.get(raw_path(leaf)).status_code == 200
    store.delete(lone)
    assert client.get(raw_path(leaf)).status_code == 404
    assert client.get(raw_path(cid_string(store.add(b"end")))).status_code == 200


def test_a_block_that_has_arrived_and_is_not_kept_yet_is_asked_for_again(store: ContentStore) -> None:
    class Arrived:
        def kept_block(self, uri: Uri) -> bytes:
            raise BusyError("the block has arrived")

    for form in ("raw", "car"):
        answer = TestClient(gateway(Arrived())).get(f"/ipfs/{KNOWN}?format={form}")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


def test_a_file_that_another_process_adds_is_served(store: ContentStore, client: TestClient) -> None:
    assert client.get(raw_path(KNOWN)).status_code == 404
    ContentStore(store.directory).add(b"model")
    assert client.get(raw_path(KNOWN)).status_code == 200


def test_a_damaged_block_is_not_sent(store: ContentStore, client: TestClient) -> None:
    uri = store.add(b"model")
    (path,) = (store.directory / "blocks").rglob(cid_string(uri))
    path.write_bytes(b"other")
    answer = client.get(raw_path(cid_string(uri)))
    assert (answer.status_code, answer.content) == (500, b"this store cannot be read at present.")


@given(st.text(), st.dictionaries(st.text(), st.text()), st.text())
def test_any_request_is_parsed_or_refused(rest: str, query: dict[str, str], accept: str) -> None:
    for form in ({}, {"format": "raw"}, {"format": "car"}):
        try:
            asked = parse(rest, query | form, accept)
        except RefusedRequestError as error:
            assert error.status in (400, 406)
            continue
        assert asked.uri is None or cid_string(asked.uri) == rest


def test_tags_are_told_apart() -> None:
    tags = {
        BlockRequest(None, form, only).etag for form in BlockForm for only in (False, form is BlockForm.CAR)
    }
    assert len(tags) == 3
    assert not any(matches(each, '"a.raw"') for each in ("", '"b.raw"', '"a.car"', "a.raw"))


@pytest.fixture
def server(store: ContentStore) -> Iterator[Server]:
    with Server(Desk(), gateway=gateway(store)) as started:
        yield started


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def test_messages_and_blocks_are_served_at_one_address(server: Server, store: ContentStore) -> None:
    store.add(b"model")
    assert raw(server, get(raw_path(KNOWN))).endswith(b"\r\n\r\nmodel")
    assert raw(server, request(b"a\nx")).endswith(b"answer\nxx")
    assert b" 404 " in raw(server, get("/other"))[:20]
    assert b" 405 " in raw(server, get("/message"))[:20]


def test_a_machine_without_a_seat_serves_blocks_alone(store: ContentStore) -> None:
    store.add(b"model")
    with Server(None, gateway=gateway(store)) as started:
        assert raw(started, get(raw_path(KNOWN))).endswith(b"\r\n\r\nmodel")
        assert b" 404 " in raw(started, request(b"a\nx"))[:20]


@pytest.mark.parametrize(
    "path",
    ["/ipfs/../../lock", "/ipfs/%2e%2e/%2e%2e/lock", "//ipfs//..", "/ipfs/..", "*", "http://x/ipfs/" + KNOWN],
)
def test_paths_on_the_wire_lead_nowhere_else(server: Server, store: ContentStore, path: str) -> None:
    store.add(b"model")
    answer = raw(server, get(path + "?format=raw"))
    assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 404") or answer.endswith(b"model")


def test_a_fetching_peer_has_a_few_slots_and_takes_none_of_questions(
    store: ContentStore, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "ANSWER_SECONDS", SECONDS)
    name = cid_string(store.add_pieces([bytes([i]) * 2**20 for i in range(32)]))
    with ExitStack() as stack:
        for _ in range(door.FETCHER_SLOTS):
            opened = stack.enter_context(connected(server, get(f"/ipfs/{name}?format=car")))
            assert opened.recv(12) == b"HTTP/1.1 200"
        busy = raw(server, get(raw_path(KNOWN)))
        assert busy[:12] == b"HTTP/1.1 503"
        assert b"retry-after: 1" in busy
        assert raw(server, request(b"stranger\nx")).endswith(b"answer\nxx")
        assert raw(server, request(b"a\nx")).endswith(b"answer\nxx")


def test_strangers_have_so_many_slots_together() -> None:
    rows = door.Rows(2, total=3)
    first = rows.take("a")
    for row in ("a", "b"):
        rows.take(row)
    for row in ("a", "b", "c"):
        with pytest.raises(BusyError):
            rows.take(row)
    first.leave()
    rows.take("c")


@given(st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 5)), min_size=1))
def test_strangers_are_sent_so_many_bytes_a_second_together(sent: list[tuple[int, float]]) -> None:
    """The traffic begun until any time fits the rate, plus one piece."""
    pace, now, begun = door.Pace(100), 0.0, list[tuple[float, int]]()
    for size, pause in sent:
        now += pause
        begun.append((now + pace.delay(size, now), size))
    first = begun[0][0]
    for number, (at, _) in enumerate(begun):
        assert sum(size for _, size in begun[:number]) <= 100 * (at - first) + 1e-6
    assert door.Pace(100).delay(1000, 7.0) == 0


def test_so_many_bytes_may_be_sent_at_once_and_more_after_a_rest() -> None:
    pace = door.Pace(100, at_once=500)
    assert [pace.delay(250, 0.0) for _ in range(4)] == [0, 0, 0, 2.5]
    assert pace.delay(250, 0.0, longest=3) == 3
    assert not pace.rests(9.9)
    assert pace.rests(10.0)
    assert [pace.delay(500, 10.0), pace.delay(1, 10.0)] == [0, 0]


def test_readers_that_stop_lose_their_connections(
    store: ContentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hold all seats, and another reader is answered once a seat is free."""
    monkeypatch.setattr(door, "ANSWER_SECONDS", 0.05)
    name = cid_string(store.add_pieces([bytes([i]) * 2**20 for i in range(64)]))
    with Server(None, gateway=gateway(store)) as started, ExitStack() as stack:
        for _ in range(door.FETCHER_SLOTS):
            stack.enter_context(connected(started, get(f"/ipfs/{name}?format=car")))
        while b" 200 " not in raw(started, get(f"/ipfs/{name}?format=car&dag-scope=block"))[:20]:
            pass


def test_a_car_that_cannot_be_completed_breaks_off(store: ContentStore, tmp_path: Path) -> None:
    uri = store.add(LONG)
    (path,) = (store.directory / "blocks").rglob(cid_string(file_uri(b"end")))
    path.unlink()
    with Server(None, gateway=gateway(store)) as started:
        answer = raw(started, get(f"/ipfs/{cid_string(uri)}?format=car"))
    assert answer.startswith(b"HTTP/1.1 200")
    assert not answer.endswith(b"0\r\n\r\n")
