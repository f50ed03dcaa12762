# SPDX-License-Identifier: Apache-2.0
"""A mergekit recipe that can be computed again here: a sum of parts, or of their differences from a base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.adopt.cards import MAX_TEXT_BYTES, merge_recipe, model_names, number_in, parsed_yaml
from blockful_py.errors import FormatError
from blockful_py.record.adopted import LINEAR, TASK_ARITHMETIC
from blockful_py.whole_file import read_bounded

KEYS = frozenset({"models", "merge_method", "dtype", "parameters"})
DEFAULTS: Mapping[str, Mapping[str, bool | float]] = {
    LINEAR: {"normalize": True},
    TASK_ARITHMETIC: {"normalize": False, "lambda": 1.0},
}
"""By method, the settings of all parts, with mergekit's (0.1.5) defaults."""
TYPES: Mapping[str, str] = {"float64": "F64", "float32": "F32", "bfloat16": "BF16", "float16": "F16"}
"""Safetensors' names of the types that a recipe can name."""


@dataclass(frozen=True, slots=True)
class RecipePart:
    """A model, the adapter that is applied to it, if any, and the part's weight; a base has none."""

    model: str
    adapter: str | None
    weight: float | None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.model,) if self.adapter is None else (self.model, self.adapter)


@dataclass(frozen=True, slots=True)
class MergeRecipe:
    """A merge.

    Attributes:
        parts: in the recipe's order; of task arithmetic, also the base from which the others differ.
        dtype: type of the merge, by safetensors' name; None for the parts' type.
        normalise: whether the sum is divided by the sum of the weights.
        factor: of task arithmetic: times the sum of the differences (mergekit's lambda).
    """

    parts: tuple[RecipePart, ...]
    dtype: str | None
    normalise: bool
    factor: float = 1.0

    @property
    def base(self) -> str | None:
        """The base of task arithmetic; None of a linear merge."""
        return next((each.model for each in self.parts if each.weight is None), None)

    @property
    def weights(self) -> dict[str, float | None]:
        """By name, the weight of the first part that names a model or an adapter: a statement's edges."""
        found: dict[str, float | None] = {}
        for part in self.parts:
            for name in part.names:
                found.setdefault(name, part.weight)
        return found


def read_merge_recipe(path: Path) -> MergeRecipe:
    """Reads a recipe.  Raises FormatError, which says what mergekit alone can do, for another one."""
    document = parsed_yaml(read_bounded(path, MAX_TEXT_BYTES).decode(errors="replace"), path.name)
    method, _ = merge_recipe(path)
    if method is None or method not in DEFAULTS:
        raise FormatError(f"a merge by {method or 'an unnamed method'} is made again by mergekit, not here.")
    has_base = method == TASK_ARITHMETIC
    if odd := sorted(map(str, document.keys() - KEYS - ({"base_model"} if has_base else set()))):
        raise FormatError(f"its recipe sets {odd[0][:40]}: make it again by mergekit.")
    parameters, dtype = document.get("parameters") or {}, document.get("dtype")
    if not isinstance(parameters, dict) or parameters.keys() - DEFAULTS[method].keys():
        raise FormatError("its recipe sets parameters of all parts: make it again by mergekit.")
    settings = {**DEFAULTS[method], **parameters}
    normalise, factor = settings["normalize"], number_in(settings.get("lambda", 1.0))
    if not isinstance(normalise, bool) or (dtype is not None and str(dtype) not in TYPES):
        raise FormatError(f"its recipe has normalize {normalise!r} and dtype {dtype!r}: make it by mergekit.")
    if factor is None:
        raise FormatError(f"its recipe has lambda {str(settings['lambda'])[:40]}: make it by mergekit.")
    parts = _parts(document, path.name) if has_base else tuple(map(_part, document["models"]))
    if len({each.names for each in parts}) != len(parts):
        raise FormatError("a part of it is named twice: make it by mergekit.")
    return MergeRecipe(parts, None if dtype is None else TYPES[str(dtype)], normalise, factor)


def _parts(document: Mapping[str, Any], name: str) -> tuple[RecipePart, ...]:
    """The parts of task arithmetic, with its base where the models list it, or last."""
    named = document.get("base_model")
    if not isinstance(named, str) or len(names := [*model_names(named, name)]) != 1:
        raise FormatError("its base is no plain model: make it again by mergekit.")
    base, models = RecipePart(names[0], None, None), document.get("models") or []
    listed = tuple(base if each == {"model": named} else _part(each) for each in models)
    if any(each.adapter for each in listed):
        raise FormatError("a part of it has an adapter, and a base: make it by mergekit.")
    if any(each.model == base.model and each != base for each in listed):
        raise FormatError("its base has a weight: make it by mergekit.")
    return listed if base in listed else (*listed, base)


def _part(entry: Mapping[str, Any]) -> RecipePart:
    if not _is_plain(entry):
        raise FormatError("a part of it has more than a weight: make it by mergekit.")
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


def recipe_text(recipe: MergeRecipe) -> str:
    """The recipe for mergekit; its type is set."""
    import yaml

    method = LINEAR if recipe.base is None else TASK_ARITHMETIC
    weighed = [each for each in recipe.parts if each.weight is not None]
    document: dict[str, Any] = {
        "models": [
            {"model": "+".join(each.names), "parameters": {"weight": each.weight}} for each in weighed
        ],
        "merge_method": method,
        "dtype": next(name for name, kind in TYPES.items() if kind == recipe.dtype),
    }
    if recipe.base is not None:
        document["base_model"] = recipe.base
    given = {"normalize": recipe.normalise, "lambda": recipe.factor}
    if set_apart := {key: given[key] for key, usual in DEFAULTS[method].items() if given[key] != usual}:
        document["parameters"] = set_apart
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
