# SPDX-License-Identifier: Apache-2.0
"""The figures of `benchmarks.attack_costs` as a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MIB = 1 << 20
Row = Mapping[str, Any]


def markdown(document: Mapping[str, Any]) -> str:
    """A row for each attack and number of accounts."""
    rows: Sequence[Row] = document["rows"]
    peace = [row for row in rows if row["attack"] is None]
    honest = statistics.median(row["seconds"] for row in peace)
    lines = [
        f"In peace: {spread((row['seconds'] for row in peace), '.0f')} s (n = {len(peace)}), "
        f"a member's memory {spread((row['member_mib'] for row in peace), '.0f')} MiB beside torch.",
        "",
        "| attack | accounts | n | gas | MB sent | did | s | times as long | member, MiB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for kind in dict.fromkeys(row["attack"] for row in rows if row["attack"]):
        for accounts in sorted({row["accounts"] for row in rows if row["attack"] == kind}):
            lines.append(
                _line(kind, accounts, [each for each in rows if _is_of(each, kind, accounts)], honest)
            )
    return "\n".join(lines)


def _is_of(row: Row, kind: str, accounts: int) -> bool:
    return bool(row["attack"] == kind and row["accounts"] == accounts)


def _line(kind: str, accounts: int, found: Sequence[Row], honest: float) -> str:
    done = [row for row in found if "seconds" in row]
    did = ", ".join(f"{number:,} {what}" for what, number in found[0]["done"].items())
    cells = (
        kind,
        accounts,
        len(found),
        spread((row["gas"] for row in found), ",.0f"),
        spread(((row["sent"] + row["calldata"]) / 1e6 for row in found), ".1f"),
        did,
        spread((row["seconds"] for row in done), ".0f") if done else "not done",
        spread((row["seconds"] / honest for row in done), ".1f") if done else "",
        spread((row["member_mib"] for row in done), ".0f") if done else "",
    )
    return f"| {' | '.join(map(str, cells))} |"


def spread(values: Iterable[float], form: str) -> str:
    """The median, and least and most where there are several."""
    found = sorted(values)
    middle = format(statistics.median(found), form)
    if len(found) == 1:
        return middle
    return f"{middle} ({format(found[0], form)} to {format(found[-1], form)})"
