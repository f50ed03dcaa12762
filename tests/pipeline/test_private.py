# SPDX-License-Identifier: Apache-2.0
"""A federation that trains with differential privacy, from its settings to the display of its models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.learning.privacy import epsilon_of
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.cli.commands import Outcome, blockful
from tests.federations import GRAPH, STARTS, TOML, UNTOUCHED, on, small

NOISE = {"noise": 1.0, "clip": 0.5, "delta": 1e-4}
RUN = ("--run", "mine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("private")
    (folder / "small.toml").write_text(TOML)
    return folder


@pytest.fixture(scope="module")
def shown(folder: Path, chains: Nodes) -> tuple[Outcome, Outcome]:
    """What `train` and `graph` print."""
    noise = [f"learning.privacy.{name}={value}" for name, value in NOISE.items()]
    sets = [word for each in (*noise, *on(chains)) for word in ("--set", each)]
    return blockful(folder, "train", "small.toml", *RUN, *sets), blockful(folder, "graph", *RUN, "--json")


@pytest.fixture(scope="module")
def private(folder: Path, shown: tuple[Outcome, Outcome]) -> Iterator[Federation]:
    with Federation.open(folder / "mine") as federation:
        yield federation


def test_every_node_says_what_its_training_spent(private: Federation) -> None:
    for name, placed in private.catalogue().models.items():
        privacy = placed.node.statement.privacy
        user = private.setup.users[placed.node.statement.user - 1]
        assert privacy is not None, name
        assert (privacy.noise, privacy.clip, privacy.delta) == (1.0, 0.5, 1e-4)
        assert privacy.sample_rate == 32 / len(user.train)
        assert privacy.epsilon == epsilon_of(1.0, privacy.sample_rate, privacy.steps, 1e-4) > 0
    assert private.verify().passed
    assert private.models()["s"].training == private.setup.federation.training


def test_commands_show_what_was_spent(private: Federation, shown: tuple[Outcome, Outcome]) -> None:
    trained, graph = shown
    assert trained.out.count("δ 0.0001") == len(GRAPH), trained.err
    privacy = private.catalogue()["s"].node.statement.privacy
    assert privacy is not None
    assert graph.document["models"]["s"]["privacy"] == {"epsilon": privacy.epsilon, "delta": 1e-4}


def test_owners_of_starts_spend_again_when_they_retrain(private: Federation) -> None:
    before = {name: placed.node.statement for name, placed in private.catalogue().models.items()}
    private.unlearn()
    for name, placed in private.catalogue().models.items():
        now, then = placed.node.statement.privacy, before[name].privacy
        assert now is not None and then is not None
        retained = private.setup.users[before[name].user - 1].train.without((3,))
        if name in STARTS:
            assert now.sample_rate == 32 / len(retained) > then.sample_rate
        elif name in UNTOUCHED:
            assert now == then
    assert private.verify().passed


def test_the_settings_come_back() -> None:
    settings = small(learning={"privacy": NOISE})
    assert type(settings).parse(json.loads(json.dumps(settings.to_json()))) == settings
    assert settings.learning.privacy is not None
    assert settings.learning.privacy.clip == 0.5
