# SPDX-License-Identifier: Apache-2.0
"""Suggestions for unknown keys and names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from difflib import get_close_matches
from typing import Any, get_args, get_type_hints


def meant(word: Any, known: Sequence[str]) -> str:
    """A suggestion, ` (did you mean 'organic'?)`, if a known name is close to the word; otherwise empty."""
    close = get_close_matches(str(word), known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def unknown(root: type, path: Sequence[str], value: Any) -> str:
    """A sentence about a key that the sections of `root` lack."""
    sections = dict(_sections(root))
    *above, key = path
    place, section = ".".join(path), ".".join(above)
    siblings = sections.get(section, ())
    nested = [name for name in sections if name]
    if isinstance(value, dict):
        close = get_close_matches(place, nested, n=1)
        if close:
            return f"{place} is an unknown section (did you mean [{close[0]}]?)."
    close = get_close_matches(key, siblings, n=1)
    if close:
        name = ".".join([*above, close[0]])
        return f"{place} is an unknown setting (did you mean {name!r}?)."
    homes = [name for name in nested if key in sections[name]]
    if homes:
        return f"{place} is an unknown setting: `{key}` belongs to [{'] or ['.join(homes)}]."
    for name in nested:
        close = get_close_matches(key, sections[name], n=1, cutoff=0.75)
        if close:
            return f"{place} is an unknown setting (did you mean '{name}.{close[0]}'?)."
    where = f"[{section}] has" if section else "there are"
    return f"{place} is an unknown setting: {where} {', '.join(siblings)}."


def _sections(section: type, place: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Keys of each section, by the section's dotted name; "" is the top level."""
    hints = {key: hint for key, hint in get_type_hints(section).items() if not key.startswith("_")}
    yield place, tuple(hints)
    for key, hint in hints.items():
        for inner in (hint, *get_args(hint)):
            if is_dataclass(inner) and isinstance(inner, type):
                yield from _sections(inner, f"{place}.{key}" if place else key)
