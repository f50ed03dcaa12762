# SPDX-License-Identifier: Apache-2.0
"""One change of one field of a JSON document, for every field that it has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from typing import Any

Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every text, number, truth value and null, by its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*path, number))
    else:
        yield path, value


def lists(value: Any, path: Path = ()) -> Iterator[tuple[Path, list[Any]]]:
    """Every list that is not empty, by its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from lists(item, (*path, key))
    elif isinstance(value, list) and value:
        yield path, value
        for number, item in enumerate(value):
            yield from lists(item, (*path, number))


def altered(value: Any) -> Iterator[Any]:
    """Other values of the same type and form: the first, a middle and the last character, numbers beside."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        if value:
            yield value - 1
    elif isinstance(value, float):
        yield value / 2 + 0.125
    elif isinstance(value, str):
        for place in sorted({0, 2, len(value) // 2, len(value) - 1}):
            if place < len(value):
                yield value[:place] + _other(value[place]) + value[place + 1 :]
        yield value + "0"
        yield value[:-1]


def replaced(document: Any, path: Path, value: Any) -> Any:
    """The document with another value at a path."""
    copy = deepcopy(document)
    parent = copy
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    return copy


def spelt(document: Any) -> bytes:
    """As documents are written."""
    return json.dumps(document, sort_keys=True, indent=1).encode() + b"\n"


def one_change_each(data: bytes, ways: int = 6) -> Iterator[tuple[Path, bytes]]:
    """Documents with one field altered, in so many ways, or an item of a list left out or given twice."""
    document = json.loads(data)
    for path, value in leaves(document):
        for other in islice(altered(value), ways):
            yield path, spelt(replaced(document, path, other))
    for path, items in lists(document):
        yield path, spelt(replaced(document, path, items[1:]))
        yield path, spelt(replaced(document, path, [items[0], *items]))
        if len(items) > 1 and items[0] != items[1]:
            yield path, spelt(replaced(document, path, [items[1], items[0], *items[2:]]))


def _other(character: str) -> str:
    return "1" if character != "1" else "2"
