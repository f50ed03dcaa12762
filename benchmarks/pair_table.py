# SPDX-License-Identifier: Apache-2.0
"""Figures and tables of `benchmarks.pair`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.pair_attacks import CPU, Floats, likelihood_ratio, true_positives
from blockful_py.learning.evaluation import outputs
from blockful_py.learning.models import Architecture
from blockful_py.unlearning.audit.exposure import auc

STRANGERS, RETAINED = "never seen", "retained"
AGAINST = (STRANGERS, RETAINED)
SHOWN = ("drop", "aligned", "ratio")
FLOOR = "gold2"
VIEWS = ("start", "descendant")

SIMPLE: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "old": lambda old, new: old,
    "new": lambda old, new: -new,
    "drop": lambda old, new: old - new,
}
"""Scores of the margins in the old and the new version; a forgotten sample's are high."""

Pair = Mapping[str, Any]


def summary(every: Sequence[Mapping[str, Any]], ranks: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """Figures by method and size of the request, each a list with an entry for each seed.

    Args:
        every: what `pair.make` made, by seed.
        ranks: what `pair.ranks_of` found, by seed; seeds may be missing.
    """
    kinds = dict.fromkeys((each["method"], len(each["rows"])) for made in every for each in made["pairs"])
    return {"rows": [_row(every, ranks, method, size) for method, size in kinds]}


def _row(
    every: Sequence[Mapping[str, Any]], ranks: Mapping[int, Mapping[str, Any]], method: str, size: int
) -> dict[str, Any]:
    chosen = [
        [pair for pair in made["pairs"] if (pair["method"], len(pair["rows"])) == (method, size)]
        for made in every
    ]
    figures: dict[str, dict[str, list[float]]] = {}
    for seed, made in enumerate(every):
        for name, found in _figures(made, chosen[seed], _fitted(every, chosen, seed)).items():
            into = figures.setdefault(name, {"auc": [], "tpr": []})
            for key, value in found.items():
                into[key].append(round(value, 4))
    found_ranks = [ranks.get(made["seed"], {}).get(f"{method}/{size}") for made in every]
    return {
        "method": method,
        "size": size,
        "pairs": sum(map(len, chosen)),
        "accuracy": [
            round(_accuracy(made, [pair["start"]["new"] for pair in pairs]), 4)
            for made, pairs in zip(every, chosen, strict=True)
        ],
        "rank": [round(float(np.mean(each)), 4) for each in found_ranks if each],
        "figures": figures,
    }


def _figures(
    made: Mapping[str, Any], pairs: Sequence[Pair], fitted: Mapping[str, tuple[Floats, Floats]]
) -> dict[str, dict[str, float]]:
    """Means over a seed's pairs, by view, score and against whom."""
    found: dict[str, list[tuple[float, float]]] = {}
    for pair in pairs:
        groups = _groups(made, pair)
        for view in VIEWS:
            margins = pair[view]["margins"].numpy()
            scores = {name: score(margins[:, 0], margins[:, 1]) for name, score in SIMPLE.items()}
            if view == VIEWS[0]:
                scores["aligned"] = pair["aligned"].numpy()
            for against in AGAINST:
                fit = fitted.get(f"{view}/{against}")
                asked = scores if fit is None else {**scores, "ratio": likelihood_ratio(*fit, margins)}
                for name, values in asked.items():
                    above, below = values[pair["rows"]], values[groups[against]]
                    rates = auc(above, below), true_positives(above, below)
                    found.setdefault(f"{view}/{name}/{against}", []).append(rates)
    return {
        name: dict(zip(("auc", "tpr"), np.mean(rates, axis=0).tolist(), strict=True))
        for name, rates in found.items()
    }


def _fitted(
    every: Sequence[Mapping[str, Any]], chosen: Sequence[Sequence[Pair]], left_out: int
) -> dict[str, tuple[Floats, Floats]]:
    """Margins of forgotten and other samples in the pairs of all other seeds, which may be missing."""
    others = [
        (made, pair)
        for seed, made in enumerate(every)
        for pair in chosen[seed]
        if seed != left_out and len(every) > 1
    ]
    if not others:
        return {}
    fitted = {}
    for view in VIEWS:
        members = np.concatenate([pair[view]["margins"].numpy()[pair["rows"]] for _, pair in others])
        for against in AGAINST:
            rest = [pair[view]["margins"].numpy()[_groups(made, pair)[against]] for made, pair in others]
            fitted[f"{view}/{against}"] = members, np.concatenate(rest)
    return fitted


def _groups(made: Mapping[str, Any], pair: Pair) -> dict[str, list[int]]:
    """Rows of the samples that are not to be forgotten, by whose they are."""
    owned, gone = made["owned"], set(pair["rows"])
    return {
        STRANGERS: list(range(owned, len(made["y"]))),
        RETAINED: [row for row in range(owned) if row not in gone],
    }


def _accuracy(made: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> float:
    """On samples that no user holds for training, mean over the models."""
    x, y = made["x"][made["owned"] :], made["y"][made["owned"] :]
    architecture = Architecture(made["architecture"], tuple(x.shape[1:]), made["class_count"])
    with torch.inference_mode():
        modules = [architecture.module(weights, CPU).eval() for weights in models]
        right = [(outputs(module, x).argmax(1) == y).double().mean() for module in modules]
    return float(torch.stack(right).mean())


def markdown(document: Mapping[str, Any]) -> str:
    """A table for each size of a request and each view."""
    seeds, machine = document["seeds"], document["machine"]
    lines = [
        f"# What the pair of versions tells: {document['data']}",
        "",
        f"`{document['command']}`",
        "",
        f"Seeds {', '.join(map(str, seeds))}. Cells are the mean over seeds and, in brackets, the least and "
        "most seed. AUC of forgotten samples: *drop* is the margin in the old version less that in the new "
        "one, *aligned* the cosine of a sample's gradient and the change of the weights, *ratio* a Gaussian "
        "likelihood ratio of both margins, fitted to the other seeds. TPR: of *ratio*, at 1 % false "
        "positives. Rank: share of held-out samples of the class that resemble a reconstruction less than "
        "the forgotten sample does. 0.5 is guessing, for TPR 0.01. Above: in how many seeds *drop*, "
        "*aligned* and *ratio* against samples never seen exceed those of gold2. "
        f"{machine['cores']} cores, Python {machine['python']}, torch {machine['packages']['torch']}.",
    ]
    sizes = sorted({row["size"] for row in document["rows"]})
    for view in VIEWS:
        for size in sizes:
            rows = [row for row in document["rows"] if row["size"] == size]
            lines += ["", f"## {view.capitalize()}, {size} of a request", "", *_table(rows, view)]
    return "\n".join([*lines, ""])


def _table(rows: Sequence[Mapping[str, Any]], view: str) -> list[str]:
    scores = [score for score in SHOWN if view == VIEWS[0] or score != "aligned"]
    columns = [f"{score}, {against}" for against in AGAINST for score in scores]
    head = ["pair", "n", *columns, "TPR, never seen", "above"]
    head += ["rank", "accuracy"] if view == VIEWS[0] else []
    floor = next(row for row in rows if row["method"] == FLOOR)
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    alone = [_cell(floor["figures"][f"{view}/old/{against}"]["auc"]) for against in AGAINST]
    blank = [""] * (len(scores) - 1)
    first = ["old version alone", str(floor["pairs"]), alone[0], *blank, alone[1], *blank]
    first += [_cell(floor["figures"][f"{view}/old/{STRANGERS}"]["tpr"])]
    lines.append(f"| {' | '.join([*first, *[''] * (len(head) - len(first))])} |")
    for row in rows:
        figures = row["figures"]
        cells = [
            _cell(figures.get(f"{view}/{score}/{against}", {}).get("auc", []))
            for against in AGAINST
            for score in scores
        ]
        cells.append(_cell(figures.get(f"{view}/ratio/{STRANGERS}", {}).get("tpr", [])))
        cells.append(", ".join(str(above(row, floor, f"{view}/{score}/{STRANGERS}")) for score in scores))
        if view == VIEWS[0]:
            cells += [_cell(row["rank"]), _cell(row["accuracy"])]
        lines.append(f"| {' | '.join([row['method'], str(row['pairs']), *cells])} |")
    return lines


def above(row: Mapping[str, Any], floor: Mapping[str, Any], figure: str) -> int:
    """Seeds in which a figure's AUC exceeds the floor's."""
    one, other = (each["figures"].get(figure, {}).get("auc", []) for each in (row, floor))
    return sum(a > b for a, b in zip(one, other, strict=False))


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"
