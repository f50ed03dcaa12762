# SPDX-License-Identifier: Apache-2.0
"""The machines that a party asks for a block, in their order, and the blocks that it serves itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.errors import BlockNotFoundError, BusyError
from blockful_py.pipeline.run.stores import PartyBlocks, in_order
from blockful_py.storage.arrivals import Arrivals
from blockful_py.storage.fetch import Machine
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import file_uri

KEY, OTHER, ACCOUNT = b"\1" * 20, b"\2" * 20, b"\3" * 20
LISTED, SECOND = "https://10.0.0.1:7001", "https://10.0.0.2:7001"
LOOPBACK, STRANGE = "http://127.0.0.1:8545", "https://192.168.0.1:7001"


def test_members_of_the_file_come_first_and_may_be_on_a_private_network() -> None:
    announced = [Endpoint(OTHER, STRANGE), Endpoint(KEY, SECOND), Endpoint(KEY, LISTED)]
    assert in_order(announced, {}, (LISTED, SECOND), False) == (
        Machine(LISTED, KEY, True),
        Machine(SECOND, KEY, True),
        Machine(STRANGE, OTHER, False),
    )


def test_before_anybody_has_announced_the_file_says_whom_to_ask() -> None:
    assert in_order([], {}, (LISTED,), False) == (Machine(LISTED, None, True),)


def test_who_announces_anothers_url_takes_it_from_nobody() -> None:
    others = {ACCOUNT: Endpoint(OTHER, LISTED)}
    assert in_order([Endpoint(KEY, LISTED)], others, (LISTED,), False) == (
        Machine(LISTED, KEY, True),
        Machine(LISTED, OTHER, False, ACCOUNT),
    )
    assert in_order([], others, (LISTED,), False)[0] == Machine(LISTED, None, True)


def test_only_development_chains_let_participants_name_this_host() -> None:
    (outside,) = in_order([], {ACCOUNT: Endpoint(KEY, LOOPBACK)}, (), False)
    (inside,) = in_order([], {ACCOUNT: Endpoint(KEY, LOOPBACK)}, (), True)
    assert (outside.inside, inside.inside) == (False, True)


def test_a_block_that_has_arrived_is_served_once_its_file_is_kept(tmp_path: Path) -> None:
    @dataclass
    class Run:
        live_store: Path = tmp_path / "live"
        archive_store: Path = tmp_path / "archive"
        arrivals: Path = tmp_path / "arrivals"

    run = Run()
    blocks, arrivals, uri = PartyBlocks(run), Arrivals(run.arrivals), file_uri(b"model")
    with pytest.raises(BlockNotFoundError):
        blocks.kept_block(uri)
    arrivals.put("owner", uri, b"model")
    with pytest.raises(BusyError, match="has arrived"):
        blocks.kept_block(uri)
    ContentStore(run.live_store).adopt(uri, (uri,), arrivals)
    assert blocks.kept_block(uri) == b"model"
