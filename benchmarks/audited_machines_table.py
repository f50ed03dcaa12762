# SPDX-License-Identifier: Apache-2.0
"""The requests of `audited_machines`, and the table of their audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from blockful_lab.experiments.tabulate import machine_line
from blockful_py.forget import Level
from blockful_py.types import Paradigm
from blockful_py.verdicts.outcome import row_from_json
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL
from blockful_py.verdicts.verdict import judge, place

MACHINES = "machines"
OTHERS = 3
"""More trainings that never had the data, for the spread of their AUC."""


@dataclass(frozen=True)
class Asked:
    """A request: its level and paradigm, who asks, and the class to forget at level class."""

    level: Level
    paradigm: Paradigm
    participant: int
    label: int = 0

    def __str__(self) -> str:
        what = f"class {self.label}" if self.level is Level.CLASS else f"{self.level} ({self.participant})"
        return f"{what}, {self.paradigm}"


REQUESTS = (
    Asked(Level.CLASS, Paradigm.PARALLEL, 1, 3),
    Asked(Level.CLASS, Paradigm.SEQUENTIAL, 1, 4),
    Asked(Level.CLIENT, Paradigm.PARALLEL, 1),
    Asked(Level.CLIENT, Paradigm.SEQUENTIAL, 2),
    Asked(Level.SAMPLE, Paradigm.PARALLEL, 1),
    Asked(Level.SAMPLE, Paradigm.SEQUENTIAL, 2),
)


def table(result: Mapping[str, Any]) -> str:
    """A line for each request, over all seeds."""
    lines = [
        "# Audited: what a federation of processes made forget",
        "",
        f"`{result['command']}`",
        "",
        machine_line(result["machine"]),
        "",
        "Examples' federation of five processes, all owners hold all classes; one federation for each level "
        "and seed, whose second request meets what the first left. Samples: a quarter of a participant's. "
        "AUC: of the class's logit on held-out samples, otherwise of the true label's probability, forgotten "
        "samples against held-out ones; mean over models and seeds, least and most. Never had it: gold, "
        f"gold2 and {OTHERS} other trainings without the data, on the same graph. AD_r: on held-out samples "
        "of the other classes.",
        "",
        "| request (participant) | seeds; models replaced, of them means of references; withdrawn | verdict "
        "| AD_f before, after, gold | AD_r before, after, gold | AUC before | after | never had it |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for level, seeds in result["levels"].items():
        for at, request in enumerate(each for each in REQUESTS if each.level == level):
            cells = line([found[at] for found in seeds.values()], request.level)
            lines.append(f"| {request} | {cells} |")
    return "\n".join([*lines, ""])


def line(each: Sequence[Mapping[str, Any]], level: Level) -> str:
    rows = [{row.method: row for row in map(row_from_json, found["rows"])} for found in each]
    placed = {
        name: [one for at, row in enumerate(rows) for one in place(row[name], row[GOLD], row[ORIGINAL], at)]
        for name in (MACHINES, GOLD2)
    }
    verdict = judge(placed[MACHINES], placed[GOLD2], classes=level is Level.CLASS)
    verdict = replace(verdict, exact=all(found["exact"] for found in each))
    knew = [value for found in each for value in found["auc"][ORIGINAL]]
    now = [value for found in each for value in found["auc"][MACHINES]]
    never = [
        value
        for found in each
        for some in (found["auc"][GOLD], found["auc"][GOLD2], *found["others"])
        for value in some
    ]
    ad_f, ad_r = (
        ", ".join(
            f"{100 * fmean(getattr(model, figure) for row in rows for model in row[name].models):.1f}"
            for name in (ORIGINAL, MACHINES, GOLD)
        )
        for figure in ("ad_f_test", "ad_r_test")
    )
    count = sum(len(row[MACHINES].models) for row in rows)
    means, gone = (sum(len(found[what]) for found in each) for what in ("untrained", "withdrawn"))
    cells = (
        f"{len(each)}; {count}, {means}; {gone}",
        str(verdict),
        ad_f,
        ad_r,
        *map(spread, (knew, now, never)),
    )
    return " | ".join(cells)


def spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.2f} ({min(values):.2f} to {max(values):.2f})"
