# SPDX-License-Identifier: Apache-2.0
"""Rules for names of models and parties, so that terminals, files and pages can show any name."""

from __future__ import annotations

LONGEST = 64
"""Maximum length in characters."""


def name_fault(name: str, of: str = "model") -> str | None:
    """The reason why a name is invalid for a model, or for another thing (`of`); None if it is valid."""
    if not 1 <= len(name) <= LONGEST:
        return f"a {of}'s name has 1 to {LONGEST} characters, not {len(name)}"
    if not name.isprintable() or name != name.strip() or name[0] in ".-" or set(name) & set("/\\"):
        return (
            f"{name!r} is not a valid name of a {of}: use printable characters, no slash, no space at "
            "its ends, and no full stop or hyphen at its beginning"
        )
    return None


def require_name(name: str) -> str:
    """Returns a valid model name.  Raises ValueError for an invalid one."""
    if fault := name_fault(name):
        raise ValueError(fault)
    return name


def called(number: int | None, name: str | None) -> str:
    """A participant's number, followed by its own name in quotation marks."""
    return f'{number} "{name}"' if name else str(number)
