# SPDX-License-Identifier: Apache-2.0
"""The audit on trained models detects remaining knowledge, and only that."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_py.errors import LearningError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit import AuditOutcome, Bench, audit, audit_samples, prepare
from blockful_py.unlearning.audit.references import retrained_graph
from blockful_py.unlearning.audit.samples import first_of_each
from blockful_py.unlearning.head import neutralised
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.figures import Row
from tests.unlearning.audit.conftest import request_to


def audited(bench: Bench, references: dict[str, Row], weights: dict[str, Weights]) -> AuditOutcome:
    return audit(bench, "under test", weights, tuple(references.values()))


@pytest.fixture(scope="package")
def original(task: UnlearningTask) -> dict[str, Weights]:
    return task.weights(task.affected())


def test_a_masked_head_has_not_forgotten(
    bench: Bench, references: dict[str, Row], original: dict[str, Weights]
) -> None:
    masked = {name: neutralised(bench.task.architecture, w, (3,)) for name, w in original.items()}
    outcome = audited(bench, references, masked)
    assert all(model.ad_f_test == model.ad_f_train == 0 for model in outcome.row.models)
    verdict = outcome.verdict()
    assert verdict.intact
    assert not verdict.forgotten
    assert any(reason.startswith("relearn closed 0 <") for reason in verdict.reasons)


def test_models_that_were_left_alone_have_not_forgotten(bench: Bench, references: dict[str, Row]) -> None:
    outcome = audited(bench, references, {})
    assert [model.weights for model in outcome.row.models] == [
        model.weights for model in references["original"].models
    ]
    assert not outcome.verdict().forgotten


def test_the_graph_retrained_once_more_has_forgotten(bench: Bench, references: dict[str, Row]) -> None:
    outcome = audited(bench, references, retrained_graph(bench.task, 77))
    assert outcome.verdict().forgotten, outcome.verdict()


def test_gold_is_no_distance_from_itself(references: dict[str, Row]) -> None:
    for model in references["gold"].models:
        assert model.divergence == pytest.approx(0, abs=1e-12)
        assert model.distance == 0
    assert all(model.distance > 0.1 for model in references["gold2"].models)


def test_references_stand_for_what_they_are(references: dict[str, Row]) -> None:
    assert list(references) == ["original", "gold", "gold2", "head_mask"]
    for name in ("gold", "gold2", "head_mask"):
        assert all(model.ad_f_train == model.ad_f_test == 0 for model in references[name].models)
    assert all(model.ad_f_test > 0.7 for model in references["original"].models)
    assert [(model.model, model.depth) for model in references["gold"].models] == [
        ("r1", 0),
        ("r3", 1),
        ("r4", 2),
        ("r5", 3),
    ]


def test_gold_also_retrains_ancestors_that_hold_the_class(task: UnlearningTask) -> None:
    """r2 is no descendant of the start, but taught r3 the class: its gold differs from r3's retraining
    on the published r2."""
    again = retrained_graph(task, 0)
    assert set(again) == {"r1", "r3", "r4", "r5"}
    module = task.architecture.module(again["r3"], torch.device("cpu")).eval()
    forgotten = task.forget_set()
    assert not (module(forgotten.x).argmax(1) == 3).any()


def test_what_earlier_requests_forgot_is_no_part_of_gold_or_of_what_is_to_be_known(
    task: UnlearningTask, dataset: Dataset
) -> None:
    """r2 was asked neither time, and its owner holds both classes."""
    after = replace(task, earlier=dict.fromkeys(task.affected(), (Forget.of_classes([4]),)))
    samples = audit_samples(after, dataset)
    assert samples.classes == (3,)
    assert {*samples.retain_train.classes(), *samples.retain_test.classes()} == {0, 1, 2, 5, 6, 7, 8, 9}
    x = dataset.test.only((4,)).x
    for name, weights in retrained_graph(after, 0).items():
        assert not (task.architecture.module(weights, x.device).eval()(x).argmax(1) == 4).any(), name
    knowing = task.architecture.module(retrained_graph(task, 0)["r3"], x.device).eval()
    assert (knowing(x).argmax(1) == 4).any()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(
    bench: Bench, references: dict[str, Row], task: UnlearningTask, dataset: Dataset
) -> None:
    again = prepare(task, audit_samples(task, dataset))
    left = audited(bench, references, {}).canonical()
    assert audit(again, "under test", {}).canonical() == left
    assert AuditOutcome.from_json(audited(bench, references, {}).to_json()).canonical() == left


@pytest.mark.parametrize("forget", [Forget.of_clients([3]), Forget.of_samples((3, row) for row in range(30))])
@pytest.mark.slow
def test_clients_and_samples_are_audited_by_the_same_metrics(dataset: Dataset, forget: Forget) -> None:
    task = request_to(dataset, forget, ("r3",))
    bench = prepare(task, audit_samples(task, dataset))
    rows = {row.method: row for row in bench.references()}
    assert list(rows) == ["original", "gold", "gold2"]
    assert [model.model for model in rows["gold"].models if model.holder] == ["r3"]
    original, gold = rows["original"].models[0], rows["gold"].models[0]
    assert original.ad_f_train > gold.ad_f_train
    assert original.membership > gold.membership
    assert original.relearn is not None and gold.relearn is not None
    assert original.relearn < gold.relearn
    outcome = audit(bench, "left alone", {}, tuple(rows.values()))
    assert outcome.request == str(forget)
    assert AuditOutcome.from_json(outcome.to_json()) == outcome


def test_broken_weights_are_refused(bench: Bench, original: dict[str, Weights]) -> None:
    bad = {name: tensor.clone() for name, tensor in original["r3"].items()}
    bad["head.bias"][0] = float("nan")
    with pytest.raises(LearningError, match="NaN"):
        bench.measure("broken", {"r3": bad})
    with pytest.raises(LearningError, match="not of a 'cnn'"):
        bench.measure("broken", {"r3": {"head.bias": torch.zeros(10)}})


def test_a_graph_that_cannot_be_retrained_is_refused(task: UnlearningTask, dataset: Dataset) -> None:
    samples = audit_samples(task, dataset)
    members = {name: kept for name, kept in samples.members.items() if name != "r4"}
    with pytest.raises(UnlearningError, match="r4 is missing"):
        prepare(task, replace(samples, members=members))


def test_too_few_proxy_samples_are_refused() -> None:
    with pytest.raises(UnlearningError, match="class 1 has fewer"):
        first_of_each(Samples(torch.zeros(3, 1), torch.tensor([0, 0, 1])), (0, 1), 2)


def test_nothing_to_ask_about_is_refused(bench: Bench) -> None:
    nothing = bench.samples.forget_test.at(torch.tensor([], dtype=torch.int64))
    with pytest.raises(UnlearningError, match="forget_test"):
        replace(bench.samples, forget_test=nothing)
