# SPDX-License-Identifier: Apache-2.0
"""The audit's results as Markdown and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from blockful_py.experiments.summary import MethodSummary, Summary
from blockful_py.forget import Level
from blockful_py.verdicts.outcome import DIGITS
from blockful_py.verdicts.verdict import Criterion

Scenario = tuple[str, str, Level]
"""Data set, situation, level."""

HEAD = (
    "| method | AD_f (worst) | AD_r - gold (p5) | membership | AUC | relearn closed | probe | JS | L2 "
    "| passes; path; prepared, % | verdict |"
)

LEGEND = (
    "Percent, but JS (nats) and L2. Membership, AUC, probe: mean gap to gold; in brackets how many times "
    "the noise floor gold2, with the 95 % bootstrap interval over seeds and models. AD_f: mean of train and "
    "test, the worst model in brackets. Relearn closed: models whose owners hold what is forgotten; a dash "
    "where it tells nothing. Passes: sample passes at request time, as a share of gold's; path: the longest "
    "chain of jobs, as a share of gold's; prepared: passes when models were published."
)


def title(scenario: Scenario) -> str:
    """For example `digits, few hold, class`."""
    data, situation, level = scenario
    return f"{data}, {situation.replace('_', ' ')}, {level}"


def markdown(summaries: Mapping[Scenario, Sequence[MethodSummary]], about: Sequence[str]) -> str:
    """A table a scenario, below what was run."""
    parts = ["# Audit", "", *about, "", LEGEND, ""]
    for scenario, methods in summaries.items():
        seeds = methods[0].seeds
        parts += [f"## {title(scenario)}", "", f"Seeds {_listed(seeds)}; {methods[0].models} models.", ""]
        parts += [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
        parts += [_line(method, seeds) for method in methods]
        parts.append("")
    return "\n".join(parts)


def document(
    summaries: Mapping[Scenario, Sequence[MethodSummary]], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything: estimates with intervals, tails, worst, by depth, criteria."""
    scenarios = [
        {
            "data": data,
            "situation": situation,
            "level": level,
            "methods": [_method(method) for method in methods],
        }
        for (data, situation, level), methods in summaries.items()
    ]
    return {**about, "scenarios": scenarios}


def _method(method: MethodSummary) -> dict[str, Any]:
    criteria = (*method.verdict.forgetting, *method.verdict.keeping)
    return {
        "method": method.method,
        "models": method.models,
        "seeds": list(method.seeds),
        "verdict": str(method.verdict),
        "forgotten": method.verdict.forgotten,
        "intact": method.verdict.intact,
        "criteria": [_plain(asdict(criterion)) for criterion in criteria],
        "cost_percent": _plain(
            {
                "passes": method.passes,
                "critical_path": method.critical_path,
                "prepared": method.prepared,
            }
        ),
        "seconds": round(method.seconds, 3),
        "figures": {name: _plain(asdict(figure)) for name, figure in method.figures.items()},
    }


def _line(method: MethodSummary, seeds: Sequence[int]) -> str:
    figures = method.figures
    damage = figures["damage"]
    forgot = (figures["ad_f_train"].mean.value + figures["ad_f_test"].mean.value) / 2
    worst = max(figures["ad_f_train"].worst, figures["ad_f_test"].worst)
    cells = [
        method.method if method.seeds == tuple(seeds) else f"{method.method} (seeds {_listed(method.seeds)})",
        f"{100 * forgot:.1f} ({100 * worst:.1f})",
        f"{0 - 100 * damage.mean.value:+.1f} ({0 - 100 * damage.tail.value:+.1f})",
        _gap(figures.get("membership")),
        _gap(figures.get("auc")),
        _closed(method.verdict.forgetting),
        _gap(figures.get("probe")),
        _gap(figures.get("divergence"), scale=1, digits=3),
        f"{figures['distance'].mean.value:.2f}",
        _cost(method),
        str(method.verdict).split(":")[0],
    ]
    return "| " + " | ".join(cells) + " |"


def _gap(figure: Summary | None, scale: float = 100, digits: int = 1) -> str:
    if figure is None or figure.times_floor is None:
        return "-"
    times = figure.times_floor
    return (
        f"{scale * figure.mean.value:.{digits}f} ({_number(times.value)}; "
        f"{_number(times.low)} to {_number(times.high)})"
    )


def _closed(criteria: Sequence[Criterion]) -> str:
    for criterion in criteria:
        if criterion.name == "relearn closed":
            return f"{100 * criterion.value:.0f} ({100 * criterion.low:.0f} to {100 * criterion.high:.0f})"
    return "-"


def _cost(method: MethodSummary) -> str:
    if method.passes is None or method.critical_path is None:
        return "-"
    prepared = f"; {method.prepared:.1f}" if method.prepared else ""
    return f"{method.passes:.1f}; {method.critical_path:.1f}{prepared}"


def _number(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else "inf"


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))


def _plain(value: Any) -> Any:
    """Six decimals; infinite ratios as text: JSON has no number for them."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return round(value, DIGITS)
