# SPDX-License-Identifier: Apache-2.0
"""The page of all settings, from their declarations and docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from blockful_py.settings import Settings
from blockful_py.settings.section import Range

ATTRIBUTE = re.compile(r"^    (\w[\w, ]*): ", re.MULTILINE)
HEAD = """# Settings

All of them stand in one TOML file; `blockful init` writes one to start from. `--set section.key=value`
overrides one of them for a command. A table of the file is a section of this page."""


def settings_page() -> str:
    """Markdown: a table for every section, a row for every setting."""
    return "\n\n".join([HEAD, *(part for path, section in sections() for part in _section(path, section))])


def sections(path: str = "", section: type[Any] = Settings) -> Iterator[tuple[str, type[Any]]]:
    """All sections by their dotted names, the whole under the empty one."""
    yield path, section
    for name, hint in get_type_hints(section, include_extras=True).items():
        inner = _nested(hint)
        if inner is not None:
            yield from sections(f"{path}.{name}".lstrip("."), inner)


def described(section: type[Any]) -> dict[str, str]:
    """The docstrings of every setting of a section and its bases, by name."""
    found: dict[str, str] = {}
    for kind in reversed(section.__mro__):
        _, _, text = cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")
        _, *parts = ATTRIBUTE.split(text)
        for names, meaning in zip(parts[::2], parts[1::2], strict=True):
            found |= dict.fromkeys(re.split(r", | and ", names), " ".join(meaning.split()))
    return found


def _section(path: str, section: type[Any]) -> Iterator[str]:
    """A section's own settings, without nested sections."""
    hints, texts = get_type_hints(section, include_extras=True), described(section)
    if path:
        yield f"## {path}"
        yield cleandoc(section.__doc__ or "").partition("\nAttributes:\n")[0].strip()
    own = [each for each in fields(section) if _nested(hints[each.name]) is None]
    rows = [
        f"| `{each.name}` | {_kind(hints[each.name])} | {_default(each)} | {texts.get(each.name, '')} |"
        for each in own
    ]
    yield "\n".join(["| setting | values | default | meaning |", "|---|---|---|---|", *rows])


def _nested(hint: Any) -> type[Any] | None:
    """The section that a hint names, alone or beside None."""
    for each in (hint, *get_args(hint)):
        if isinstance(each, type) and is_dataclass(each):
            return each
    return None


def _kind(hint: Any) -> str:
    """The values that a hint allows, in words."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [str(each) for each in hint.__metadata__ if isinstance(each, Range)]
        return ", ".join([_kind(inner[0]), *bounds])
    if origin is Literal:
        return ", ".join(f'`"{each}"`' for each in inner)
    if origin in (Union, UnionType):
        return " or ".join(_kind(each) for each in inner if each is not NoneType)
    if origin is tuple:
        return f"list of {_kind(inner[0])}"
    if origin is dict:
        return f"table of {_kind(inner[1])}"
    names = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return names.get(hint, "table")


def _default(setting: Field[Any]) -> str:
    value = setting.default_factory() if setting.default_factory is not MISSING else setting.default
    if value is MISSING:
        return "none: has to be set"
    if value is None or is_dataclass(value):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "`[{}]`".format(", ".join(f'"{x}"' if isinstance(x, str) else str(x) for x in value))
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"
