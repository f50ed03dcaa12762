# SPDX-License-Identifier: Apache-2.0
"""A mergekit recipe of a linear merge that can be computed again here: one number for each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.adopt.cards import MAX_TEXT_BYTES, merge_recipe, model_names, number_in, parsed_yaml
from blockful_py.errors import FormatError
from blockful_py.record.adopted import LINEAR
from blockful_py.whole_file import read_bounded

KEYS = frozenset({"models", "merge_method", "dtype", "parameters"})
TYPES: Mapping[str, str] = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16"}
"""Safetensors' names of the types that a recipe can name."""


@dataclass(frozen=True, slots=True)
class RecipePart:
    """A model, the adapter that is applied to it, if any, and the part's weight."""

    model: str
    adapter: str | None
    weight: float

    @property
    def names(self) -> tuple[str, ...]:
        return (self.model,) if self.adapter is None else (self.model, self.adapter)


@dataclass(frozen=True, slots=True)
class LinearRecipe:
    """A linear merge.

    Attributes:
        parts: in the recipe's order.
        dtype: type of the merge, by safetensors' name; None for the parts' type.
        normalise: whether the sum is divided by the sum of the weights.
    """

    parts: tuple[RecipePart, ...]
    dtype: str | None
    normalise: bool


def read_linear_recipe(path: Path) -> LinearRecipe:
    """Reads a recipe.  Raises FormatError, which says what mergekit alone can do, for another one."""
    document = parsed_yaml(read_bounded(path, MAX_TEXT_BYTES).decode(errors="replace"), path.name)
    method, _ = merge_recipe(path)
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
    if not all(map(_is_plain, models)):
        raise FormatError("a part of it has more than a weight: make it by mergekit.")
    parts = tuple(map(_part, models))
    if len({each.names for each in parts}) != len(parts):
        raise FormatError("a part of it is named twice: make it by mergekit.")
    return LinearRecipe(parts, None if dtype is None else TYPES[str(dtype)], normalise)


def weights_of(parts: Sequence[RecipePart]) -> dict[str, float]:
    """By name, the weight of the first part that names a model or an adapter: the edges of a statement."""
    found: dict[str, float] = {}
    for part in parts:
        for name in part.names:
            found.setdefault(name, part.weight)
    return found


def _part(entry: Mapping[str, Any]) -> RecipePart:
    names = [*model_names(entry["model"], "the recipe")]
    weight = number_in(entry["parameters"]["weight"])
    if weight is None:
        raise FormatError("a part of it has no single number as its weight: make it again by mergekit.")
    if len(names) > 2:
        raise FormatError("a part of it has several adapters: make it by mergekit.")
    return RecipePart(names[0], names[1] if len(names) > 1 else None, weight)


def _is_plain(entry: Mapping[str, Any]) -> bool:
    """Whether a part has its weight and nothing else to be set."""
    parameters = entry.get("parameters")
    return (
        entry.keys() <= {"model", "parameters"}
        and isinstance(entry.get("model"), str)
        and isinstance(parameters, dict)
        and set(parameters) == {"weight"}
    )


def recipe_text(parts: Sequence[RecipePart], dtype: str, normalise: bool) -> str:
    """The recipe of a linear merge, for mergekit."""
    import yaml

    document: dict[str, Any] = {
        "models": [{"model": "+".join(each.names), "parameters": {"weight": each.weight}} for each in parts],
        "merge_method": LINEAR,
        "dtype": next(name for name, kind in TYPES.items() if kind == dtype),
    }
    if not normalise:
        document["parameters"] = {"normalize": False}
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
