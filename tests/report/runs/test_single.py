# SPDX-License-Identifier: Apache-2.0
"""The report of one request has its own time, its own columns, and the figure that tells something."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.forget import Forget
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.report.runs.figures import membership
from blockful_py.report.runs.single import unlearn_once
from blockful_py.report.schema import Report
from blockful_py.report.summary import headline
from blockful_py.types import Paradigm
from tests.federations import AFFECTED, GRAPH, small, trained

CLIENT = Forget.of_clients([3])


@pytest.fixture(scope="module")
def federation(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return trained(small(), tmp_path_factory.mktemp("single") / "run", chains)


@pytest.fixture(scope="module")
def report(federation: Federation) -> Report:
    weights = {name: model.weights for name, model in federation.models().items()}
    before = membership(federation.setup, weights, CLIENT)
    found = unlearn_once(federation, ["s"], CLIENT, Paradigm.PARALLEL, None, Silent())
    assert found.problem is None
    assert found.report is not None
    assert {m.name: m.before.membership_auc for m in found.report.models} == pytest.approx(before)
    return found.report


def test_all_of_it_took_longer_than_its_stages(report: Report, federation: Federation) -> None:
    seconds = report.seconds
    assert seconds.total >= sum(seconds.parallel.values()) > 0
    assert f"{seconds.total:.1f} in all" in (federation.run.path / "report.html").read_text()


def test_what_another_command_did_is_not_on_the_page(report: Report, federation: Federation) -> None:
    page = (federation.run.path / "report.html").read_text()
    assert report.gas.publication.total == 0
    assert "publication of" not in page
    assert ">sequential<" not in page


def test_a_client_request_measures_membership(report: Report, federation: Federation) -> None:
    assert {model.name for model in report.models if model.affected} == set(AFFECTED) - {"t"}
    for model in report.models:
        assert model.before.membership_auc is not None
        assert 0 <= model.before.membership_auc <= 1
        assert (model.parallel is not None) == model.affected
    assert headline(report).startswith("Client 3 was unlearned from 3 models: membership AUC of s went from ")


def test_a_class_request_does_not(federation: Federation) -> None:
    nothing = membership(federation.setup, {}, Forget.of_classes([3]))
    assert nothing == {}
    weights = {name: model.weights for name, model in federation.models().items()}
    assert membership(federation.setup, weights, Forget.of_classes([3])) == dict.fromkeys(GRAPH)


def test_the_certificates_page_marks_the_clock_of_a_development_chain(
    report: Report, federation: Federation
) -> None:
    (document,) = report.certificates.values()
    page = Path(federation.run.path / document).with_suffix(".html").read_text()
    assert page.count("UTC (development clock)") == page.count(" UTC") == 4
    assert "is a development chain: whoever runs it sets its clock" in page
