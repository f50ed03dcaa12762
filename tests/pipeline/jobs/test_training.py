# SPDX-License-Identifier: Apache-2.0
"""A wave is on its way to the chains while the next one is trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

from blockful_py.errors import LearningError
from blockful_py.learning.federation import TrainedModel, Wave, train_federation
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import GRAPH, put_back, small

SECONDS = 60.0
WAVES = "blockful_py.pipeline.jobs.training.train_federation"


@pytest.fixture
def federation(chains: Nodes, tmp_path: Path) -> Iterator[Federation]:
    with (
        put_back(chains.live, chains.archive),
        Federation.create(small(), tmp_path / "run", nodes=chains) as made,
    ):
        yield made


def test_the_next_wave_is_trained_meanwhile(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, publish = Semaphore(0), Publisher.publish

    def watched(*arguments: Any) -> Iterator[Wave]:
        for wave in train_federation(*arguments):
            yield wave
            asked.release()

    def late(publisher: Publisher, models: Sequence[TrainedModel], *rest: Any) -> Any:
        assert asked.acquire(timeout=SECONDS), "the next wave was not asked for"
        return publish(publisher, models, *rest)

    monkeypatch.setattr(WAVES, watched)
    monkeypatch.setattr(Publisher, "publish", late)
    federation.train()
    assert federation.catalogue().models.keys() == GRAPH.keys()
    assert federation.verify().passed


def test_a_wave_on_its_way_arrives_where_the_next_cannot_be_trained(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: Any) -> Iterator[Wave]:
        yield next(train_federation(*arguments))
        raise LearningError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(WAVES, failing)
        with pytest.raises(LearningError, match="no more"):
            federation.train()
    roots = {name for name, references in GRAPH.items() if not references}
    assert federation.catalogue().models.keys() == roots
    federation.train()
    assert federation.catalogue().models.keys() == GRAPH.keys()
    assert federation.verify().passed
