# SPDX-License-Identifier: Apache-2.0
"""A mergekit recipe of a linear merge that can be computed again here: one number for each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.adopt.cards import MAX_TEXT_BYTES, merge_recipe, parsed_yaml
from blockful_py.adopt.tensor_files import bounded
from blockful_py.errors import FormatError
from blockful_py.record.adopted import LINEAR

KEYS = frozenset({"models", "merge_method", "dtype", "parameters"})
TYPES: Mapping[str, str] = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16"}
"""Safetensors' names of the types that a recipe can name."""


@dataclass(frozen=True, slots=True)
class LinearRecipe:
    """A linear merge.

    Attributes:
        weights: one for each part, in the recipe's order.
        dtype: type of the merge, by safetensors' name; None for the parts' type.
        normalise: whether the sum is divided by the sum of the weights.
    """

    weights: tuple[float, ...]
    dtype: str | None
    normalise: bool


def read_linear_recipe(path: Path) -> LinearRecipe:
    """Reads a recipe.  Raises FormatError, which says what mergekit alone can do, for another one."""
    document = parsed_yaml(bounded(path, MAX_TEXT_BYTES).decode(errors="replace"), path.name)
    method, parents = merge_recipe(path)
    if method != LINEAR:
        raise FormatError(f"a merge by {method or 'an unnamed method'} is made again by mergekit, not here.")
    if odd := sorted(map(str, document.keys() - KEYS)):
        raise FormatError(f"its recipe sets {odd[0][:40]}: make it again by mergekit.")
    parameters = document.get("parameters") or {}
    if not isinstance(parameters, dict) or parameters.keys() - {"normalize"}:
        raise FormatError("its recipe sets parameters of all parts: make it again by mergekit.")
    normalise, dtype = parameters.get("normalize", True), document.get("dtype")
    if not isinstance(normalise, bool) or (dtype is not None and str(dtype) not in TYPES):
        raise FormatError(f"its recipe has normalize {normalise!r} and dtype {dtype!r}: make it by mergekit.")
    models = document["models"]
    names = [name for name, _, _ in parents]
    if len(models) != len(names) or len({*names}) != len(names) or not all(map(_is_plain, models)):
        raise FormatError(
            "a part of it has an adapter, or more than a weight, or is named twice: make it by mergekit."
        )
    weights = tuple(weight for _, _, weight in parents if weight is not None)
    if len(weights) != len(names):
        raise FormatError("a part of it has no single number as its weight: make it again by mergekit.")
    return LinearRecipe(weights, None if dtype is None else TYPES[str(dtype)], normalise)


def _is_plain(entry: Mapping[str, Any]) -> bool:
    """Whether a part has its weight and nothing else to be set."""
    parameters = entry.get("parameters")
    return (
        entry.keys() <= {"model", "parameters"}
        and isinstance(parameters, dict)
        and set(parameters) == {"weight"}
    )


def recipe_text(parts: Sequence[tuple[str, float]], dtype: str, normalise: bool) -> str:
    """The recipe of a linear merge, for mergekit."""
    import yaml

    document: dict[str, Any] = {
        "models": [{"model": name, "parameters": {"weight": weight}} for name, weight in parts],
        "merge_method": LINEAR,
        "dtype": next(name for name, kind in TYPES.items() if kind == dtype),
    }
    if not normalise:
        document["parameters"] = {"normalize": False}
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
