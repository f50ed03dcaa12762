# SPDX-License-Identifier: Apache-2.0
"""Real requests on two embedded chains, and their files for a rerun."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from blockful_lab.experiments.scale.real import ModelChains, RealRun, class_to_forget, measure, plan
from blockful_lab.simulation.constants import Constants
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.partitions import Division, partition
from blockful_py.pipeline.federation import Federation
from blockful_py.settings import FederationSettings

CONSTANTS = Constants.load()
WANTED = plan(2, 0, 0)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[RealRun]]:
    folder = tmp_path_factory.mktemp("real")
    return folder, measure(WANTED, CONSTANTS, folder, "embedded")


def test_starts_and_graph_are_chains() -> None:
    chains = ModelChains(2, 3)
    assert chains.graph == {"r1": (), "r2": ("r1",), "r3": ("r2",), "r4": (), "r5": ("r4",), "r6": ("r5",)}
    assert chains.starts(2, 1) == ["r3", "r6"]
    assert chains.starts(1, 3) == ["r1"]


def test_a_plan_has_what_was_asked_for() -> None:
    assert plan(0, 0, 0) == ()
    assert [(each.mode, each.requests) for each in plan(1_000, 16, 0)] == [
        *(("parallel", count) for count in (125, 250, 500, 1_000)),
        *(("sequential", count) for count in (2, 4, 8, 16)),
    ]
    assert {each.chains.models for each in plan(1_000, 16, 0)} == {2_000}
    assert {(each.chains, each.x) for each in plan(0, 0, 2)} == {
        (ModelChains(2, 8), depth) for depth in (1, 2, 4, 5, 6, 8)
    }


def test_each_request_forgets_a_class_that_somebody_holds() -> None:
    dataset = load_dataset("digits", 0, torch.device("cpu"))
    users = partition(dataset, Division(FederationSettings(users=2), (1,), (0,)), 0)
    few = [replace(user, train=user.train.without([1, 3, 4, 6, 7, 8, 9])) for user in users]
    assert [class_to_forget(few, before) for before in range(4)] == [0, 2, 5, 0]


def test_counts_are_those_of_the_formula(measured: tuple[Path, list[RealRun]]) -> None:
    _, runs = measured
    assert [run.models for run in runs] == [2, 4]
    for run in runs:
        assert run.counted == run.formula
        lacking = 1  # the first user of both requests lacks the second one's class, and its model stays
        assert run.counted["ch_transactions"] == run.models - (lacking if run is runs[1] else 0)
        assert run.counted["consensus"] == 1
        assert run.processor > 0 and run.joules["processor"] > 0
        assert run.simulated > 0
    assert runs[1].gas["live"] > runs[0].gas["live"]


def test_points_are_drawn_beside_their_simulation(measured: tuple[Path, list[RealRun]]) -> None:
    _, runs = measured
    real, simulated = runs[1].points()
    assert (real.panels, real.x, real.kind, simulated.kind) == ("cd", 2, "real", "simulated laboratory")
    assert real.throughput.mean == pytest.approx(2 / runs[1].seconds)
    one_after_the_other = replace(runs[1], paradigm="sequential").points()[0]
    assert one_after_the_other.latency.mean == pytest.approx(0.75 * runs[1].seconds)


def test_a_rerun_carries_nothing_out_again(measured: tuple[Path, list[RealRun]]) -> None:
    folder, runs = measured
    again = measure(WANTED, CONSTANTS, folder, "embedded")
    assert again == runs


def test_what_is_missing_is_measured_on_the_same_federation(measured: tuple[Path, list[RealRun]]) -> None:
    folder, runs = measured
    (folder / "real" / "2x2" / "parallel-1x2.json").unlink()
    again = measure(WANTED, CONSTANTS, folder, "embedded")
    assert again[1] == runs[1]
    assert again[0].counted == runs[0].counted
    with Federation.open(folder / "real" / "2x2" / "run") as federation:
        assert federation.catalogue()["r1"].version == 3
        assert federation.verify().passed
