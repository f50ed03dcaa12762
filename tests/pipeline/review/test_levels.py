# SPDX-License-Identifier: Apache-2.0
"""Requests at every level, and with methods of all kinds, before a committee."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.engine.jobs import JobState
from blockful_py.errors import FormatError, QuorumError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.review.claims import measure_all
from blockful_py.pipeline.review.methods import forget_asked
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.progress import Silent
from blockful_py.record.shown import checked_by_members
from blockful_py.report.runs.single import unlearn_once
from blockful_py.report.summary import checked, limits
from blockful_py.types import Checked, Paradigm
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.task import UnlearningTask
from tests.federations import AFFECTED, put_back, readable, small, trained


@pytest.fixture(scope="module")
def origin(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    settings = small(unlearning={"options": {"clean_increments": {"heal_steps": 2}}})
    return trained(settings, tmp_path_factory.mktemp("levels") / "run", chains)


@pytest.fixture
def federation(origin: Federation) -> Iterator[Federation]:
    """The chains are put back afterwards; deleted bytes of replaced versions are kept aside."""
    with readable(origin), put_back(origin.nodes.live, origin.nodes.archive):
        yield origin
    if origin.context.journal.open_job() is not None:
        origin.context.journal.close_job(JobState.ABORTED)


def test_a_client_is_forgotten_and_members_recompute_it(federation: Federation) -> None:
    before: dict[str, Weights] = {n: m.weights for n, m in federation.models().items()}
    found = federation.unlearn(forget=Forget.of_clients([3]), starts=["s"])
    assert set(found.nodes) == {"s", "x", "y"}
    assert found.request.forget == Forget.of_clients([3])
    assert all(node.redaction and node.redaction.claims.ad_f is None for node in found.nodes.values())
    assert federation.verify().passed
    after = federation.models()
    assert equal(after["s"].weights, before["a"])  # nothing of user 3 is left: the aggregate of its reference
    assert not equal(after["y"].weights, before["y"])


def test_samples_are_forgotten_and_the_report_says_so(federation: Federation, tmp_path: Path) -> None:
    forget = Forget.of_samples([(3, 0), (4, 1)])
    report = unlearn_once(federation, None, forget, Paradigm.PARALLEL, None, Silent()).report
    assert report is not None
    assert report.forget.samples == ("3:0", "4:1")
    assert {model.name for model in report.models if model.affected} == set(AFFECTED)
    assert not report.verification.failed
    assert limits(report)[0].startswith("Membership AUC compares a model's confidence")
    assert "AD_f is the accuracy on held-out samples of the classes" in limits(report)[0]
    assert not any("least forgotten" in line for line in limits(report))


def test_a_parallel_method_that_uses_data_is_measured_again(federation: Federation) -> None:
    found = federation.unlearn(method="clean_increments")
    assert found.request.method == 'clean_increments {"heal_steps":2}'
    assert set(found.nodes) == set(AFFECTED)
    assert federation.verify().passed


def test_a_method_that_needs_a_proxy_set_gets_one(federation: Federation) -> None:
    assert set(federation.unlearn(method="ppnr").nodes) == set(AFFECTED)


@pytest.mark.parametrize(
    ("method", "forget", "message"),
    [
        ("head_mask", Forget.of_classes([3]), "is a control for audits"),
        ("clean_increments", Forget.of_clients([3]), "no public data shows .* forgotten client 3"),
        ("gradient_ascent", Forget.of_clients([6]), "client 6 owns none of the starts"),
        ("gradient_ascent", Forget.of_clients([99]), "there is no client 99"),
        ("gradient_ascent", Forget.of_samples([(3, 100_000)]), "user 3 has no sample 100000"),
    ],
)
def test_what_cannot_be_done_or_checked_changes_nothing(
    federation: Federation, method: str, forget: Forget, message: str
) -> None:
    with pytest.raises(UnlearningError, match=message):
        federation.unlearn(method=method, forget=forget)
    assert all(placed.version == 0 for placed in federation.catalogue().models.values())


def test_a_request_names_one_kind(federation: Federation) -> None:
    with pytest.raises(UnlearningError, match="leave one out"):
        federation.unlearn(classes=[3], forget=Forget.of_clients([3]))


def test_options_name_one_kind() -> None:
    assert forget_asked(None, None, None) is None
    assert forget_asked([8, 3], None, []) == Forget.of_classes([3, 8])
    assert forget_asked(None, [5], None) == Forget.of_clients([5])
    assert forget_asked(None, None, ["5:17"]) == Forget.of_samples([(5, 17)])
    with pytest.raises(UnlearningError, match="name one kind"):
        forget_asked([3], [5], None)
    with pytest.raises(FormatError, match="a sample is written user:row, such as 5:17, not '5-17'"):
        forget_asked(None, None, ["5-17"])


def test_accuracies_are_on_what_the_request_names(federation: Federation) -> None:
    weights = {"s": federation.models()["s"].weights}
    rows = measure_all(federation.setup, weights, Forget.of_clients([3]))
    train = federation.setup.users[2].train
    right = rows["s"].train.ad_f * len(train)
    assert right == pytest.approx(round(right))


@pytest.fixture(scope="module")
def trusting(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    """Its members sign what owners attest."""
    return trained(small(committee={"attested": True}), tmp_path_factory.mktemp("attested") / "run", chains)


def test_members_that_take_the_owners_word_sign_a_retraining(trusting: Federation, tmp_path: Path) -> None:
    before = trusting.models()
    clients = Forget.of_clients([3])
    report = unlearn_once(trusting, ["s"], clients, Paradigm.SEQUENTIAL, None, Silent()).report
    assert report is not None
    assert not report.verification.failed
    after = trusting.models()
    assert equal(after["s"].weights, before["a"].weights)
    setup = trusting.setup
    beside = Retrain().unlearn(
        UnlearningTask.of(setup.federation, before.values(), setup.users, ["s"], clients)
    )
    assert all(equal(after[name].weights, beside.weights[name]) for name in ("s", "x", "y"))
    method = report.method.sequential
    assert method is not None
    assert method.checked is Checked.ATTESTED
    assert checked(report, Paradigm.SEQUENTIAL) == "the owners attest it; members measured only AD_r"
    assert any("attest that they left out client 3" in line for line in limits(report))
    page = (trusting.run.path / "report.html").read_text()
    assert "Before they signed, sequential: the owners attest it; members measured only AD_r." in page
    (certificate,) = trusting.run.certificates.glob("*.html")
    assert "the owners attest it; members measured only AD_r" in certificate.read_text()


def test_members_say_what_they_checked(federation: Federation) -> None:
    def said(method: str, forget: Forget, paradigm: Paradigm = Paradigm.PARALLEL) -> Checked:
        asked = federation.draft_request(["s"], Forget.of_classes([3]), paradigm, method).request
        names = {"classes": forget.classes, "clients": forget.clients}
        return checked_by_members(asked.model_copy(update=names))

    assert said("gradient_ascent", Forget.of_clients([3])) is Checked.RECOMPUTED
    assert said("gradient_ascent", Forget.of_classes([3])) is Checked.RECOMPUTED
    assert said("clean_increments", Forget.of_classes([3])) is Checked.MEASURED
    assert said("retrain", Forget.of_clients([3]), Paradigm.SEQUENTIAL) is Checked.ATTESTED


def test_members_refuse_what_is_only_attested_whatever_is_proposed(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blockful_py.pipeline.jobs.requesting.require_review", lambda *_: None)
    with pytest.raises(QuorumError, match="no public data shows whether a model has forgotten client 3"):
        federation.unlearn(["s"], forget=Forget.of_clients([3]), paradigm="sequential")
    assert all(placed.version == 0 for placed in federation.catalogue().models.values())
