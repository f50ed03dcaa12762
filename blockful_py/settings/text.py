# SPDX-License-Identifier: Apache-2.0
"""Settings as text: TOML files, command-line overrides, and lists of faults."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blockful_py.bounded_json import require_shallow
from blockful_py.errors import SettingsError


def read_document(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.  Raises SettingsError if the file is missing or not TOML."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        require_shallow(text.encode())
        return tomllib.loads(text)
    except FileNotFoundError:
        raise SettingsError(
            f"there is no settings file {path}: name one; `blockful init` writes an example."
        ) from None
    except ValueError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None


def apply_override(document: dict[str, Any], override: str) -> None:
    """Applies `section.key=value`; a value that is not TOML counts as text.  Raises SettingsError."""
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise SettingsError(f"an override looks like section.key=value, not {override!r}")
    try:
        require_shallow(text.encode())
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    except ValueError as error:
        raise SettingsError(f"the override of {key.strip()!r} cannot be read: {error}.") from None
    *sections, last = key.strip().split(".")
    place = document
    for section in sections:
        place = place.setdefault(section, {})
        if not isinstance(place, dict):
            raise SettingsError(f"{section!r} in override {override!r} is not a section")
    place[last] = value


def listed(faults: Sequence[str]) -> str:
    """One fault unchanged; several as a list, one per line."""
    if len(faults) == 1:
        return faults[0]
    return "\n".join([f"{len(faults)} settings are wrong:", *(f"- {fault}" for fault in faults)])
