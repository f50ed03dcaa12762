# SPDX-License-Identifier: Apache-2.0
"""An audit that is drawn after the weights are committed to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import fmean

import pytest
import torch

from blockful_py.errors import UnlearningError
from blockful_py.learning.data import Dataset
from blockful_py.learning.weights import Weights, equal
from blockful_py.unlearning.audit import AuditOutcome, Bench, audit, audit_samples, drawn, prepare
from blockful_py.unlearning.audit.references import retrained_graph
from blockful_py.unlearning.head import neutralised
from blockful_py.unlearning.task import UnlearningTask
from blockful_py.verdicts.draw import Draw
from blockful_py.verdicts.figures import Row

Methods = Mapping[str, Mapping[str, Weights]]

BEACON = b"\1"


@pytest.fixture(scope="module")
def methods(task: UnlearningTask, bench: Bench) -> Methods:
    """An honest method, and a cheat that knew gold: a part of it is the masked published model."""
    published = task.weights(task.affected())
    masked = {name: neutralised(task.architecture, each, task.classes) for name, each in published.items()}
    leaning = {
        name: {key: torch.lerp(gold[key], masked[name][key], 0.15) for key in gold}
        for name, gold in bench.gold.items()
    }
    return {"honest": retrained_graph(task, 77), "leaning on gold": leaning}


@pytest.fixture(scope="module")
def draw(task: UnlearningTask, methods: Methods) -> Draw:
    return drawn(task, methods, BEACON)


@pytest.fixture(scope="module")
def after(task: UnlearningTask, dataset: Dataset, draw: Draw) -> Bench:
    return prepare(task, audit_samples(task, dataset), draw)


def test_gold_and_lessons_cannot_be_known_before_the_weights(bench: Bench, after: Bench, draw: Draw) -> None:
    assert after.task.seed == draw.seed != bench.task.seed
    assert not any(equal(after.gold[name], bench.gold[name]) for name in bench.gold)
    for name, lesson in after._lessons.items():
        assert not torch.equal(lesson.batches[0].x, bench._lessons[name].batches[0].x)


def test_another_weight_method_or_beacon_gives_another_draw(
    task: UnlearningTask, methods: Methods, draw: Draw
) -> None:
    assert drawn(task, dict(reversed(methods.items())), BEACON) == draw
    alone = {"honest": methods["honest"]}
    changed = {
        name: {**each, "head.bias": each["head.bias"] + 1e-6} for name, each in alone["honest"].items()
    }
    seeds = [
        drawn(task, *asked).seed
        for asked in ((methods, BEACON), (methods,), (alone, BEACON), ({"honest": changed}, BEACON))
    ]
    assert len({*seeds}) == 4


def test_a_cheat_gains_nothing_from_a_gold_that_does_not_judge_it(
    bench: Bench, references: dict[str, Row], after: Bench, methods: Methods
) -> None:
    """Verdicts on four models vary too much between draws to be compared; the gap that it closed does not."""

    def nearness(judge: Bench, gold2: Row, name: str) -> float:
        row = judge.measure(name, methods[name])
        return fmean(model.divergence for model in row.models) / fmean(
            model.divergence for model in gold2.models
        )

    drawn_gold2 = after.measure("gold2", after.reference("gold2"))
    known = nearness(bench, references["gold2"], "leaning on gold")
    unknown = nearness(after, drawn_gold2, "leaning on gold")
    assert known < 0.4 < 0.6 < unknown


def test_the_document_of_a_drawn_audit_can_be_read(after: Bench, methods: Methods, draw: Draw) -> None:
    outcome = audit(after, "honest", methods["honest"])
    assert outcome.draw == draw
    assert AuditOutcome.from_json(json.loads(outcome.canonical())) == outcome


def test_weights_that_were_not_committed_to_are_not_audited(
    after: Bench, references: dict[str, Row], methods: Methods
) -> None:
    rows = tuple(references.values())
    for name, weights in (("honest", methods["leaning on gold"]), ("another", methods["honest"])):
        with pytest.raises(UnlearningError, match=r"were not committed to\. Draw again"):
            audit(after, name, weights, rows)
