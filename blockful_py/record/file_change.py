# SPDX-License-Identifier: Apache-2.0
"""Differences between two federation files, and the entries that a change must not touch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from blockful_py.errors import RefusedError
from blockful_py.record.federation_file import FederationFile

LASTING = (
    "contracts",
    "public.initial",
    "federation.scenario",
    "federation.users",
    "federation.graph",
    "learning.model",
    "learning.options",
    "committee.roster",
    "committee.size",
    "committee.election",
    "access.participants",
    "chain.live_chain_id",
    "chain.archive_chain_id",
)
"""Entries that can never change: the contracts hold them, or the published models depend on them."""
WHILE_OPEN = ("public.measuring", "learning", "unlearning", "committee.attested")
"""Entries fixed while a request is open: its parts were made, and are checked, by these rules."""
NOTHING = "nothing"
SHOWN = 200
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An entry of the file that a change alters; `key` is its dotted path."""

    key: str
    before: str
    after: str

    def __str__(self) -> str:
        key = "".join(each if each.isprintable() else "?" for each in self.key)
        return f"{key:.{SHOWN}}: {self.before:.{SHOWN}} -> {self.after:.{SHOWN}}"

    def concerns(self, keys: Sequence[str]) -> bool:
        """Whether it is one of the keys, or below one."""
        return any(self.key == key or self.key.startswith(f"{key}.") for key in keys)


def differences(before: FederationFile, after: FederationFile) -> tuple[Difference, ...]:
    """Every entry that differs, in the order of the files."""
    old, new = (dict(_entries(asdict(file))) for file in (before, after))
    return tuple(
        Difference(key, _shown(old, key), _shown(new, key))
        for key in dict.fromkeys((*old, *new))
        if old.get(key) != new.get(key)
    )


def require_allowed(changed: Sequence[Difference], open_requests: Sequence[int]) -> None:
    """Checks that a change is allowed, given the open requests.  Raises RefusedError if not."""
    fixed = [str(each) for each in changed if each.concerns(LASTING)]
    if fixed:
        raise RefusedError(
            f"no change of the federation file may alter {'; '.join(fixed)}: the contracts or the published "
            "models depend on it. Found another federation for that."
        )
    held = [str(each) for each in changed if each.concerns(WHILE_OPEN)]
    if held and open_requests:
        raise RefusedError(
            f"request {', '.join(map(str, open_requests))} is open, and its parts are checked by the rules "
            f"under which they were made: {'; '.join(held)}. Repeat this when it is done or its deadline is "
            "over."
        )
    if not changed:
        raise RefusedError("the new federation file equals the present one.")


def _entries(document: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        key = f"{above}{name}"
        if isinstance(value, dict):
            yield from _entries(value, f"{key}.")
        elif value is not None:
            yield key, value


def _shown(entries: Mapping[str, Any], key: str) -> str:
    return repr(entries[key]) if key in entries else NOTHING
