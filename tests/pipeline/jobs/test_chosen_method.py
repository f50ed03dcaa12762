# SPDX-License-Identifier: Apache-2.0
"""The method that a run chooses for a request, and its description in the report."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from blockful_py.forget import Forget
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.requesting import circumstances_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.report.html import render_html
from blockful_py.report.runs.single import unlearn_once
from blockful_py.report.summary import caveat
from blockful_py.types import Paradigm
from tests.federations import STARTS, put_back, readable, small

AUTO = {"parallel": "auto", "sequential": "auto"}


@pytest.fixture(scope="module")
def federation(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    directory: Path = tmp_path_factory.mktemp("chosen") / "run"
    federation = Federation.create(small(unlearning=AUTO), directory, nodes=chains)
    federation.train()
    return federation


def test_a_class_is_forgotten_exactly(federation: Federation) -> None:
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        done = unlearn_once(federation, None, None, Paradigm.SEQUENTIAL, None, Silent())
        again = unlearn_once(federation, None, None, Paradigm.SEQUENTIAL, None, Silent())
    assert done.report is not None and again.report is not None
    assert again.repeated and not done.repeated
    method = done.report.method.sequential
    assert method is not None and again.report.method.sequential == method
    assert method.name == "retrain_ahead"
    assert "exact" in str(method.reason)
    assert method.caveat is None


def test_a_named_method_that_leaves_teachers_is_warned_of(federation: Federation) -> None:
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        report = unlearn_once(federation, None, None, Paradigm.PARALLEL, "gradient_ascent", Silent()).report
    assert report is not None and report.method.parallel is not None
    assert report.method.parallel.reason is None
    said = caveat(report, Paradigm.PARALLEL)
    assert "teach it again" in str(said)
    assert f"Warning, parallel: {said}." in render_html(report)


def test_a_root_whose_client_leaves_is_named_before_the_request(federation: Federation) -> None:
    context, catalogue = federation.context, federation.catalogue()
    user = {name: catalogue[name].node.statement.user for name in ("a", "s")}
    for name, emptied in (("a", ("a",)), ("s", ())):
        found = circumstances_of(
            context, catalogue, [name], Forget.of_clients([user[name]]), Paradigm.PARALLEL
        )
        assert found.emptied == emptied
    of_class = circumstances_of(context, catalogue, ["a"], Forget.of_classes([3]), Paradigm.PARALLEL)
    assert of_class.emptied == ()


def test_copies_that_stay_are_said(chains: Nodes, tmp_path: Path) -> None:
    """Remaining copies are named in the preview of a request and in its report."""
    federation = Federation.create(
        small(unlearning=AUTO, committee={"attested": True}), tmp_path / "run", nodes=chains
    )
    federation.train()
    start = federation.catalogue()["s"].node.statement.user
    other = next(user for user in federation.setup.users if user.index != start)
    other.train.x[7] = federation.setup.user(start).train.x[2]
    forget = Forget.of_samples([(start, 2)])
    asked = federation.draft_request(("s",), forget, Paradigm.PARALLEL).request
    left = f"copies of forgotten samples stay, as {other.index}:7 (user:row)"
    assert left in str(federation.advice(asked).caveat)
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        report = unlearn_once(federation, ("s",), forget, Paradigm.PARALLEL, None, Silent()).report
    assert report is not None and left in str(caveat(report, Paradigm.PARALLEL))


def test_a_request_after_another_one_takes_a_method_of_its_own(federation: Federation) -> None:
    """Retraining, which the newest request took, cannot be written in the parallel paradigm."""
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        federation.unlearn(paradigm=Paradigm.SEQUENTIAL, method="retrain")
        assert federation.completed(federation.drafted(paradigm=Paradigm.PARALLEL)) is None
        found = federation.unlearn(paradigm=Paradigm.PARALLEL)
    assert found.request.method.startswith("retrain_ahead")


def test_a_line_takes_data_past_the_graph(federation: Federation) -> None:
    client = Forget.of_clients([federation.catalogue()["x"].node.statement.user])

    def past_graph(*starts: str) -> bool:
        context = federation.context
        return circumstances_of(context, federation.catalogue(), starts, client, Paradigm.PARALLEL).past_graph

    assert not past_graph("x")
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        federation.unlearn(("a",), method="clean_line")
        assert past_graph("x")  # a and s, whose heir it is, were made by the line
        assert not past_graph("a")


def test_the_situation_follows_the_request(federation: Federation) -> None:
    context, catalogue = federation.context, federation.catalogue()

    def situation(starts: tuple[str, ...], forget: Forget) -> object:
        return circumstances_of(context, catalogue, starts, forget, Paradigm.PARALLEL).taught_outside

    assert situation(STARTS, Forget.of_classes([3])) is True
    assert situation(("a", "b"), Forget.of_classes([3])) is False
    assert situation(("a",), Forget.of_clients([1])) is False
    assert situation(("s",), Forget.of_clients([1])) is True
    assert situation(("s",), Forget.of_samples([(3, 10_000)])) is False


def test_a_party_is_warned_of_teachers_only_where_ancestors_stay(federation: Federation) -> None:
    """It does not know who holds the class; the graph alone says that nobody is left to teach it."""
    run = SimpleNamespace(settings=federation.settings, party=object())
    party = cast(FederationContext, SimpleNamespace(run=run, setup=federation.setup))

    def situation(*starts: str) -> object:
        asked = circumstances_of(
            party, federation.catalogue(), starts, Forget.of_classes([3]), Paradigm.SEQUENTIAL
        )
        return asked.taught_outside

    assert situation(*STARTS) is None
    assert situation("a", "b") is False
