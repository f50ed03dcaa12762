# SPDX-License-Identifier: Apache-2.0
"""The figures of `benchmarks.machines` as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.relays import total

MIB = 1 << 20
Line = Mapping[str, Any]


def markdown(lines: Sequence[Line]) -> str:
    """A page with a table for each question."""
    machine = lines[0]["machine"]
    return "\n".join(
        [
            "# A federation of processes",
            "",
            f"`python -m benchmarks.machines`, {machine['cores']} cores, Python {machine['python']}, one run "
            "of each case. Seconds are wall-clock, CPU seconds of all processes of a kind together; load is "
            "that of the machine at the end of the stage.",
            "",
            *_table(
                "## Time",
                (
                    "case",
                    "participants",
                    "stage",
                    "s",
                    "models",
                    "CPU s: participants",
                    "members",
                    "chains",
                    "commands",
                    "relays",
                    "load",
                ),
                (_time(line) for line in lines),
            ),
            *_table(
                "## Memory at the end of a stage, MiB",
                (
                    "case",
                    "participants",
                    "stage",
                    "a waiting participant (RSS)",
                    "with torch",
                    "a member (RSS)",
                    "a process at work, most (RSS)",
                    "at work at once, most",
                    "all processes, most (PSS)",
                    "machine, least available",
                ),
                (_memory(line) for line in lines),
            ),
            *_table(
                "## Calls and bytes",
                ("case", "participants", "stage", "from", "to", "HTTP requests", "calls", "KiB"),
                (row for line in lines for row in _calls(line)),
            ),
        ]
    )


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    body = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return [title, "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *body, ""]


def _case(line: Line) -> tuple[Any, ...]:
    wave = f", waves of {line['wave']}" if line["wave"] != 5 else ""
    return (
        f"{line['label']}{wave}",
        line["users"],
        f"{line['stage']} of {line['rounds']}" if line["stage"].startswith("round") else line["stage"],
    )


def _time(line: Line) -> tuple[Any, ...]:
    cpu = line["cpu"]
    spent = (
        f"{cpu[kind]:.1f}" if kind in cpu else ""
        for kind in ("participant", "member", "chain", "commands", "relays")
    )
    models = line.get("published", line.get("replaced", ""))
    return *_case(line), line["seconds"], models, *spent, f"{line['load']:.1f}"


def _memory(line: Line) -> tuple[Any, ...]:
    processes, most = line["processes"], line["most"]
    waiting, member = processes.get("participant", {}), processes.get("member", {})
    return (
        *_case(line),
        _range(waiting),
        waiting.get("with torch", ""),
        _range(member),
        _mib(most["rss"].get("work", 0)) if "work" in most["rss"] else "",
        most["at work"],
        _mib(most["pss"]),
        _mib(most["least available"]),
    )


def _calls(line: Line) -> Iterable[tuple[Any, ...]]:
    for key, counts in sorted(line["calls"].items()):
        caller, _, target = key.partition(" -> ")
        requests, size = total(counts)
        calls = sum(n for name, n in counts.items() if name not in ("connections", "sent", "received"))
        calls -= requests
        yield *_case(line), caller, target, requests, calls or "", f"{size / 1024:.0f}"


def _range(found: Mapping[str, int]) -> str:
    if not found:
        return ""
    return f"{_mib(found['least rss'])} to {_mib(found['most rss'])}"


def _mib(size: int) -> str:
    return f"{size / MIB:.0f}"
