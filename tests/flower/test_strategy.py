# SPDX-License-Identifier: Apache-2.0
"""A `BlockfulStrategy` records a Flower federation, and forgets nodes by running rounds again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from flwr.app import ArrayRecord, ConfigRecord
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAdam, FedAvg, Strategy

from blockful_py.errors import BlockfulError, LearningError, SettingsError, UnlearningError
from blockful_py.flower import BlockfulStrategy, LocalGrid
from blockful_py.forget import Forget
from blockful_py.learning.weights import equal
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.certificates.document import parse_certificate
from blockful_py.record.certificates.verifying import Chains, verify_certificate
from blockful_py.record.proofs.anchors import Anchors
from tests.federations import versions
from tests.flower.toy import changing, empty, honest, poisoned, raising, settings, start

LR = ConfigRecord({"lr": 0.1})


def run(strategy: Strategy, grid: LocalGrid, rounds: int, arrays: ArrayRecord | None = None) -> ArrayRecord:
    """The last aggregate."""
    return strategy.start(grid, arrays or start(), rounds, train_config=ConfigRecord(LR)).arrays


def close(left: ArrayRecord, right: ArrayRecord) -> bool:
    """Equal but for the order in which replies were summed."""
    ours, theirs = left.to_torch_state_dict(), right.to_torch_state_dict()
    counter = ours.pop("batches"), theirs.pop("batches").round()
    pairs = ((ours[name].double(), theirs[name].double()) for name in theirs)
    alike = ours.keys() == theirs.keys() and all(torch.allclose(a, b, atol=1e-5) for a, b in pairs)
    return alike and bool(torch.eq(*counter))


def chains_of(contracts: Contracts) -> Chains:
    return Chains(contracts.live, contracts.committee, contracts.archive)


@pytest.fixture
def recorded(chains: Nodes, tmp_path: Path) -> Iterator[BlockfulStrategy]:
    """A record without models, with room for four nodes."""
    with BlockfulStrategy(FedAvg(), tmp_path / "run", settings(chains, users=5)) as strategy:
        yield strategy


def test_a_round_is_recorded_with_its_lineage_and_a_node_is_forgotten(
    recorded: BlockfulStrategy, chains: Nodes
) -> None:
    grid = LocalGrid(honest(), 4)
    last = run(recorded, grid, 2)
    federation = recorded.federation
    assert close(last, run(FedAvg(), LocalGrid(honest(), 4), 2)), "recording changes no result"
    before = federation.models()
    assert equal(before["round-2"].weights, last.to_torch_state_dict())
    graph = federation.catalogue().graph
    assert graph.references("node-4-round-2") == ("round-1",)
    assert sorted(graph.references("round-1")) == [f"node-{node}-round-1" for node in (2, 3, 4, 5)]
    assert before["round-1"].training.trainer == "flwr.serverapp.strategy.fedavg:FedAvg"
    assert {model.user for name, model in before.items() if name.startswith("round")} == {5}

    forgotten = recorded.unlearn(grid, 3)
    without = LocalGrid(honest(), 4, absent=[3])
    assert close(forgotten.arrays, run(FedAvg(), without, 2)), "as if the node had never been there"
    after = federation.models()
    assert equal(after["node-3-round-1"].weights, before["round-0"].weights)
    assert equal(after["node-3-round-2"].weights, after["round-1"].weights)
    assert versions(federation) == {name: int(name != "round-0") for name in before}
    assert federation.verify().passed and federation.audit().passed
    certificate = parse_certificate(forgotten.certificate.read_bytes())
    assert {each.name for each in certificate.statement.replaced} == before.keys() - {"round-0"}
    outcome = verify_certificate(certificate, Anchors(), chains=chains_of(federation.contracts))
    assert outcome.superseded == {}

    assert recorded.unlearn(grid, 3).unlearned.request == forgotten.unlearned.request, "done is done"
    more = run(recorded, grid, 1, recorded.arrays())
    assert close(more, run(FedAvg(), without, 1, forgotten.arrays))
    assert "node-3-round-3" not in federation.catalogue().models
    again = recorded.unlearn(grid, 2)
    assert close(again.arrays, run(FedAvg(), LocalGrid(honest(), 4, absent=[2, 3]), 3))
    assert federation.verify().passed


@pytest.mark.slow
def test_a_record_is_opened_again_and_forgets_with_a_strategy_that_remembers(
    chains: Nodes, tmp_path: Path
) -> None:
    late = LocalGrid(honest(), 3, absent=[4])
    with BlockfulStrategy(FedAdam(), tmp_path / "run", settings(chains, users=4)) as strategy:
        last = run(strategy, late, 1)
    with BlockfulStrategy(FedAdam(), tmp_path / "run") as strategy:
        assert equal(strategy.arrays().to_torch_state_dict(), last.to_torch_state_dict())
        with pytest.raises(LearningError, match="ends with round-1, but these arrays differ"):
            run(strategy, late, 1)
        run(strategy, LocalGrid(honest(), 3), 1, strategy.arrays())
    with BlockfulStrategy(FedAdam(), tmp_path / "run") as strategy:
        before = versions(strategy.federation)
        forgotten = strategy.unlearn(LocalGrid(honest(), 3), 4, train_config=LR)
        after = versions(strategy.federation)
        assert {name for name in after if after[name] > before[name]} == {
            name for name in before if name.endswith("round-2")
        }, "what came before the node stays"
        assert close(forgotten.arrays, run(FedAdam(), late, 1, last))


@pytest.mark.parametrize(
    ("app", "error"),
    [
        (changing(lambda w: w.flatten()), "have different architectures"),
        (poisoned(), "model node-[23]-round-1 has NaN or infinite values"),
        (empty(), "the reply of node-[23]-round-1 has 0 ArrayRecords"),
    ],
    ids=["shapes", "nan", "empty"],
)
def test_an_unusable_reply_ends_the_round_and_records_nothing(
    recorded: BlockfulStrategy, app: ClientApp, error: str
) -> None:
    with pytest.raises(LearningError, match=error):
        run(recorded, LocalGrid(app, 2), 1)
    assert list(recorded.federation.catalogue().models) == ["round-0"]


def test_a_round_in_which_all_nodes_fail_leaves_the_model_as_it_was(recorded: BlockfulStrategy) -> None:
    run(recorded, LocalGrid(raising(), 2), 1)
    assert list(recorded.federation.catalogue().models) == ["round-0"]
    assert equal(recorded.arrays().to_torch_state_dict(), start().to_torch_state_dict())


@pytest.mark.slow
def test_nothing_is_replaced_unless_every_other_node_trains_again(recorded: BlockfulStrategy) -> None:
    run(recorded, LocalGrid(honest(), 3), 1)
    before = versions(recorded.federation)
    cases: list[tuple[LocalGrid, int, str]] = [
        (LocalGrid(honest(), 3, absent=[4]), 3, r"node 4 did not train round 1 again \(it does not answer\)"),
        (
            LocalGrid(raising(), 3),
            3,
            r"node [24] did not train round 1 again \(.*Error: out of memory\)",
        ),
        (LocalGrid(poisoned(), 3), 3, "node-[24]-round-1 has NaN"),
        (LocalGrid(honest(), 3), 9, "no model of a node 9; nodes with models: 2, 3, 4"),
    ]
    for grid, node, error in cases:
        with pytest.raises(BlockfulError, match=error):
            recorded.unlearn(grid, node)
    assert versions(recorded.federation) == before
    done = recorded.unlearn(LocalGrid(honest(), 3), 3)
    assert set(done.unlearned.affected) == before.keys() - {"round-0"}


def test_a_node_that_was_alone_leaves_the_initial_model(chains: Nodes, tmp_path: Path) -> None:
    alone = FedAvg(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1)
    with BlockfulStrategy(alone, tmp_path / "run", settings(chains, users=3)) as strategy:
        run(strategy, LocalGrid(honest(), 2, absent=[3]), 1)
        run(strategy, LocalGrid(honest(), 2, absent=[3]), 1, strategy.arrays())
        forgotten = strategy.unlearn(LocalGrid(honest(), 2, absent=[3]), 2)
        assert equal(forgotten.arrays.to_torch_state_dict(), start().to_torch_state_dict())


def test_outside_the_server_app_the_run_says_who_can_forget(recorded: BlockfulStrategy) -> None:
    run(recorded, LocalGrid(honest(), 2), 1)
    with pytest.raises(UnlearningError, match="cannot leave out class 1: ask at level client"):
        recorded.federation.unlearn(["node-2-round-1"], [1], "sequential")
    with pytest.raises(LearningError, match=r"call BlockfulStrategy\.unlearn in the ServerApp"):
        recorded.federation.unlearn(["node-2-round-1"], method="retrain_ahead", forget=Forget.of_clients([1]))


def test_more_nodes_than_there_is_room_for_are_refused(chains: Nodes, tmp_path: Path) -> None:
    with (
        BlockfulStrategy(FedAvg(), tmp_path / "run", settings(chains, users=3)) as strategy,
        pytest.raises(SettingsError, match="3 nodes have taken part, but the record has room for 2"),
    ):
        run(strategy, LocalGrid(honest(), 3), 1)


def test_arrays_of_another_network_are_refused(recorded: BlockfulStrategy) -> None:
    with pytest.raises(LearningError, match=r"these weights are not of a 'blockful_py\.flower"):
        run(recorded, LocalGrid(honest(), 2), 1, ArrayRecord({"other": torch.zeros(2)}))


def test_settings_under_which_members_would_refuse_are_refused(chains: Nodes, tmp_path: Path) -> None:
    wary = settings(chains, users=3, committee={"attested": False})
    with pytest.raises(SettingsError, match=r"set committee\.attested=true"):
        BlockfulStrategy(FedAvg(), tmp_path / "run", wary)
    assert not (tmp_path / "run").exists()
