# SPDX-License-Identifier: Apache-2.0
"""mergekit recipes: those that are computed again here, and those that mergekit alone makes again."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.adopt.linear_recipe import LinearRecipe, RecipePart, read_linear_recipe, recipe_text
from blockful_py.errors import FormatError

PLAIN = """
models:
  - model: a/one
    parameters: {weight: 0.3}
  - model: a/two
    parameters: {weight: 1}
merge_method: linear
"""


def _read(folder: Path, text: str) -> LinearRecipe:
    path = folder / "mergekit_config.yml"
    path.write_text(text)
    return read_linear_recipe(path)


def test_a_linear_recipe_is_read_and_written(tmp_path: Path) -> None:
    plain, adapted = RecipePart("a/one", None, 0.3), RecipePart("a/one", "b/adapter", 0.5)
    assert _read(tmp_path, PLAIN) == LinearRecipe((plain, RecipePart("a/two", None, 1.0)), None, True)
    text = recipe_text([plain, adapted], "BF16", False)
    assert "a/one+b/adapter" in text
    assert _read(tmp_path, text) == LinearRecipe((plain, adapted), "BF16", False)


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
