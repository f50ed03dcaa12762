# SPDX-License-Identifier: Apache-2.0
"""A refused transaction in the middle of a decision: the rest waits, readable, and continues later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.chain.calls import Call
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.engine.jobs import JobState
from blockful_py.errors import ContractError, RunError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Paradigm
from tests.faults.fuse import Sent, fused
from tests.faults.ground import Ground
from tests.faults.states import State, assert_archived_before_replaced
from tests.federations import AFFECTED, GRAPH, small, versions

SETTINGS = small(chain={"packaging_interval": 0, "chunk_models": 2})
"""Two archive chunks and two live ones for s and t, x and y."""


class RefusedLive(LiveChainContract):
    """A live chain whose transactions after the first `good` carry a wrong Merkle path."""

    good: int

    def send_each(self, calls: Sequence[Call]) -> Sent:
        sent = super().send_each([*calls[: self.good], *map(damaged, calls[self.good :])])
        self.good = max(0, self.good - len(calls))
        return sent


def damaged(call: Call) -> Call:
    return replace(call, data=call.data[:-1] + bytes([call.data[-1] ^ 1]))


@pytest.fixture(scope="module")
def ground(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground.lay(SETTINGS, tmp_path_factory.mktemp("refused"), chains)


@pytest.fixture
def run(ground: Ground, tmp_path: Path) -> Iterator[Path]:
    with ground.copied(tmp_path / "run") as copy:
        yield copy


def refusing(run: Path, nodes: Nodes, good: int) -> Federation:
    """The federation of a run whose transactions to the live chain are refused after the first `good`."""
    federation = fused(run, nodes)
    contracts = federation.contracts
    live = RefusedLive(nodes.live, contracts.live.address, nodes.live_sender)
    live.good = good
    federation.contracts = replace(contracts, live=live)
    return federation


def test_the_rest_waits_readable_and_goes_on(ground: Ground, run: Path) -> None:
    with pytest.raises(ContractError, match="LiveChain refused"):
        refusing(run, ground.nodes, good=1).unlearn()
    federation = fused(run, ground.nodes)
    assert versions(federation) == dict.fromkeys(GRAPH, 0) | {"s": 1, "t": 1}
    assert federation.models().keys() == GRAPH.keys()
    assert_archived_before_replaced(federation)
    found = federation.verify()
    assert ({failure.check for failure in found.failures}, len(found.pending)) == ({"settled"}, 1)
    assert jobs_of(federation.run)[-1].state is JobState.OPEN
    with pytest.raises(RunError, match="is unfinished"):
        federation.unlearn(classes=[4])
    assert federation.unlearn().nodes.keys() == set(AFFECTED)
    assert State.of(federation) == ground.undisturbed[Paradigm.PARALLEL]


def test_what_is_refused_again_waits_on(ground: Ground, run: Path) -> None:
    """Another decision could not replace x and y without the starts."""
    with pytest.raises(ContractError, match="LiveChain refused"):
        refusing(run, ground.nodes, good=1).unlearn()
    again = refusing(run, ground.nodes, good=0)
    assert "transaction 2 of 2 to the live chain was refused, and waits" in (again.settle() or "")
    with pytest.raises(RunError, match=r"refuses the next of 1 transaction.*resume"):
        again.unlearn()
    assert fused(run, ground.nodes).unlearn().nodes.keys() == set(AFFECTED)
    assert State.of(fused(run, ground.nodes)) == ground.undisturbed[Paradigm.PARALLEL]
