# SPDX-License-Identifier: Apache-2.0
"""Writes scale.md, scale.json and scale.png, and reads scale.json again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blockful_lab.experiments.scale.claims import Judged, judge
from blockful_lab.experiments.scale.drawing import draw
from blockful_lab.experiments.scale.growth import GROWN, GrowthPoint, exponents
from blockful_lab.experiments.scale.plan import MEMBERS
from blockful_lab.experiments.scale.points import FORMAT, ScalePoint
from blockful_lab.experiments.scale.real import RealRun
from blockful_lab.experiments.tabulate import machine_line
from blockful_lab.simulation.summary import Figure
from blockful_py.errors import FormatError, RunError
from blockful_py.report.plots.canvas import LIGHT
from blockful_py.whole_file import write_whole

DOCUMENT = "scale.json"
FILES = ("scale.md", DOCUMENT, "scale.png")


@dataclass(frozen=True, slots=True)
class ScaleResults:
    """All measurements; `points` includes the real runs."""

    command: str
    machine: Mapping[str, Any]
    points: Sequence[ScalePoint]
    growth: Sequence[GrowthPoint]
    real: Sequence[RealRun]


def write(results: ScaleResults, folder: Path) -> tuple[str, dict[str, Any]]:
    """The text of scale.md, and the document of scale.json.  Raises RunError if they cannot be written."""
    told = document(results)
    text = markdown(results)
    write_whole(folder / "scale.md", text, parents=True)
    write_whole(folder / DOCUMENT, json.dumps(told, indent=1) + "\n")
    write_whole(folder / "scale.png", draw(results.points, LIGHT))
    return text, told


def read(folder: Path) -> ScaleResults:
    """Reads scale.json.  Raises RunError without it, FormatError if it is damaged."""
    path = folder / DOCUMENT
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return ScaleResults(
            told["command"],
            told["machine"],
            [_point(each) for each in told["points"]],
            [GrowthPoint(**each) for each in told["growth"]],
            [RealRun(**{**each, "sources": tuple(each["sources"])}) for each in told["real"]],
        )
    except FileNotFoundError:
        raise RunError(f"{folder} has no {DOCUMENT}: leave --render-only out.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} is no result of this experiment ({error}): delete it and rerun.") from None


def _point(told: Mapping[str, Any]) -> ScalePoint:
    figures = {name: Figure(**told[name]) for name in ("throughput", "latency", "share")}
    return ScalePoint(**{**told, **figures})


def document(results: ScaleResults) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "command": results.command,
        "machine": dict(results.machine),
        "members": MEMBERS,
        "claims": [asdict(each) for each in judge(results.points)],
        "points": [asdict(each) for each in results.points],
        "growth": [asdict(each) for each in results.growth],
        "exponents": {over: dict(_exponents(results.growth, over)) for over in ("models", "members")},
        "real": [asdict(each) for each in results.real],
    }


def markdown(results: ScaleResults) -> str:
    parts = [
        f"```text\n{results.command}\n```",
        machine_line(results.machine),
        "![Figures (a) to (l)](scale.png)",
        "## The paper's claims\n\n" + _claims(judge(results.points)),
        "## Growth\n\n" + _growth(results.growth),
        *(["## Real runs\n\n" + _real(results.real)] if results.real else []),
        "## Points\n\nMean over the seeds, least to most, n.\n\n" + _points(results.points),
    ]
    return "# Scale\n\n" + "\n\n".join(parts) + "\n"


def _claims(judged: Sequence[Judged]) -> str:
    rows = [f"| {each.panels} | {each.claim} | **{each.verdict}** | {each.figures} |" for each in judged]
    return "\n".join(["| figure | the paper | here | figures |", "|---|---|---|---|", *rows])


def _growth(points: Sequence[GrowthPoint]) -> str:
    lines = [
        "| over | x | simulated s | gas | MB on the chains | J | the simulator's s | its MiB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for over in ("models", "members"):
        lines += [
            f"| {each.over} | {each.x:,} | {each.seconds:,.4g} | {each.gas:,.0f} "
            f"| {each.chain_bytes / 1e6:,.4g} | {each.joules:,.4g} | {each.processor:.3g} "
            f"| {each.mebibytes:,.0f} |"
            for each in points
            if each.over == over
        ]
        found = _exponents(points, over)
        if found:
            lines.append(
                f"| {over} | exponent | " + " | ".join(f"{found[name]:.2f}" for name in GROWN) + " |"
            )
    return "\n".join(lines)


def _exponents(points: Sequence[GrowthPoint], over: str) -> Mapping[str, float]:
    return exponents([each for each in points if each.over == over])


def _real(runs: Sequence[RealRun]) -> str:
    lines = [
        "| paradigm | requests | models | s | processor s | simulated s | error | counts = formula | J |",
        "|---|---:|---:|---:|---:|---:|---:|---|---|",
    ]
    lines += [
        f"| {each.paradigm} | {each.requests} | {each.models} | {each.seconds:.3g} | {each.processor:.3g} "
        f"| {each.simulated:.3g} | {each.error:+.0%} | {'yes' if each.counted == each.formula else 'no'} "
        f"| {sum(each.joules.values()):.3g} ({', '.join(each.sources)}) |"
        for each in runs
    ]
    return "\n".join(lines)


def _points(points: Sequence[ScalePoint]) -> str:
    lines = [
        "| figures | curve | kind | x | requests/s | latency, s | s of the whole a request |",
        "|---|---|---|---:|---|---|---|",
    ]
    lines += [
        f"| {', '.join(each.panels)} | {each.curve} | {each.kind} | {each.x:,} | {each.throughput} "
        f"| {each.latency} | {each.share} |"
        for each in points
    ]
    return "\n".join(lines)
