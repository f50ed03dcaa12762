# SPDX-License-Identifier: Apache-2.0
"""A method of one's own by import path, from a request to its certificate, where the run's owner names it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.engine.jobs import JobState
from blockful_py.errors import QuorumError, SettingsError, UnlearningError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs import requesting
from blockful_py.pipeline.jobs.requesting import sign_request
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.review.methods import parse_method
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.shown import checked_by_members
from blockful_py.report.runs.single import unlearn_once
from blockful_py.types import Checked, Paradigm
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.retrain import Retrain
from tests.cli.commands import blockful_process
from tests.federations import AFFECTED, small, trained

ADDING = Path(__file__).parents[2] / "docs" / "how-to" / "add-models-data-and-methods.md"
(EXAMPLE,) = re.findall(r"```python\n(# start_over\.py\n.*?)```", ADDING.read_text(encoding="utf-8"), re.S)
OWN = "start_over:StartOver"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of this process alone, with the documented method."""
    place = tmp_path / "code of my own"
    place.mkdir()
    (place / "start_over.py").write_text(EXAMPLE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(place))
    yield place
    sys.modules.pop("start_over", None)


def test_a_run_whose_owner_names_a_method_forgets_by_it(folder: Path, chains: Nodes, tmp_path: Path) -> None:
    with trained(small(), tmp_path / "run", chains) as federation:
        finished = unlearn_once(federation, None, None, Paradigm.PARALLEL, OWN, Silent())
        report = finished.report
        assert report is not None
        assert not report.verification.failed
        method = report.method.parallel
        assert method is not None
        assert (method.name, method.checked) == (OWN, Checked.MEASURED)
        redactions = [federation.catalogue()[name].node.redaction for name in AFFECTED]
        (key,) = {each.request.method for each in redactions if each}
        assert key == f"{OWN} {{}}"
        assert federation.settings.run.allow == (OWN,)
        request = next(each.request for each in redactions if each)
        certificate = federation.certify_erasure(request)
        check_certificate(certificate)
        assert checked_by_members(certificate.statement.request) is Checked.MEASURED
        assert federation.verify().passed
    remembered = json.loads((tmp_path / "run" / "run.json").read_text())
    assert remembered["modules"] == [str(folder.resolve())]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("paradigm", list(Paradigm))
def test_whatever_it_raises_ends_its_job_and_the_next_request_is_carried_out(
    chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paradigm: Paradigm
) -> None:
    """The job stayed open, and `resume` failed as the request had."""
    with trained(small(), tmp_path / "run", chains) as federation:
        with monkeypatch.context() as broken:
            broken.setattr(GradientAscent, "unlearn", lambda method, task: 1 / 0)
            broken.setattr(Retrain, "steps", lambda method, task: iter([1 / 0]))
            method = "gradient_ascent" if paradigm is Paradigm.PARALLEL else "retrain"
            with pytest.raises(UnlearningError, match=rf"{method}' failed \(ZeroDivisionError\): division"):
                federation.unlearn(["s"], paradigm=paradigm, method=method)
        job = jobs_of(federation.run)[-1]
        assert (job.state, "ZeroDivisionError" in job.outcome) == (JobState.FAILED, True)
        assert federation.unlearn(["s"], paradigm=paradigm, method=method).nodes


@pytest.mark.slow
def test_later_commands_find_it_without_a_path(folder: Path, chains: Nodes, tmp_path: Path) -> None:
    urls = {"live_url": chains.live.url, "archive_url": chains.archive.url}
    with Federation.create(small(chain=urls), tmp_path / "run") as federation:
        federation.train()
        federation.unlearn(["s"], method=OWN)
    again = blockful_process(
        tmp_path, "unlearn", "--run", "run", "--start", "t", "--class", "4", "--method", OWN, "--json"
    )
    assert again.status == 0, again.err
    report = json.loads(again.out)
    assert report["method"]["parallel"]["name"] == OWN
    assert report["verification"]["failed"] == []


@pytest.mark.usefixtures("folder")
def test_no_request_of_others_names_code(chains: Nodes, tmp_path: Path) -> None:
    with trained(small(), tmp_path / "run", chains) as federation:
        refused = f"there is no method '{OWN}' here: custom code runs only if"
        context, catalogue = federation.context, federation.catalogue()
        drafted = federation.draft_request().request.model_copy(update={"method": f"{OWN} {{}}"})
        request = sign_request(context, catalogue, drafted)
        with pytest.raises(SettingsError, match=refused):
            federation.unlearn(request=request)
        with pytest.MonkeyPatch.context() as owner:
            named = frozenset({OWN})
            owner.setattr(requesting, "parse_method", lambda text, own: parse_method(text, named))
            with pytest.raises(QuorumError, match=refused):
                federation.unlearn(request=request)
        assert all(placed.version == 0 for placed in federation.catalogue().models.values())


def test_a_method_that_cannot_be_imported_is_not_remembered(chains: Nodes, tmp_path: Path) -> None:
    with Federation.create(small(), tmp_path / "run", nodes=chains) as federation:
        before = (tmp_path / "run" / "run.json").read_bytes()
        with pytest.raises(SettingsError, match="method 'no_such_module:X' cannot be imported"):
            federation.draft_request(["s"], method="no_such_module:X")
        assert (tmp_path / "run" / "run.json").read_bytes() == before
