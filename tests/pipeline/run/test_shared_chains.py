# SPDX-License-Identifier: Apache-2.0
"""An explorer shares a run's own chains with commands that come meanwhile, and ends after them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from blockful_py.chain.calls import Call
from blockful_py.chain.interface import interface_of
from blockful_py.errors import RunError
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.shared_chains import URLS, ChainGuest, SharedChains
from blockful_py.settings import ChainSettings


@pytest.fixture
def place(tmp_path: Path) -> ChainEndpoints:
    return ChainEndpoints.of(ChainSettings(), tmp_path / "chains")


def databases(place: ChainEndpoints) -> Path:
    assert place.databases is not None
    return place.databases


def sent(nodes: Nodes) -> int:
    """Pays a wei to the account that pays, on the live chain; returns the block that has it."""
    sender = nodes.live_sender
    sender.send(Call(interface_of("LiveChain"), sender.address, b"", value=1))
    return nodes.live.block_number()


def test_a_command_uses_the_chains_of_an_explorer_which_ends_after_it(place: ChainEndpoints) -> None:
    shared = Nodes(place, shared=True)
    with Nodes(place) as guest:
        assert {guest.live.url, guest.archive.url} == {shared.live.url, shared.archive.url}
        block = sent(guest)
        assert shared.live.block_number() == block
        closing = threading.Thread(target=shared.close)
        closing.start()
        while (databases(place) / URLS).exists():
            pass
        assert sent(guest) == block + 1
        with pytest.raises(RunError, match="are run by process"):
            Nodes(place)
    closing.join()
    with Nodes(place) as alone:
        assert alone.live.block_number() == block + 1


def test_what_a_killed_explorer_left_is_not_believed(place: ChainEndpoints) -> None:
    databases(place).mkdir()
    (databases(place) / URLS).write_text('{"live": "http://127.0.0.1:1", "archive": "http://127.0.0.1:1"}')
    with Nodes(place) as nodes:
        assert sent(nodes) == 1
        assert not (databases(place) / URLS).exists()


@pytest.mark.parametrize("left", [None, b"", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_nobody_is_a_guest_of_nobody(tmp_path: Path, left: bytes | None) -> None:
    if left is not None:
        (tmp_path / URLS).write_bytes(left)
    with pytest.raises(LookupError):
        ChainGuest(tmp_path)


def test_guests_do_not_exclude_each_other(tmp_path: Path) -> None:
    urls = "http://127.0.0.1:1", "http://127.0.0.1:2"
    with SharedChains(tmp_path, *urls), ChainGuest(tmp_path) as one, ChainGuest(tmp_path) as other:
        assert (one.live, other.archive) == urls


def test_embedded_chains_are_shared_by_all_and_go_on_without_any(tmp_path: Path) -> None:
    place = ChainEndpoints.of(ChainSettings(devnet="embedded"), tmp_path / "run" / "chains")
    assert ChainEndpoints.from_json(place.to_json(tmp_path / "run"), tmp_path / "run") == place
    with Nodes(place) as one, Nodes(place) as other:
        block = sent(one)
        assert sent(other) == block + 1
        assert one.archive.chain_id == 1338
        assert one.live.latest_block() == other.live.latest_block()
    with Nodes(place) as again:
        assert again.live.block_number() == block + 1


def test_without_ganache_a_run_takes_embedded_chains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ChainEndpoints.of(ChainSettings(), tmp_path).devnet == "ganache"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ChainEndpoints.of(ChainSettings(), tmp_path).devnet == "embedded"
    assert ChainEndpoints.of(ChainSettings(devnet="ganache"), tmp_path).devnet == "ganache"
    assert not (tmp_path / "chains").exists()
