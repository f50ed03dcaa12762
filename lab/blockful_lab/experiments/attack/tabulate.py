# SPDX-License-Identifier: Apache-2.0
"""The document of an attack as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from blockful_lab.experiments.attack.drawing import heading
from blockful_lab.experiments.tabulate import machine_line

LEGEND = (
    "Models that unlearned against gold's, the ones that never knew. AUC: of the attack's likelihood ratios, "
    "50 for guesses; TPR: true positives at 1 % false ones; worst: the example that is guessed right most "
    "often. Epsilon: what the attack proves, and the most that a better count of the same attack would; in "
    "brackets the most that so many models can prove. KLoM: {klom}, mean, 95th percentile; then the mean "
    "less gold2's. Recognised: samples whose own label has more than half of the probability; near: the same "
    "of perturbed ones; both less gold's. Membership: AUC of the samples against strangers like them, less "
    "gold's. Percent and points, but epsilon and KLoM (nats). In brackets 95 % intervals, over the "
    "federations: bootstrap, for KLoM jackknife, for the worst exact. What each figure can and cannot show: "
    "docs/explanation/attacks.md."
)

HEAD = (
    "| method | AUC | TPR | worst | epsilon | KLoM | KLoM - gold2's | recognised - gold's | near - gold's "
    "| membership - gold's |"
)


def markdown(document: Mapping[str, Any]) -> str:
    """The command, then a table for each scenario, target and view."""
    parts = ["# Attacks", "", f"`{document['command']}`", "", machine_line(document["machine"]), ""]
    parts += [
        LEGEND.format(klom=document["klom"]),
        "",
        f"The figures of this document tell at most {document['disclosed_bits']:,} bits of the data.",
        "",
    ]
    for scenario in document["scenarios"]:
        epochs = document["recipes"][scenario["title"]]["epochs"]
        least, most = scenario["affected"]
        models = f"{least}" if least == most else f"{least} to {most}"
        parts += [
            f"## {scenario['title']}",
            "",
            f"{scenario['shadows']} shadow federations of either kind, scale {scenario['cell']['scale']}, "
            f"{epochs} epochs, {models} affected models.",
            "",
        ]
        for view in scenario["views"]:
            parts += [*_table(view), ""]
    return "\n".join(parts)


def _table(view: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {heading(view)}"
    yield ""
    yield (
        f"n = {view['examples']}. Gold recognises {_percent(view['recognised'])} %; membership "
        f"{_percent(view['membership'])} %."
    )
    yield ""
    yield HEAD
    yield "|" + "---|" * (HEAD.count("|") - 1)
    for method in view["methods"]:
        attack, klom = method["attack"], method["klom"]
        epsilon = attack["epsilon"]
        cells = [
            method["method"],
            _percent(attack["auc"]),
            _percent(attack["tpr"]),
            _percent(attack["worst"]),
            f"{_nats(epsilon['low'])} to {_nats(epsilon['high'])} ({_nats(epsilon['limit'])})",
            f"{klom['mean']:.2f}, {klom['p95']:.2f}",
            _estimate(method["klom_above"], 1, "+.2f"),
            _percent(method["recognised_above"], "+.1f"),
            "-" if method["near_above"] is None else _percent(method["near_above"], "+.1f"),
            _percent(method["membership_above"], "+.1f"),
        ]
        yield "| " + " | ".join(cells) + " |"


def _percent(estimate: Mapping[str, float], form: str = ".1f") -> str:
    return _estimate(estimate, 100, form)


def _estimate(estimate: Mapping[str, float], scale: float, form: str) -> str:
    value, low, high = (f"{scale * estimate[name] + 0.0:{form}}" for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def _nats(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"
