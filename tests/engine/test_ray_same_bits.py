# SPDX-License-Identifier: Apache-2.0
"""The paper's scenario and 200 models get the same bits on a Ray cluster as in this process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from blockful_py.engine.jobs import Act
from blockful_py.pipeline.federation import Federation
from blockful_py.settings import Settings
from tests.engine.clusters import Cluster
from tests.federations import weights

WAVES = [range(1, 3), range(3, 53), range(53, 103), range(103, 153), range(153, 201)]


def layered() -> dict[str, tuple[str, ...]]:
    """200 models in five waves, each with two references in the wave before."""
    graph: dict[str, tuple[str, ...]] = {f"r{i}": () for i in WAVES[0]}
    for before, wave in pairwise(WAVES):
        for i in wave:
            named = {before[(i + step) % len(before)] for step in (0, 1)}
            graph[f"r{i}"] = tuple(f"r{each}" for each in sorted(named))
    return graph


LAYERED = {"scenario": "scripted", "situation": "all_hold", "users": 200, "graph": layered()}
FEDERATIONS: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "paper14": ({}, ("r5", "r7"), ("r5", "r7")),
    "200 models": (LAYERED, ("r1",), ("r150",)),
}
"""Settings of the federation, and the starts of a parallel and of a sequential request."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("ray")
    with Cluster(tmp_path_factory.mktemp("ray")) as running:
        yield running


@pytest.mark.processes
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", FEDERATIONS)
def test_a_federation_on_two_nodes(name: str, cluster: Cluster, tmp_path: Path) -> None:
    here, there = (
        trained_and_unlearned(*FEDERATIONS[name], engine, tmp_path / engine["kind"])
        for engine in ({"kind": "here"}, {"kind": "ray", "address": cluster.address})
    )
    assert here == there


def trained_and_unlearned(
    federation: dict[str, Any],
    parallel: tuple[str, ...],
    sequential: tuple[str, ...],
    engine: dict[str, Any],
    folder: Path,
) -> Any:
    """CIDs of the weights after training, after a parallel request, and after a sequential one."""
    settings = Settings.parse(
        {
            "federation": federation,
            "learning": {"epochs": 2},
            "unlearning": {"starts": parallel, "classes": (3,)},
            "engine": engine,
            "chain": {"packaging_interval": 0, "devnet": "embedded"},
        }
    )
    with Federation.create(settings, folder) as run:
        run.train()
        trained = weights(run)
        run.unlearn(paradigm="parallel", method="clean_increments")
        unlearned = weights(run)
        run.unlearn(sequential, (8,), "sequential", "retrain")
        assert run.verify().passed
        tasks = [step for job in run.context.journal.jobs() for step in job.steps]
        assert any(step.act is Act.COMPUTE for step in tasks) == (engine["kind"] == "ray")
        return trained, unlearned, weights(run)
