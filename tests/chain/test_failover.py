# SPDX-License-Identifier: Apache-2.0
"""Several nodes of one chain, some of them dead, silent, behind or of another chain."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator

import pytest

from blockful_py.chain import failover
from blockful_py.chain.devnet import Devnet, NodeOptions, start_together
from blockful_py.chain.failover import LAG_BLOCKS
from blockful_py.chain.node import Node, connect
from blockful_py.chain.sender import Sender
from blockful_py.errors import NodeError
from tests.chain.test_delivery import gift, mine


@pytest.fixture
def pair() -> Iterator[tuple[Devnet, Devnet]]:
    started = start_together(*[NodeOptions(31337, kind="anvil")] * 2)
    try:
        yield started[0], started[1]
    finally:
        for each in started:
            each.close()


@pytest.fixture
def nobody() -> Iterator[str]:
    """A URL where nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{unused.getsockname()[1]}"


def both(pair: tuple[Devnet, Devnet]) -> Node:
    return connect([each.url for each in pair], 31337)


def test_the_first_node_that_answers_is_used_and_named(
    pair: tuple[Devnet, Devnet], nobody: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        node = connect([nobody, pair[0].url, pair[1].url], 31337)
    assert node.url == pair[0].url
    assert f"is read from {pair[0].url}" in caplog.text
    assert f"no node answers at {nobody}" in caplog.text
    node.close()


def test_a_node_that_dies_is_left_for_the_next_one(
    pair: tuple[Devnet, Devnet], caplog: pytest.LogCaptureFixture
) -> None:
    node = both(pair)
    sender = Sender(node, pair[0].signer(0))
    sender.send(gift())
    mine(pair[1].node, node.block_number())
    pair[0].close()
    sender.send(gift())
    assert node.url == pair[1].url
    assert f"is read from {pair[1].url}" in caplog.text
    pair[1].close()
    with pytest.raises(NodeError, match=rf"no node of chain 31337 can be used.*{pair[0].url}.*{pair[1].url}"):
        sender.send(gift())
    node.close()


def test_a_node_behind_what_was_seen_is_not_used(
    pair: tuple[Devnet, Devnet], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that is behind would lack a record that was already read."""
    monkeypatch.setattr(failover, "CATCH_UP_SECONDS", 0.0)
    node = both(pair)
    mine(pair[0].node)
    assert node.block_number() == 1
    pair[0].close()
    with pytest.raises(NodeError, match=rf"{pair[1].url} lags: its newest block is 0, and block 1 was seen"):
        node.block_number()
    mine(pair[1].node)
    assert node.block_number() == 1
    node.close()


def test_a_node_that_catches_up_is_waited_for(
    pair: tuple[Devnet, Devnet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failover, "CATCH_UP_SECONDS", 600.0)
    monkeypatch.setattr(failover.time, "sleep", lambda _: mine(pair[1].node))
    node = both(pair)
    mine(pair[0].node, 3)
    assert node.block_number() == 3
    pair[0].close()
    assert node.block_number() >= 3  # each pause mines a block, also one of another wait
    node.close()


def test_a_node_that_no_longer_follows_is_left(
    pair: tuple[Devnet, Devnet], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """When no new block was seen for some time, the nodes are compared."""
    node = both(pair)
    assert node.url == pair[0].url
    mine(pair[1].node, LAG_BLOCKS)
    monkeypatch.setattr(failover, "STILL_SECONDS", 0.0)
    assert (node.block_number(), node.url) == (0, pair[0].url)
    mine(pair[1].node)
    assert (node.block_number(), node.url) == (LAG_BLOCKS + 1, pair[1].url)
    assert f"{pair[0].url} lags: its newest block is 0, and block {LAG_BLOCKS + 1} was seen" in caplog.text
    node.close()


def test_a_node_of_another_chain_is_passed_over(
    pair: tuple[Devnet, Devnet], ganache: Devnet, caplog: pytest.LogCaptureFixture
) -> None:
    node = connect([ganache.url, pair[1].url], 31337)
    assert node.url == pair[1].url
    assert f"{ganache.url} is on chain 1337, but chain 31337 was expected" in caplog.text
    node.close()
    with pytest.raises(NodeError, match=r"no node of chain 31337 can be used.*is on chain 1337"):
        connect([ganache.url, ganache.url], 31337)
