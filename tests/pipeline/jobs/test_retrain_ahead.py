# SPDX-License-Identifier: Apache-2.0
"""Clean models that are stored when models are published take their places when a request comes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from blockful_py.errors import QuorumError, SettingsError
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs import redaction
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.report.runs.single import unlearn_once
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Paradigm
from tests.faults.fuse import PowerCut, fused
from tests.federations import AFFECTED, GRAPH, put_back, readable, small

METHOD = "retrain_ahead"
LINE = {"a", "b", *AFFECTED}
"""Affected models and their ancestors; all hold the class."""


@pytest.fixture(scope="module")
def deployed(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ahead") / "run"
    settings = small(learning={"increments": (3,), "clean_references": True})
    Federation.create(settings, directory, nodes=chains)
    return directory


@pytest.fixture(scope="module")
def federation(deployed: Path, chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """Its training was interrupted, and went on in another process."""
    directory = shutil.copytree(deployed, tmp_path_factory.mktemp("interrupted") / "run")
    with pytest.raises(PowerCut):
        fused(directory, chains, sending=4).train()
    federation = Federation.open(directory, nodes=chains)
    federation.train()
    return federation


def clean_models(federation: Federation) -> dict[str, Weights]:
    """Those that current versions name."""
    return {
        name: federation.weights.read(parse_cid(each.weights))
        for name, placed in federation.catalogue().models.items()
        for each in placed.node.increments
    }


@pytest.mark.parametrize("paradigm", ["parallel", "sequential"])
def test_a_request_trains_nothing(federation: Federation, paradigm: str) -> None:
    kept, scores = clean_models(federation), scores_of(federation)
    assert kept.keys() == GRAPH.keys() and None not in scores.values()
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        found = federation.unlearn(method=METHOD, paradigm=paradigm)
        models, after = federation.models(), scores_of(federation)
        assert federation.verify().passed
    (federation.run.path / "request.json").unlink(missing_ok=True)
    assert all(equal(models[name].weights, kept[name]) for name in AFFECTED)
    assert found.increments is not None and found.cost is not None
    assert set(found.increments.stored) == LINE
    assert (found.increments.made, found.unusable) == ((), {})
    assert (found.cost.passes, found.cost.critical_path) == (0, 0)
    assert found.cost.prepared > 0
    # The accuracy of a reference that knew the class stands in no current statement.
    replaced = {(name, of) for name, of in scores if name in AFFECTED and of in AFFECTED}
    assert replaced and after == scores | dict.fromkeys(replaced)


def test_members_refuse_a_statement_that_keeps_these_scores(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "renewed_references", lambda statement, *_: statement.references)
    refused = pytest.raises(QuorumError, match="states accuracies of references that are replaced")
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive), refused:
        federation.unlearn(method=METHOD)


def scores_of(federation: Federation) -> dict[tuple[str, str], float | None]:
    """Accuracies of references in the owners' statements, by model and reference."""
    return {
        (name, each.name): each.accuracy
        for name, placed in federation.catalogue().models.items()
        for each in placed.node.statement.references
    }


def test_a_clean_model_that_is_gone_is_made_again(federation: Federation) -> None:
    kept = clean_models(federation)
    uri = next(parse_cid(each.weights) for each in federation.catalogue()["x"].node.increments)
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        federation.stores.live.delete(uri)
        found = federation.unlearn(method=METHOD)
        models = federation.models()
    assert found.increments is not None
    assert found.increments.made == ("x",)
    assert found.unusable.keys() == {"x"}
    assert all(equal(models[name].weights, kept[name]) for name in AFFECTED)


def test_references_are_summed_in_the_order_of_the_chain(chains: Nodes, tmp_path: Path) -> None:
    """Three references give other bits in another order, and so another base."""
    graph = {"a": (), "b": (), "s": (), "y": ("s", "a", "b")}
    settings = small(
        federation={"graph": graph, "users": 4},
        learning={"increments": (3,), "clean_references": True},
        unlearning={"starts": ("y",)},
    )
    with Federation.create(settings, tmp_path / "run", nodes=chains) as federation:
        federation.train()
        found = federation.unlearn(method=METHOD)
    assert found.increments is not None and (found.increments.made, found.unusable) == ((), {})


def test_the_report_names_the_method_that_was_asked_for(federation: Federation) -> None:
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        report = unlearn_once(federation, None, None, Paradigm.PARALLEL, METHOD, Silent()).report
        assert report is not None
    method, passes = report.method.parallel, report.passes.parallel
    assert method is not None and passes is not None
    assert (method.name, method.settings) == (METHOD, {})
    assert set(passes.stored) == LINE
    assert federation.settings.unlearning.parallel != METHOD


def test_clean_references_belong_to_increments() -> None:
    with pytest.raises(
        SettingsError, match=r"only changes the start of learning.increments: name classes there"
    ):
        small(learning={"clean_references": True})
