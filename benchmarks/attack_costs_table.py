# SPDX-License-Identifier: Apache-2.0
"""The figures of `benchmarks.attack_costs` as a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def markdown(runs: Sequence[Mapping[str, Any]]) -> str:
    """A page with a row for each attack and number of accounts, of the latest run that has it."""
    last = runs[-1]
    machine, commands = last["machine"], ", then ".join(f"`{run['command']}`" for run in runs)
    loads = [row["load"] for run in runs for row in run["rows"] if "load" in row]
    lines = [
        "# What attacks by participants cost",
        "",
        f"{commands}; {last['members']} members on "
        f"{machine['cpus']} shared cores, Python {machine['python']}, {machine['devnet'].capitalize()}, load "
        f"{spread(loads, '.0f')}; medians, with least and most. Seconds are those of an honest request, from "
        "its filing to its certificate, and how many times the mean of the nearest ones in peace, before and "
        "after. MiB are the peak of the largest member beside the "
        f"{last['torch_mib']:.0f} MiB of a process that only imports torch.",
        "",
        "| attack | accounts | n | gas | MB sent | did | s | times as long | member, MiB |",
        "|---|---:|---:|---:|---:|---|---:|---:|---:|",
    ]
    for number, run in enumerate(runs):
        rows: Sequence[Row] = run["rows"]
        peace = [row for row in rows if row["attack"] is None]
        lines.append(_line(f"none, run {number + 1}", 0, peace, ()))
        later = {row["attack"] for each in runs[number + 1 :] for row in each["rows"]}
        for kind in dict.fromkeys(row["attack"] for row in attacked(rows) if row["attack"] not in later):
            for accounts in sorted({row["accounts"] for row in rows if row["attack"] == kind}):
                lines.append(_measured(rows, kind, accounts))
    return "\n".join(lines) + "\n"


def attacked(rows: Iterable[Row]) -> list[Row]:
    """The rows of attacks."""
    return [row for row in rows if row["attack"] is not None]


def _measured(rows: Sequence[Row], kind: str, accounts: int) -> str:
    found = [n for n, row in enumerate(rows) if (row["attack"], row["accounts"]) == (kind, accounts)]
    ratios = [rows[n]["seconds"] / in_peace(rows, n) for n in found if "seconds" in rows[n]]
    return _line(kind, accounts, [rows[n] for n in found], ratios)


def in_peace(rows: Sequence[Row], place: int) -> float:
    """Mean seconds of the nearest requests without an attack, before a place and after it."""
    before = [row["seconds"] for row in rows[:place] if row["attack"] is None]
    after = [row["seconds"] for row in rows[place:] if row["attack"] is None]
    return float(statistics.mean([*before[-1:], *after[:1]]))


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
