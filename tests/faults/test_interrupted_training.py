# SPDX-License-Identifier: Apache-2.0
"""Interrupted training continues to the same models at the same places."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.faults.fuse import PowerCut, fused
from tests.faults.ground import promised_and_put_back
from tests.federations import GRAPH, promised, put_back, small

WAVES = 4


def published(federation: Federation) -> dict[str, tuple[str, str, str]]:
    """Position, node and weights of every model."""
    return {
        name: (str(placed.position), placed.uri.digest.hex(), placed.node.statement.weights)
        for name, placed in federation.catalogue().models.items()
    }


@pytest.fixture(scope="module")
def deployed(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("training") / "run"
    Federation.create(small(), directory, nodes=chains)
    return directory


@pytest.fixture(scope="module")
def undisturbed(deployed: Path, chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    copy = shutil.copytree(deployed, tmp_path_factory.mktemp("undisturbed") / "run")
    with put_back(chains.live, chains.archive):
        federation = fused(copy, chains)
        assert len(federation.train()) == 2 * WAVES
        return published(federation)


@pytest.mark.parametrize("moment", [{"sending": 4}, {"adding": 7}], ids=str)
def test_training_goes_on_to_the_same_models(
    deployed: Path, undisturbed: dict[str, object], chains: Nodes, tmp_path: Path, moment: dict[str, int]
) -> None:
    copy = shutil.copytree(deployed, tmp_path / "run")
    with promised_and_put_back(copy, chains):
        with pytest.raises(PowerCut):
            fused(copy, chains, **moment).train()
        federation = Federation.open(copy, nodes=chains)
        federation.train()
        assert published(federation) == undisturbed
        assert federation.contracts.live.height() == WAVES
        assert federation.contracts.archive.length() == len(GRAPH)
        assert len(list(federation.stores.live)) == 2 * len(GRAPH)
        assert federation.verify().passed
        assert federation.audit().passed
        promised(federation.contracts)
