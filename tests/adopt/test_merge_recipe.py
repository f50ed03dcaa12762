# SPDX-License-Identifier: Apache-2.0
"""mergekit recipes: those that are computed again here, and those that mergekit alone makes again."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.adopt.merge_recipe import MergeRecipe, RecipePart, read_merge_recipe, recipe_text
from blockful_py.errors import FormatError

PLAIN = """
models:
  - model: a/one
    parameters: {weight: 0.3}
  - model: a/two
    parameters: {weight: 1}
merge_method: linear
"""


def _read(folder: Path, text: str) -> MergeRecipe:
    path = folder / "mergekit_config.yml"
    path.write_text(text)
    return read_merge_recipe(path)


def test_a_linear_recipe_is_read_and_written(tmp_path: Path) -> None:
    plain, adapted = RecipePart("a/one", None, 0.3), RecipePart("a/one", "b/adapter", 0.5)
    assert _read(tmp_path, PLAIN) == MergeRecipe((plain, RecipePart("a/two", None, 1.0)), None, True)
    text = recipe_text(MergeRecipe((plain, adapted), "BF16", False))
    assert "a/one+b/adapter" in text
    assert _read(tmp_path, text) == MergeRecipe((plain, adapted), "BF16", False)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("merge_method: linear", "merge_method: ties", "by ties"),
        ("merge_method: linear", "", "unnamed method"),
        ("merge_method: linear", "merge_method: linear\nbase_model: a/zero", "sets base_model"),
        ("merge_method: linear", "merge_method: linear\ntokenizer_source: union", "tokenizer_source"),
        ("merge_method: linear", "merge_method: linear\ndtype: int8", "dtype 'int8'"),
        ("merge_method: linear", "merge_method: linear\ndtype: [float32]", "dtype"),
        ("merge_method: linear", "merge_method: linear\nparameters: {weight: 1}", "parameters"),
        ("merge_method: linear", "merge_method: linear\nparameters: {normalize: 2}", "normalize 2"),
        ("a/two", "a/two+a/adapter+b/adapter", "several adapters"),
        ("a/two", "{model: a/two, lora: {path: a/adapter}}", "more than a weight"),
        ("a/two", "a/one", "named twice"),
        ("weight: 1", "weight: [0, 1]", "no single number"),
        ("{weight: 1}", "{weight: 1, density: 0.5}", "more than a weight"),
        ("{weight: 1}", "[1]", "more than a weight"),
        ("{weight: 1}", "text", "more than a weight"),
    ],
)
def test_others_are_left_to_mergekit(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        _read(tmp_path, PLAIN.replace(old, new, 1))


TASK = """
models:
  - model: a/zero
  - model: a/one
    parameters: {weight: 0.3}
  - model: a/two
    parameters: {weight: -1}
merge_method: task_arithmetic
base_model: a/zero
parameters: {lambda: 0.5}
dtype: float32
"""


def test_task_arithmetic_is_read_and_written(tmp_path: Path) -> None:
    base, one, two = (
        RecipePart("a/zero", None, None),
        RecipePart("a/one", None, 0.3),
        RecipePart("a/two", None, -1.0),
    )
    read = _read(tmp_path, TASK)
    assert read == MergeRecipe((base, one, two), "F32", False, 0.5)
    assert (read.base, read.weights) == ("a/zero", {"a/zero": None, "a/one": 0.3, "a/two": -1.0})
    assert _read(tmp_path, recipe_text(read)) == MergeRecipe((one, two, base), "F32", False, 0.5)
    assert _read(tmp_path, TASK.replace("  - model: a/zero\n", "")).parts == (one, two, base)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("base_model: a/zero", "", "no plain model"),
        ("base_model: a/zero", "base_model: a/zero+a/adapter", "no plain model"),
        ("base_model: a/zero", "base_model: {model: a/zero}", "no plain model"),
        ("model: a/zero", "model: a/zero\n    parameters: {weight: 1}", "its base has a weight"),
        ("model: a/two", "model: a/two+a/adapter", "has an adapter"),
        ("model: a/two", "model: a/one", "named twice"),
        ("{lambda: 0.5}", "{lambda: [0, 1]}", "lambda"),
        ("{lambda: 0.5}", "{lambda: 0.5, density: 0.2}", "parameters of all parts"),
        ("{weight: -1}", "{weight: -1, density: 0.2}", "more than a weight"),
        ("task_arithmetic", "dare_ties", "by dare_ties"),
    ],
)
def test_other_task_arithmetic_is_left_to_mergekit(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        _read(tmp_path, TASK.replace(old, new, 1))
