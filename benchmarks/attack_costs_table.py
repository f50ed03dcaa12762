# SPDX-License-Identifier: Apache-2.0
"""The figures of `benchmarks.attack_costs` as a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def markdown(document: Mapping[str, Any]) -> str:
    """A page with a row for each attack and number of accounts."""
    rows: Sequence[Row] = document["rows"]
    peace = [row for row in rows if row["attack"] is None]
    machine = document["machine"]
    lines = [
        "# What attacks by participants cost",
        "",
        f"`{document['command']}`, {document['members']} members on {machine['cpus']} shared cores, "
        f"Python {machine['python']}, {machine['devnet'].capitalize()}, load "
        f"{spread((row['load'] for row in rows if 'load' in row), '.0f')}; medians, with least and most. "
        "Seconds are those of an honest request, from its filing to its certificate, and how many times the "
        "mean of the nearest ones in peace, before and after. MiB are the peak of the largest member beside "
        f"the {document['torch_mib']:.0f} MiB of a process that only imports torch.",
        "",
        "| attack | accounts | n | gas | MB sent | did | s | times as long | member, MiB |",
        "|---|---:|---:|---:|---:|---|---:|---:|---:|",
        _line("none", 0, peace, ()),
    ]
    for kind in dict.fromkeys(row["attack"] for row in rows if row["attack"]):
        for accounts in sorted({row["accounts"] for row in rows if row["attack"] == kind}):
            found = [n for n, row in enumerate(rows) if (row["attack"], row["accounts"]) == (kind, accounts)]
            ratios = [rows[n]["seconds"] / in_peace(rows, n) for n in found if "seconds" in rows[n]]
            lines.append(_line(kind, accounts, [rows[n] for n in found], ratios))
    return "\n".join(lines) + "\n"


def in_peace(rows: Sequence[Row], place: int) -> float:
    """Mean seconds of the nearest requests without an attack, before a place and after it."""
    before = [row["seconds"] for row in rows[:place] if row["attack"] is None]
    after = [row["seconds"] for row in rows[place:] if row["attack"] is None]
    return statistics.mean([*before[-1:], *after[:1]])


def _line(kind: str, accounts: int, found: Sequence[Row], ratios: Sequence[float]) -> str:
    done = [row for row in found if "seconds" in row]
    did = ", ".join(f"{number:,} {what}" for what, number in found[0].get("done", {}).items())
    cells = (
        kind,
        accounts or "",
        len(found),
        spread((row["gas"] for row in found if "gas" in row), ",.0f"),
        spread(((row["sent"] + row["calldata"]) / 1e6 for row in found if "sent" in row), ".1f"),
        did,
        spread((row["seconds"] for row in done), ".0f") or "not done",
        spread(ratios, ".2f"),
        spread((row["member_mib"] for row in done), ".0f"),
    )
    return f"| {' | '.join(map(str, cells))} |"


def spread(values: Iterable[float], form: str) -> str:
    """The median, and least and most where there are several; nothing of nothing."""
    found = sorted(values)
    if not found:
        return ""
    middle = format(statistics.median(found), form)
    if len(found) == 1:
        return middle
    return f"{middle} ({format(found[0], form)} to {format(found[-1], form)})"
