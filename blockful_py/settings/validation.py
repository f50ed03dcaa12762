# SPDX-License-Identifier: Apache-2.0
"""Validates tables of settings with pydantic, and reports every fault in plain words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from blockful_py.errors import SettingsError
from blockful_py.settings.spelling import meant, unknown
from blockful_py.settings.text import listed

T = TypeVar("T")

KINDS = {
    "bool": "true or false",
    "dataclass": "a section",
    "dict": "a table",
    "float": "a number",
    "int": "a whole number",
    "string": "text",
    "tuple": "a list",
}
"""Types in plain words, by the first word of pydantic's error type."""


def validated(root: type[T], document: Mapping[str, Any]) -> T:
    """Builds `root`, a dataclass of sections, from the document.

    Raises SettingsError, which lists every unknown or missing key, and every value of a wrong type or range.
    """
    if not isinstance(document, Mapping):
        raise SettingsError(f"the document must be a table, not {document!r:.60}.")
    if twice := [*_named_twice(document)]:
        raise SettingsError(listed(twice))
    text = json.dumps(document, default=str)
    try:  # JSON has lists for tuples and text for keys; types are otherwise strict
        found: T = _adapter(cast(Any, root)).validate_json(text, strict=True)
    except ValidationError as error:
        raise SettingsError(listed(_faults(root, document, error))) from None
    return found


@cache
def _adapter(root: Any) -> TypeAdapter[Any]:
    """The validator of a dataclass; making it takes ten times as long as using it."""
    return TypeAdapter(root)


def _named_twice(document: Mapping[str, Any], *path: str) -> Iterator[str]:
    """Yields a sentence for each number that is the key of several values, as 1 and 01 are."""
    keys: dict[int, list[str]] = {}
    for key, value in document.items():
        if key.isdecimal():
            keys.setdefault(int(key), []).append(key)
        if isinstance(value, Mapping):
            yield from _named_twice(value, *path, key)
    for number, spelled in keys.items():
        if len(spelled) > 1:
            yield f"{'.'.join(path) or 'the document'} has {number} more than once: {', '.join(spelled)}."


def _faults(root: type, document: Mapping[str, Any], error: ValidationError) -> list[str]:
    """One sentence per place; a value with several allowed types fails as each of them."""
    wanted: dict[str, list[str]] = {}
    faults: dict[str, str] = {}
    for problem in error.errors():
        path, value = _place(document, problem["loc"])
        place = ".".join(path) or "the document"
        if problem["type"] == "unexpected_keyword_argument":
            faults[place] = unknown(root, path, value)
        elif problem["type"] == "missing":
            place = ".".join(map(str, problem["loc"]))
            faults[place] = f"{place} is missing."
        else:
            wanted.setdefault(place, []).append(_wanted(problem))
            suggestion = meant(value, _choices(problem))
            faults[place] = f"{place} must be {' or '.join(wanted[place])}, not {value!r}{suggestion}."
    return list(faults.values())


def _place(document: Any, location: Sequence[int | str]) -> tuple[list[str], Any]:
    """Keys that lead to the faulty value, without pydantic's type names, and the value."""
    path: list[str] = []
    for part in location:
        if part == "[key]":
            return path, path[-1]
        try:
            document = document[part]
        except (LookupError, TypeError):
            break
        path.append(str(part))
    return path, document


def _wanted(problem: Any) -> str:
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"]).removeprefix("must be ")
    choices = _choices(problem)
    if choices:
        return f"one of {', '.join(choices)}" if len(choices) > 1 else repr(choices[0])
    return KINDS.get(problem["type"].split("_")[0]) or str(problem["msg"])


def _choices(problem: Any) -> list[str]:
    """Values of an enumeration, from pydantic's "'a', 'b' or 'c'"."""
    if problem["type"] != "literal_error":
        return []
    expected: str = problem["ctx"]["expected"]
    return expected.replace(" or ", ", ").replace("'", "").split(", ")
