# SPDX-License-Identifier: Apache-2.0
"""An audit that is drawn after the weights are committed to."""

from __future__ import annotations

import json
from collections.abc import Mapping

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
    """An honest method, and a cheat that knew gold: a fifth of it are the masked published models."""
    published = task.weights(task.affected())
    masked = {name: neutralised(task.architecture, each, task.classes) for name, each in published.items()}
    leaning = {
        name: {key: torch.lerp(gold[key], masked[name][key], 0.2) for key in gold}
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


def test_a_cheat_that_knew_gold_is_found_out_by_another_gold(
    bench: Bench, references: dict[str, Row], after: Bench, methods: Methods
) -> None:
    """Of eight draws five find it out (n = 4 models each); a single small audit also errs on honest models."""
    known = audit(bench, "leaning on gold", methods["leaning on gold"], tuple(references.values()))
    assert known.verdict().forgotten
    rows = after.references()
    judged = {name: audit(after, name, weights, rows) for name, weights in methods.items()}
    assert judged["honest"].verdict().forgotten
    assert [one.name for one in judged["leaning on gold"].verdict().forgetting if not one.passed] == [
        "relearn closed"
    ]
    for outcome in judged.values():
        assert AuditOutcome.from_json(json.loads(outcome.canonical())) == outcome


def test_weights_that_were_not_committed_to_are_not_audited(
    after: Bench, references: dict[str, Row], methods: Methods
) -> None:
    rows = tuple(references.values())
    for name, weights in (("honest", methods["leaning on gold"]), ("another", methods["honest"])):
        with pytest.raises(UnlearningError, match="were not committed to. Draw again"):
            audit(after, name, weights, rows)
