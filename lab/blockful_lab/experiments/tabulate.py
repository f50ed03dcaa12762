# SPDX-License-Identifier: Apache-2.0
"""The audit's results as Markdown and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from blockful_lab.experiments.summary import MethodSummary
from blockful_py.forget import Level
from blockful_py.verdicts.outcome import DIGITS
from blockful_py.verdicts.references import REFERENCES, RESAMPLED
from blockful_py.verdicts.verdict import BITS

Scenario = tuple[str, str, Level]
"""Data set, situation, level."""

HEAD = (
    "| method | AD_f (worst) | AD_r - gold (p5) | membership | AUC | relearn closed | JS | L2 "
    "| passes; path; prepared, % | seconds; stored | verdict |"
)

LEGEND = (
    "Percent, but JS (nats) and L2. Membership, AUC: mean gap to gold; in brackets how many times "
    "the noise floor gold2, with the 95 % bootstrap interval over seeds and models. AD_f: mean of train and "
    "test, the worst model in brackets. Relearn closed: models whose owners hold what is forgotten; a dash "
    "where it tells nothing. Passes: sample passes at request time, as a share of gold's; path: the longest "
    "chain of jobs, as a share of gold's; prepared: passes when models were published. Seconds: of a "
    "federation's request, then of what was stored at publication, with its size. Exact: the new weights "
    "have the same bits where the forgotten samples, and all weights that they have reached, are others. "
    "Such a method has forgotten whatever its gaps, which then tell that its recipe is not gold's."
)


CRITERIA = (
    "The second table of a scenario has the criteria of the verdict. Bold: failed, with the 95 % interval "
    "and the limit. AD_f, relearn closed and damage in percent, gaps in times the floor. Relearn closed is "
    "to be at least its limit, everything else at most. A value beyond its limit passes where its interval "
    "holds what gold2 reaches. A dash: not asked."
)
SUMS = (
    "Training a model of sums is a function of the data: gold2 has gold's bits, and forgotten is what has "
    "them too, or is exact. Other bits: models that have not. The floor is `resampled` instead of gold2: "
    "gold of retained samples that each owner draws again, as many, with replacement."
)


ASKED: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        BITS: ("other bits", 1),
        "worst ad_f": ("worst AD_f", 100),
        "ad_f": ("AD_f", 100),
        "membership": ("membership", 1),
        "auc": ("AUC", 1),
        "divergence": ("JS", 1),
        "relearn closed": ("relearn closed", 100),
        "damage": ("damage", 100),
        "damage of the worst 5 %": ("damage, worst 5 %", 100),
    }
)
"""Heading of a criterion's column, and the factor of its figures."""


def title(data: str, situation: str, level: str) -> str:
    """For example `digits, few hold, class`."""
    return f"{data}, {situation.replace('_', ' ')}, {level}"


def markdown(audit: Mapping[str, Any]) -> str:
    """Renders a `document`: the command, then the figures and criteria of each scenario."""
    parts = ["# Audit", "", f"`{audit['command']}`", "", machine_line(audit["machine"]), ""]
    for line in audit["left_out"]:
        parts += [line, ""]
    if audit["tuning"]:
        parts += ["**Tuning seeds: not to be reported.**", ""]
    for data, recipes in audit["recipes"].items():
        parts += [_recipe(data, recipes), ""]
    parts += [LEGEND, "", CRITERIA, ""]
    if any(each["method"] == RESAMPLED for one in audit["scenarios"] for each in one["methods"]):
        parts += [SUMS, ""]
    for scenario in audit["scenarios"]:
        methods = scenario["methods"]
        seeds = methods[0]["seeds"]
        named = title(scenario["data"], scenario["situation"], scenario["level"])
        parts += [f"## {named}", "", f"Seeds {_listed(seeds)}; {methods[0]['models']} models.", ""]
        parts += [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
        parts += [_line(method, seeds) for method in methods]
        parts += ["", *_criteria(methods), ""]
    return "\n".join(parts)


def _recipe(data: str, recipes: Mapping[str, Any]) -> str:
    by_seed = (f"{recipe['epochs']} ({_last(recipe)}; seed {seed})" for seed, recipe in recipes.items())
    told = "with the held-out accuracy that they and twice as many reach"
    return f"Epochs on {data}, {told}: {', '.join(by_seed)}."


def _last(recipe: Mapping[str, Any]) -> str:
    """For example `91.0 and 91.2 %`; one figure if the last epochs tried are taken."""
    reached = [recipe["accuracies"].get(str(epochs)) for epochs in (recipe["epochs"], 2 * recipe["epochs"])]
    return " and ".join(f"{100 * value:.1f}" for value in reached if value is not None) + " %"


def _criteria(methods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    known = {one["name"] for method in methods for one in method["criteria"]}
    columns = [name for name in ASKED if name in known]
    yield f"| method | {' | '.join(ASKED[name][0] for name in columns)} |"
    yield "|" + "---|" * (len(columns) + 1)
    for method in methods:
        asked = {one["name"]: one for one in method["criteria"]}
        cells = [_criterion(asked[name]) if name in asked else "-" for name in columns]
        yield f"| {method['method']} | {' | '.join(cells)} |"


def _criterion(one: Mapping[str, Any]) -> str:
    scale = ASKED[one["name"]][1]
    value, low, high, limit = (
        _number(scale * float(one[name])) for name in ("value", "low", "high", "limit")
    )
    if one["passed"]:
        return value
    interval = f" ({low} to {high})" if low != high else ""
    return f"**{value}**{interval}, limit {limit}"


def document(
    summaries: Mapping[Scenario, Sequence[MethodSummary]], about: Mapping[str, Any]
) -> dict[str, Any]:
    """All figures as JSON: estimates with intervals, tails, worst, by depth, criteria."""
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
        "criteria": [plain(asdict(criterion)) for criterion in criteria],
        "cost_percent": plain(
            {
                "passes": method.passes,
                "critical_path": method.critical_path,
                "prepared": method.prepared,
            }
        ),
        "seconds": round(method.seconds, 3),
        "stored_seconds": round(method.stored_seconds, 3),
        "stored_bytes": round(method.stored_bytes),
        "exact": method.verdict.exact,
        "figures": {name: plain(asdict(figure)) for name, figure in method.figures.items()},
    }


def machine_line(machine: Mapping[str, Any]) -> str:
    """The machine in one line."""
    packages = machine["packages"]
    return (
        f"{machine['system']} {machine['architecture']}, {machine['cores']} cores, threads: "
        f"{machine['threads']}, Python {machine['python']}, torch {packages['torch']}, "
        f"numpy {packages['numpy']}."
    )


def _line(method: Mapping[str, Any], seeds: Sequence[int]) -> str:
    figures = method["figures"]
    damage, of_train, of_test = (figures[name] for name in ("damage", "ad_f_train", "ad_f_test"))
    forgot = (of_train["mean"]["value"] + of_test["mean"]["value"]) / 2
    worst = max(of_train["worst"], of_test["worst"])
    name, own = method["method"], method["seeds"]
    cells = [
        name if own == list(seeds) else f"{name} (seeds {_listed(own)})",
        f"{100 * forgot:.1f} ({100 * worst:.1f})",
        f"{0 - 100 * damage['mean']['value']:+.1f} ({0 - 100 * damage['tail']['value']:+.1f})",
        _gap(figures.get("membership")),
        _gap(figures.get("auc")),
        _closed(method["criteria"]),
        _gap(figures.get("divergence"), scale=1, digits=3),
        f"{figures['distance']['mean']['value']:.2f}",
        _cost(method["cost_percent"]),
        _seconds(method),
        method["verdict"].split(":")[0],
    ]
    return "| " + " | ".join(cells) + " |"


def _gap(figure: Mapping[str, Any] | None, scale: float = 100, digits: int = 1) -> str:
    if figure is None or figure["times_floor"] is None:
        return "-"
    times, low, high = (_number(float(figure["times_floor"][name])) for name in ("value", "low", "high"))
    return f"{scale * figure['mean']['value']:.{digits}f} ({times}; {low} to {high})"


def _closed(criteria: Sequence[Mapping[str, Any]]) -> str:
    for one in criteria:
        if one["name"] == "relearn closed":
            return f"{100 * one['value']:.0f} ({100 * one['low']:.0f} to {100 * one['high']:.0f})"
    return "-"


def _cost(cost: Mapping[str, float | None]) -> str:
    passes, path, prepared = (cost[name] for name in ("passes", "critical_path", "prepared"))
    if passes is None or path is None:
        return "-"
    return f"{passes:.1f}; {path:.1f}" + (f"; {prepared:.1f}" if prepared else "")


def _seconds(method: Mapping[str, Any]) -> str:
    if method["method"] in REFERENCES:
        return "-"
    size = method["stored_bytes"] / 2**20
    return f"{method['seconds']:.2f}" + (f"; {method['stored_seconds']:.2f}, {size:.1f} MiB" if size else "")


def _number(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else "inf"


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))


def plain(value: Any) -> Any:
    """Six decimals; infinite ratios as text: JSON has no number for them."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return round(value, DIGITS)
