# SPDX-License-Identifier: Apache-2.0
"""What `requests_in_turn` measured, judged by groups of requests, as JSON and as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

from blockful_lab.experiments.protocol import Cell
from blockful_lab.experiments.results import Result
from blockful_lab.experiments.summary import summarise
from blockful_lab.experiments.tabulate import document, machine_line
from blockful_py.forget import Level
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import row_from_json
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL

UNLEARNED = "unlearned"
ROWS = (ORIGINAL, GOLD, GOLD2, UNLEARNED)
AT_ONCE, LAST, ELSEWHERE = "at once", "after the tenth", "after the tenth, elsewhere"


@dataclass(frozen=True)
class Group:
    """Requests whose models are judged together.

    Attributes:
        anew: whether an exact method is to have made all models anew before the request, or later; None:
            either way.
    """

    when: str
    level: Level
    anew: tuple[str, bool] | None = None

    def holds(self, request: Mapping[str, Any]) -> bool:
        return request["level"] == self.level and (self.anew is None or request[self.anew[0]] == self.anew[1])


GROUPS = (
    *(Group(when, Level.CLASS) for when in (AT_ONCE, LAST)),
    *(
        Group(when, level, (which, there))
        for when, which in ((AT_ONCE, "anew before"), (LAST, "anew later"), (ELSEWHERE, "anew later"))
        for level in (Level.CLIENT, Level.SAMPLE)
        for there in (False, True)
    ),
)


def report(measured: Mapping[Cell, Mapping[str, Any]], command: str) -> dict[str, Any]:
    """Figures and verdicts of each group, over all seeds that have some of it."""
    about = next(iter(measured.values()))
    return {
        "command": command,
        "machine": about["machine"],
        "data": next(iter(measured)).data,
        "epochs": {str(cell.seed): found["recipe"]["epochs"] for cell, found in measured.items()},
        "order": {
            str(cell.seed): [_told(request) for request in found["requests"]]
            for cell, found in measured.items()
        },
        "gold passes": {str(cell.seed): found["gold passes"] for cell, found in measured.items()},
        "groups": [found for group in GROUPS if (found := _judged(group, measured))],
    }


def _told(request: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: request[key] for key in ("level", "method", "exact after the tenth", "passes")}
    return {**told, "models": len(request["reached"]), "seconds": round(request["seconds"], 2)}


def _judged(group: Group, measured: Mapping[Cell, Mapping[str, Any]]) -> dict[str, Any] | None:
    results: list[Result] = []
    aucs: dict[str, list[float]] = {name: [] for name in ROWS}
    count = 0
    for cell, found in measured.items():
        requests = [request for request in found["requests"] if group.holds(request)]
        parts = [_rows(group.when, request) for request in requests]
        if not any(part[0].models for part in parts):
            continue
        count += len(parts)
        which = "exact at once" if group.when == AT_ONCE else "exact after the tenth"
        exact = all(request[which] for request in requests)
        for place, name in enumerate(ROWS):
            row = Row(name, tuple(model for part in parts for model in part[place].models))
            aucs[name] += [model.auc for model in row.models]
            results.append(
                Result(
                    replace(cell, level=group.level),
                    {},
                    row,
                    None,
                    0.0,
                    "",
                    "",
                    {},
                    {},
                    0.0,
                    0,
                    exact and name == UNLEARNED,
                )
            )
    if not results:
        return None
    told = document({("", "", group.level): summarise(results)}, {})["scenarios"][0]["methods"]
    kept = ("models", "seeds", "verdict", "forgotten", "intact", "exact", "criteria", "figures")
    by_name = {
        method["method"]: {key: method[key] for key in kept}
        | {"auc": round(fmean(aucs[method["method"]]), 6)}
        for method in told
    }
    return {**asdict(group), "requests": count, **by_name}


def _rows(when: str, request: Mapping[str, Any]) -> list[Row]:
    """Of the models that a request reached, or of the others."""
    reached = set(request["reached"])
    found = [row_from_json(row) for row in request[AT_ONCE if when == AT_ONCE else LAST]]
    return [
        Row(row.method, tuple(one for one in row.models if (one.model in reached) != (when == ELSEWHERE)))
        for row in found
    ]


HEAD = (
    "audited", "requests; models", "AD_f: original, gold", "AD_f", "AD_r - gold (p5)", "membership", "AUC",
    "AUC: original, gold", "relearn closed", "JS", "verdict",
)  # fmt: skip

LEGEND = (
    "Percent. AD_f: mean of train and test. AD_r - gold: on test data of what is still to be known, in "
    "brackets the value that 5 % of the models fall below. Membership, AUC (mean first) and JS: gap "
    "to gold in times the floor, with the 95 % bootstrap interval over seeds and models. At once: against "
    "gold without the request and those before; after the tenth: without all ten. Elsewhere: models that the "
    "request did not reach. Anew: a class was forgotten, which makes all models anew. Exact: "
    "the bits do not depend on what was forgotten. Passes: of gold without all ten."
)


def markdown(result: Mapping[str, Any]) -> str:
    """The orders, then a line for each group."""
    lines = [f"# Requests one after the other: {result['data']}", "", f"`{result['command']}`", ""]
    lines += [machine_line(result["machine"]), "", LEGEND, ""]
    lines += [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    lines += [_line(group) for group in result["groups"]]
    lines += ["", "## Order", "", "| seed | epochs | requests: models reached; passes, % of gold's |"]
    lines += ["|---|---|---|"]
    for seed, order in result["order"].items():
        asked = ", ".join(
            f"{each['level']} {each['models']}; {100 * each['passes'] / result['gold passes'][seed]:.0f}"
            for each in order
        )
        lines.append(f"| {seed} | {result['epochs'][seed]} | {asked} |")
    return "\n".join([*lines, ""])


def _line(group: Mapping[str, Any]) -> str:
    judged = group[UNLEARNED]
    figures, criteria = judged["figures"], {one["name"]: one for one in judged["criteria"]}
    line = "" if group["anew"] is None else f", {'' if group['anew'][1] else 'none '}{group['anew'][0]}"
    damage, closed = figures["damage"], criteria.get("relearn closed")
    cells = [
        f"{group['level']}, {group['when']}{line}",
        f"{group['requests']}; {judged['models']}",
        ", ".join(f"{_ad_f(group[name]):.1f}" for name in (ORIGINAL, GOLD)),
        f"{_ad_f(judged):.1f}",
        f"{0 - 100 * damage['mean']['value']:+.1f} ({0 - 100 * damage['tail']['value']:+.1f})",
        _times(figures.get("membership")),
        f"{100 * judged['auc']:.1f}; {_times(figures.get('auc'))}",
        ", ".join(f"{100 * group[name]['auc']:.1f}" for name in (ORIGINAL, GOLD)),
        "-" if closed is None else "{:.0f} ({:.0f} to {:.0f})".format(
            *(100 * closed[key] for key in ("value", "low", "high"))
        ),
        _times(figures.get("divergence")),
        judged["verdict"],
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _ad_f(method: Mapping[str, Any]) -> float:
    each = (method["figures"][name]["mean"]["value"] for name in ("ad_f_train", "ad_f_test"))
    return float(50 * sum(each))


def _times(figure: Mapping[str, Any] | None) -> str:
    if figure is None or figure["times_floor"] is None:
        return "-"
    value, low, high = (float(figure["times_floor"][key]) for key in ("value", "low", "high"))
    return f"{value:.1f} ({low:.1f} to {high:.1f})"
