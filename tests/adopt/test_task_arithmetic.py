# SPDX-License-Identifier: Apache-2.0
"""Merges by task arithmetic that mergekit made (`make_family`): adopted, asked to forget, computed again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from blockful_py.adopt.recomputing import recompute
from blockful_py.errors import LearningError, QuorumError
from blockful_py.forget import Forget
from blockful_py.learning.computed import linear_merge, task_arithmetic
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.adopt.records import adopted, publish_computed

FAMILY = Path(__file__).parent / "family"
MADE = ("mean", "sum")


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """The family's base, its three heirs that are parts, and two merges of them."""
    for name in ("lab/base", "eve/story", "fay/news", "ann/law", "ann/law-merged"):
        shutil.copytree(FAMILY / "models" / name, tmp_path / "models" / name)
    shutil.copytree(FAMILY / "tasks" / "all" / "jon", tmp_path / "models" / "jon")
    return tmp_path / "models"


@pytest.fixture
def record(models: Path, tmp_path: Path, chains: Nodes) -> Iterator[Federation]:
    with adopted(models, tmp_path / "run", chains) as federation:
        yield federation


def test_a_part_leaves_and_the_rest_has_mergekits_bits(
    record: Federation, models: Path, tmp_path: Path
) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    done = recompute(record.catalogue(), models, tmp_path / "made")
    assert not done.left
    parents = {each.name: set(each.parents) for each in done.plan.models}
    left = {"lab--base", "eve--story", "ann--law-merged"}
    assert parents == {"jon--mean.v2": left, "jon--sum.v2": left}
    publish_computed(record, done)
    for name in MADE:
        made = load_file(tmp_path / "made" / "jon" / name / "model.safetensors")
        expected = load_file(FAMILY / "tasks" / "without" / "jon" / name / "model.safetensors")
        assert made.keys() == expected.keys()
        assert all(made[each].dtype is expected[each].dtype for each in made)
        assert all(torch.equal(made[each], expected[each]) for each in made)
    computed = record.catalogue()["jon--sum.v2"].node.statement.adopted
    assert computed is not None
    assert computed.computed is not None
    assert computed.computed.model_dump() == {"dtype": "F32", "normalise": False, "factor": 0.7}
    assert record.verify().passed
    again = recompute(record.catalogue(), models, tmp_path / "again")
    assert not again.plan.models, "what was computed stands"


def test_without_its_base_it_is_left(record: Federation, models: Path, tmp_path: Path) -> None:
    record.unlearn(forget=Forget.of_datasets(["wiki"]))
    left = recompute(record.catalogue(), models, tmp_path / "made").left
    assert all(
        "its base lab/base, from which its parts differ, was withdrawn" in left[f"jon--{each}"]
        for each in MADE
    )


@pytest.mark.parametrize("claim", ["another factor", "another weight", "a linear merge"])
def test_members_refuse_what_the_statement_does_not_give(
    record: Federation, models: Path, tmp_path: Path, claim: str
) -> None:
    record.unlearn(forget=Forget.of_datasets(["papers"]))
    recompute(record.catalogue(), models, tmp_path / "made")
    file = tmp_path / "made" / "jon" / "sum" / "model.safetensors"
    base, *others = (_tensors(models / name) for name in ("lab/base", "eve/story", "ann/law-merged"))
    weights = [0.6, -0.4 if claim == "another weight" else -0.3]
    factor = 0.5 if claim == "another factor" else 0.7
    forged = {}
    for name in base:
        parts = [each[name] for each in others]
        forged[name] = task_arithmetic(base[name], parts, weights, False, factor, "F32")
        if claim == "a linear merge":
            forged[name] = linear_merge([base[name], *parts], [0.7, *weights], False, "F32")
    save_file(forged, file, metadata={"format": "pt"})
    with pytest.raises(QuorumError, match="than its parents' files give"):
        publish_computed(record, recompute(record.catalogue(), models, tmp_path / "made"))


def _tensors(folder: Path) -> dict[str, torch.Tensor]:
    return {name: each for file in folder.glob("*.safetensors") for name, each in load_file(file).items()}


def test_parts_of_other_shapes_are_refused() -> None:
    with pytest.raises(LearningError, match="differ in shape"):
        task_arithmetic(torch.zeros(2), [torch.zeros(3)], [1.0], False, 1.0, "F32")
    with pytest.raises(LearningError, match="no floating-point"):
        task_arithmetic(torch.zeros(2), [torch.zeros(2, dtype=torch.int64)], [1.0], False, 1.0, "F32")


def test_weights_that_cancel_divide_nothing() -> None:
    base, parts = torch.ones(1), [torch.tensor([3.0]), torch.tensor([7.0])]
    assert task_arithmetic(base, parts, [0.5, -0.5], True, 1.0, "F32").item() == -1.0
    assert task_arithmetic(base, parts, [0.5, 0.5], True, 2.0, "F32").item() == 9.0
