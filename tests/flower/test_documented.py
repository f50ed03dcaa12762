# SPDX-License-Identifier: Apache-2.0
"""The code of docs/how-to/use-flower.md works with an app of the quickstart's modules and functions."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flwr.app import Context, RecordDict

from blockful_py.flower import LocalGrid
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.weights import equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.cli.commands import blockful
from tests.flower.toy import urls

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "tests" / "flower" / "quickstart"
PAGE = (ROOT / "docs" / "how-to" / "use-flower.md").read_text(encoding="utf-8")
CHANGED_LINES = 5
"""Lines of a ServerApp that a Flower user changes for a record, unlearning and certificates."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chains: Nodes) -> Iterator[Path]:
    """A folder with the documented files, on the import path beside the app."""
    for text in (*blocks("python"), *blocks("toml")):
        name = re.match(r"# (\w+\.(py|toml))\n", text)
        if name is not None:
            own = "".join(f'{key} = "{url}"\n' for key, url in urls(chains).items())
            (tmp_path / name[1]).write_text(text + (own if name[2] == "toml" else ""), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(APP))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for module in list(sys.modules):
        if module in ("public", "participants") or module.partition(".")[0] == "pytorchexample":
            sys.modules.pop(module)


def changed(source: str) -> str:
    """The ServerApp with the documented lines."""
    (diff,) = blocks("diff")
    lines = diff.splitlines()
    (imported,) = [line[1:] for line in lines if line.startswith("+from")]
    (old,) = [line[1:] for line in lines if line.startswith("-")]
    (new,) = [line[1:] for line in lines if line.startswith("+ ")]
    assert source.count(old) == 1, "the documented line is the app's own"
    first = next(line for line in source.splitlines() if line.startswith("from "))
    return source.replace(old, new).replace(first, f"{imported}\n{first}", 1)


def forgetting() -> str:
    (text,) = [each for each in blocks("python") if "strategy.unlearn" in each]
    return text


def test_a_recorded_federation_takes_five_lines() -> None:
    (diff,) = blocks("diff")
    added = [line for line in (*diff.splitlines(), *forgetting().splitlines()) if not line.startswith("-")]
    assert len(added) <= CHANGED_LINES


@pytest.mark.slow
def test_the_documented_federation_is_recorded_and_forgets(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytorchexample.client_app import app

    config = {"batch-size": 32, "local-epochs": 1, "learning-rate": 0.1, "fraction-evaluate": 0.5}
    config["num-server-rounds"] = 2
    grid = LocalGrid(app, 3, config)
    server = {"__name__": "changed_server_app"}
    exec(changed((APP / "pytorchexample" / "server_app.py").read_text()), server)  # noqa: S102
    context = Context(1, 1, {}, RecordDict(), config)
    server["app"](grid, context)
    with Federation.open("runs/flower") as federation:
        before = federation.models()

    names = {**server, "grid": grid, "node_id": 3, "lr": 0.1}
    exec(forgetting(), names)  # noqa: S102
    forgotten = names["forgotten"]
    with Federation.open("runs/flower") as federation:
        after = federation.models()
        assert federation.verify().passed and federation.audit().passed
    assert equal(after["node-3-round-2"].weights, after["round-1"].weights)
    assert not equal(after["round-2"].weights, before["round-2"].weights)
    assert equal(after["round-2"].weights, forgotten.arrays.to_torch_state_dict())
    (command,) = [each for each in blocks("sh") if "certificate" in each]
    words = command.replace('"$CERTIFICATE"', str(forgotten.certificate)).split()
    outcome = blockful(project, *words[1:])
    assert outcome.status == 0, outcome.err
    assert "the certificate holds: 8 models, client" in outcome.out


@pytest.mark.slow
def test_the_documented_participants_train_and_forget(project: Path) -> None:
    (text,) = [each for each in blocks("python") if "Federation.create" in each]
    names: dict[str, object] = {}
    exec(text, names)  # noqa: S102
    done = names["done"]
    with Federation.open("runs/participants") as federation:
        models = federation.models()
        assert federation.verify().passed and federation.audit().passed
        assert len(models) == 10
        assert done.affected[0] == "r2"
        assert equal(models["r2"].weights, initial_weights(federation.setup.federation))
    assert str(names["certificate"].statement.request.forget) == "client 2"
