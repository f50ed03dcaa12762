# SPDX-License-Identifier: Apache-2.0
"""Whatever answers at a node's address, a store gives out verified bytes or one clear error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import repeat

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blockful_py.errors import BlockNotFoundError, IntegrityError, StorageError
from blockful_py.storage import cid_string, file_uri
from blockful_py.storage.ipfs import IpfsStore
from tests.limits import ANY_SIZE
from tests.storage.answers import VERSION, Liar, lying
from tests.storage.conftest import PATTERN

URI = file_uri(b"model")
MIB = 2**20


values = st.none() | st.integers() | st.text(max_size=9) | st.lists(st.text(max_size=3), max_size=2)
documents = st.dictionaries(st.sampled_from(["Keys", "Key", "Version", "Hash", "Error"]), values)


@pytest.fixture(scope="module")
def _server() -> Iterator[Liar]:
    with lying() as server:
        yield server


@pytest.fixture
def liar(_server: Liar) -> Liar:
    _server.answers = {"version": json.dumps(VERSION).encode()}
    _server.status, _server.sent = 200, 0
    return _server


def test_an_honest_answer_is_taken(liar: Liar) -> None:
    liar.answers["block/get"] = b"model"
    liar.answers["block/put"] = json.dumps({"Key": cid_string(URI), "Size": 5}).encode()
    liar.answers["pin/add"] = json.dumps({"Pins": [cid_string(URI)]}).encode()
    store = IpfsStore(liar.api)
    assert store.add(b"model") == URI
    assert store.read(URI, ANY_SIZE) == b"model"


@pytest.mark.parametrize("wrong", [b"", b"mode", b"models", b"Model"])
def test_other_bytes_than_the_cid_says_are_refused(liar: Liar, wrong: bytes) -> None:
    liar.answers["block/get"] = wrong
    with pytest.raises(IntegrityError, match=cid_string(URI)):
        IpfsStore(liar.api).read(URI, ANY_SIZE)


def test_an_answer_without_end_is_cut_off(liar: Liar) -> None:
    liar.answers["block/get"] = repeat(PATTERN)
    with pytest.raises(IntegrityError):
        IpfsStore(liar.api).read(URI, ANY_SIZE)
    assert liar.sent < 100 * MIB


def test_a_node_that_names_blocks_otherwise_is_refused(liar: Liar) -> None:
    liar.answers["block/put"] = json.dumps({"Key": cid_string(file_uri(b"other"))}).encode()
    with pytest.raises(StorageError, match="its version is not supported"):
        IpfsStore(liar.api).add(b"model")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (json.dumps({"Version": "0.12.2", "Golang": "go1.17"}).encode(), "0.13 or later is needed"),
        (json.dumps({"Version": "unknown"}).encode(), "not an IPFS node"),
        (b"[]", "not an IPFS node"),
        (b"<html>hello</html>", "not an IPFS node"),
        (b"", "not an IPFS node"),
    ],
)
def test_what_is_no_node_of_a_known_kind_is_refused_at_once(liar: Liar, answer: bytes, said: str) -> None:
    liar.answers["version"] = answer
    with pytest.raises(StorageError, match=said):
        IpfsStore(liar.api)


def test_a_web_server_that_is_no_node_is_refused(liar: Liar) -> None:
    liar.answers.clear()
    with pytest.raises(StorageError, match=r"refuses.*404"):
        IpfsStore(liar.api)


@pytest.mark.parametrize("address", ["", "localhost:5001", "/ip4/127.0.0.1", "/ip4/300.0.0.1/tcp/1"])
def test_what_is_no_address_is_named(address: str) -> None:
    with pytest.raises(StorageError, match="is not the address of an IPFS node's API"):
        IpfsStore(address)


def test_a_refusal_is_passed_on_in_the_nodes_own_words(liar: Liar) -> None:
    store = IpfsStore(liar.api)
    liar.status = 500
    refusal = json.dumps({"Message": "no space left on device", "Code": 0, "Type": "error"}).encode()
    liar.answers = dict.fromkeys(("block/put", "block/get", "pin/ls", "pin/rm"), refusal)
    for attempt in (lambda: store.add(b"model"), lambda: store.has(URI), lambda: store.delete(URI)):
        with pytest.raises(StorageError, match="refuses: no space left on device"):
            attempt()
    with pytest.raises(BlockNotFoundError, match="no space left on device"):
        store.read(URI, ANY_SIZE)


@settings(max_examples=20)
@example(answer=b'{"Keys": 1}')
@example(answer=b"[" * 10_000)
@given(
    answer=st.binary(max_size=60)
    | st.from_regex(r'\{"(Keys|Version|Key|Error)": *[\[{"0-9].{0,20}', fullmatch=True).map(str.encode)
)
def test_any_answer_is_taken_or_a_storage_error(_server: Liar, answer: bytes) -> None:
    _server.status = 200
    _server.answers = {"version": json.dumps(VERSION).encode()}
    store = IpfsStore(_server.api)
    _server.answers = dict.fromkeys(
        ("block/put", "block/get", "block/rm", "pin/ls", "pin/rm", "pin/add", "version"), answer
    )
    for attempt in (
        lambda: IpfsStore(_server.api),
        lambda: store.add(b"model"),
        lambda: store.has(URI),
        lambda: list(store),
        lambda: store.delete(URI),
    ):
        with suppress(StorageError):
            attempt()
    with pytest.raises(StorageError):
        store.read(URI, ANY_SIZE)
