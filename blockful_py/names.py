# SPDX-License-Identifier: Apache-2.0
"""Names of models and parties: what they may be, so that terminals, files and pages can show any."""

from __future__ import annotations

LONGEST = 64
"""Characters."""


def name_fault(name: str, of: str = "model") -> str | None:
    """What is wrong with the name of a model, or of something else; None for nothing."""
    if not 1 <= len(name) <= LONGEST:
        return f"a {of}'s name has 1 to {LONGEST} characters, not {len(name)}"
    if not name.isprintable() or name != name.strip() or name[0] in ".-" or set(name) & set("/\\"):
        return (
            f"{name!r} is no name of a {of}: it has characters that can be printed, no slash, no space at "
            "its ends, and begins with neither a full stop nor a hyphen"
        )
    return None


def require_name(name: str) -> str:
    """Raises ValueError for what is no name of a model."""
    if fault := name_fault(name):
        raise ValueError(fault)
    return name
