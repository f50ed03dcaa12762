# SPDX-License-Identifier: Apache-2.0
"""A service's last view of its chains: heads and epoch, their age, and the correctness of its clock."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from blockful_py.errors import NodeError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run import chain_looks
from blockful_py.pipeline.run.chain_looks import AHEAD_SECONDS, LOOK_SECONDS, STALE_SECONDS, ChainLooks
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import small


@pytest.fixture(scope="module")
def contracts(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Contracts]:
    with Federation.create(small(), tmp_path_factory.mktemp("looks") / "run", nodes=chains) as federation:
        yield federation.contracts


def test_a_look_shows_the_heads_and_the_epoch(contracts: Contracts) -> None:
    registry, at = CollectorRegistry(), [100.0]
    looks = ChainLooks(registry, lambda: at[0])
    assert looks.is_due
    assert looks.reached() == "its chains have not answered yet"
    looks.look(contracts)
    for name, node in (("live", contracts.live.node), ("archive", contracts.archive.node)):
        head = registry.get_sample_value("blockful_chain_head_block", {"chain": name})
        assert head == node.block_number()
        assert (
            registry.get_sample_value("blockful_chain_head_timestamp_seconds", {"chain": name})
            == node.timestamp()
        )
    assert looks.epoch == registry.get_sample_value("blockful_epoch") == contracts.committee.current_epoch()
    assert not looks.is_due
    assert looks.reached() is None
    at[0] += LOOK_SECONDS
    assert looks.is_due


def test_chains_that_do_not_answer_count_as_not_reached_after_a_while(
    contracts: Contracts, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [0.0]
    looks = ChainLooks(CollectorRegistry(), lambda: at[0])
    looks.look(contracts)

    def gone() -> None:
        raise NodeError("no node answers")

    monkeypatch.setattr(contracts.live.node, "latest_block", gone)
    at[0] = STALE_SECONDS
    with pytest.raises(NodeError):
        looks.look(contracts)
    assert looks.reached() is None
    at[0] += 1
    assert looks.reached() == "its chains have not answered for 61 s"


@pytest.mark.parametrize(
    ("behind", "wrong"), [(AHEAD_SECONDS, False), (AHEAD_SECONDS + 1, True), (-3600, False)]
)
def test_a_block_ahead_of_the_clock_shows_that_the_clock_is_wrong(
    contracts: Contracts, monkeypatch: pytest.MonkeyPatch, behind: int, wrong: bool
) -> None:
    newest = max(contracts.live.node.timestamp(), contracts.archive.node.timestamp())
    looks = ChainLooks(CollectorRegistry(), clock=lambda: newest - behind)
    looks.look(contracts)
    assert looks.clock_is_right() is None  # of development chains nothing follows
    monkeypatch.setattr(chain_looks, "DEVELOPMENT_CHAINS", frozenset())
    looks.look(contracts)
    assert (looks.clock_is_right() is not None) is wrong
