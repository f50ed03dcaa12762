# SPDX-License-Identifier: Apache-2.0
"""Model cards, adapter configurations and mergekit's recipes: a model's parents and data sets.

Formats: https://huggingface.co/docs/hub/model-cards, `adapter_config.json` of PEFT, `mergekit_config.yml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from blockful_py.adopt.found import require_short
from blockful_py.adopt.tensor_files import parsed_json
from blockful_py.errors import FormatError
from blockful_py.extras import needed_by
from blockful_py.graph.kinds import EdgeKind
from blockful_py.whole_file import read_bounded

MAX_TEXT_BYTES = 1 << 20
"""Maximum size of a card, a configuration or a recipe."""
MAX_YAML_DEPTH = 32
MAX_METHOD = 64
"""Maximum characters of a quantisation's method."""
HUGE = 1e300
"""Exclusive bound of a weight in a merge."""
RELATIONS: Mapping[str, EdgeKind] = {
    "finetune": EdgeKind.FINE_TUNE,
    "adapter": EdgeKind.ADAPTER,
    "merge": EdgeKind.MERGE,
    "quantized": EdgeKind.QUANTISE,
    "distill": EdgeKind.DISTILL,
}
"""Kinds by the hub's `base_model_relation`; "distill" is ours, since the hub has no word for it."""


def front_matter(card: Path) -> dict[str, Any]:
    """The YAML between the first two lines of three hyphens; empty without it.  Raises FormatError."""
    text = _text(card)
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}
    try:
        end = next(i for i, line in enumerate(lines[1:], start=1) if line.strip() == "---")
    except StopIteration:
        raise FormatError(f"{card.name} has front matter that does not end (a line of ---).") from None
    return parsed_yaml("\n".join(lines[1:end]), card.name)


def parsed_yaml(text: str, name: str) -> dict[str, Any]:
    """A YAML mapping, read without aliases, tags or deep nesting.  Raises FormatError."""
    with needed_by("`blockful adopt`"):
        import yaml
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise FormatError(f"{name} has YAML aliases (*{event.anchor[:40]}): write the value out.")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_YAML_DEPTH:
                raise FormatError(f"{name} has YAML nested more than {MAX_YAML_DEPTH} levels deep.")
        document = yaml.load(text, Loader=loader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where is not None else ""
        said = getattr(error, "problem", None) or str(error)
        raise FormatError(f"{name} has YAML that cannot be read{line} ({said[:80]}).") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise FormatError(f"{name} has YAML that is no mapping.")
    return document


def names_in(document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Names under a key: one, a list, or none.  Raises FormatError for anything else."""
    value = document.get(key)
    if value is None:
        return ()
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) for each in listed):
        raise FormatError(f"{key} has to be a name or a list of names, not {str(value)[:60]!r}.")
    return tuple(require_short(each, key) for each in listed)


def relation_in(document: Mapping[str, Any]) -> EdgeKind | None:
    """The kind that the card states.  Raises FormatError for an unknown one."""
    stated = document.get("base_model_relation")
    if stated is None:
        return None
    if not isinstance(stated, str) or stated not in RELATIONS:
        raise FormatError(
            f"base_model_relation {str(stated)[:40]!r} is none of {', '.join(RELATIONS)}: correct the card."
        )
    return RELATIONS[stated]


PLAIN_LORA: Mapping[str, tuple[object, ...]] = {
    "peft_type": ("LORA",),
    "bias": ("none", None),
    **dict.fromkeys(("use_dora", "use_rslora", "fan_in_fan_out", "lora_bias"), (False, None)),
    **dict.fromkeys(("rank_pattern", "alpha_pattern"), ({}, None)),
    **dict.fromkeys(("modules_to_save", "target_parameters", "layer_replication"), (None,)),
    **dict.fromkeys(("alora_invocation_tokens", "trainable_token_indices"), (None,)),
}
"""Values of an adapter_config.json under which an adapter is scale B A; a missing key has such a value."""


def adapter_scale(config: Path) -> float:
    """alpha / r of a plain LoRA, by its adapter_config.json.  Raises FormatError for another adapter."""
    document = parsed_json(config, MAX_TEXT_BYTES)
    for key, values in PLAIN_LORA.items():
        if document.get(key, values[0]) not in values:
            raise FormatError(f"its adapter has {key} {str(document[key])[:40]}: apply it by peft.")
    alpha, rank = number_in(document.get("lora_alpha")), number_in(document.get("r"))
    if alpha is None or rank is None or rank < 1:
        raise FormatError(f"{config.name} has no lora_alpha and r, which are numbers.")
    return alpha / rank


def adapter_base(config: Path) -> str:
    """The base of an adapter, by its adapter_config.json.  Raises FormatError without one."""
    base = parsed_json(config, MAX_TEXT_BYTES).get("base_model_name_or_path")
    if not isinstance(base, str) or not base.strip():
        raise FormatError(f"{config.name} names no base (base_model_name_or_path).")
    return require_short(base, "base")


def quantisation_in(config: Path) -> str | None:
    """Method and bits by which a config.json says that the weights were quantised, such as "gptq, 4 bits".

    None if they were not.  Raises FormatError.
    """
    form = parsed_json(config, MAX_TEXT_BYTES).get("quantization_config")
    if not form:
        return None
    stated = form if isinstance(form, dict) else {}
    method, bits = stated.get("quant_method"), stated.get("bits")
    if not isinstance(method, str) or not method.isidentifier() or len(method) > MAX_METHOD:
        return "unnamed"
    if bits is None:
        bits = next((wide for wide in (4, 8) if stated.get(f"load_in_{wide}bit") is True), None)
    known = isinstance(bits, int) and not isinstance(bits, bool) and 0 < bits <= 64
    return f"{method}, {bits} bits" if known else method


def merge_recipe(recipe: Path) -> tuple[str | None, list[tuple[str, EdgeKind, float | None]]]:
    """Method of a mergekit recipe, and its parents with their weights, if each has one number.

    Raises FormatError for a recipe without models.
    """
    document = parsed_yaml(_text(recipe), recipe.name)
    method = document.get("merge_method")
    if method is not None and not isinstance(method, str):
        raise FormatError(f"{recipe.name} has a merge_method that is no name.")
    parents = [(name, EdgeKind.MERGE, weight) for name, weight in _sources(document, recipe.name)]
    base = document.get("base_model")
    parents += [(name, EdgeKind.MERGE, None) for name in model_names(base, recipe.name)]
    if not parents:
        raise FormatError(f"{recipe.name} names no model to merge.")
    return method, parents


def _sources(document: Mapping[str, Any], name: str) -> Iterator[tuple[str, float | None]]:
    """The models of a recipe, in `models` or in the slices' `sources`."""
    slices = _listed(document.get("slices"), name)
    entries = [*_listed(document.get("models"), name)]
    for each in slices:
        if not isinstance(each, dict):
            raise FormatError(f"{name} has a slice that is no mapping.")
        entries += _listed(each.get("sources"), name)
    for entry in entries:
        if not isinstance(entry, dict):
            raise FormatError(f"{name} has a model that is no mapping.")
        parameters = entry.get("parameters")
        weight: Any = parameters.get("weight") if isinstance(parameters, dict) else None
        number = number_in(weight)
        for model in model_names(entry.get("model"), name):
            yield model, number


def number_in(weight: Any) -> float | None:
    """A weight that is one number, below `HUGE`."""
    is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    return float(weight) if is_number and abs(weight) < HUGE else None


def model_names(value: Any, name: str) -> Iterable[str]:
    """A model, or a model and the adapter applied to it ("base+adapter")."""
    if value is None:
        return ()
    if isinstance(value, dict):
        inner = value.get("model")
        value = inner.get("path") if isinstance(inner, dict) else inner
    if not isinstance(value, str):
        raise FormatError(f"{name} has a model that is no name.")
    return [require_short(part, "model") for part in value.split("+")]


def _listed(value: Any, name: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise FormatError(f"{name} has to list its models.")
    return value


def _text(path: Path) -> str:
    try:
        return read_bounded(path, MAX_TEXT_BYTES).decode()
    except UnicodeDecodeError:
        raise FormatError(f"{path.name} is not in UTF-8.") from None
