# SPDX-License-Identifier: Apache-2.0
"""False alarms and power of the audit's verdict, from simulated audits.

    blockful experiment audit --data digits --seeds 5-9 --method cheats --method retrain ... --output AUDITS
    python -m benchmarks.audit_errors AUDITS [--audits 200]

A simulated audit draws as many federations of a cell as it has, with replacement, and judges a method's
models in them.  Federations are drawn whole, since their models resemble each other.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stored import FIGURES, keep
from blockful_lab.experiments.results import Result, read
from blockful_py.forget import Level
from blockful_py.verdicts.references import GOLD, GOLD2, ORIGINAL
from blockful_py.verdicts.verdict import RELATIVE, Placed, judge, place

RELEARN = "relearn closed"

Federation = Mapping[str, Result]
"""Rows by method."""


def cells(folder: Path) -> dict[str, list[Federation]]:
    """Federations with all reference rows, by cell."""
    rows: dict[str, dict[int, dict[str, Result]]] = defaultdict(lambda: defaultdict(dict))
    for path in sorted(folder.rglob("seed-*/*.json")):
        result = read(path)
        name = f"{result.cell.data}, {result.cell.situation.replace('_', ' ')}, {result.cell.level}"
        rows[name][result.cell.seed][result.row.method] = result
    complete = {GOLD, GOLD2, ORIGINAL}
    return {
        name: [each for _, each in sorted(seeds.items()) if complete <= each.keys()]
        for name, seeds in rows.items()
    }


def simulate(federations: Sequence[Federation], method: str, audits: int) -> dict[str, float]:
    """Shares of the audits that a method fails: by any requirement, by one, and by outputs alone."""
    own = [each for each in federations if method in each]
    stream, found = np.random.default_rng(0), Counter[str]()
    for _ in range(audits):
        drawn = [own[row] for row in stream.integers(len(own), size=len(own))]
        placed, floor = (list(_placed(drawn, name)) for name in (method, GOLD2))
        classes = own[0][GOLD].cell.level is Level.CLASS
        failed = [one.name for one in judge(placed, floor, classes).forgetting if not one.passed]
        found.update([*failed, *["any"] * bool(failed), *["outputs"] * bool(set(failed) - {RELEARN})])
    return {name: count / audits for name, count in sorted(found.items())}


def _placed(drawn: Iterable[Federation], method: str) -> Iterable[Placed]:
    for number, rows in enumerate(drawn):
        for one in place(rows[method].row, rows[GOLD].row, rows[ORIGINAL].row):
            yield replace(one, federation=number)


def measure(folder: Path, audits: int) -> dict[str, Any]:
    found = []
    for cell, federations in cells(folder).items():
        methods = sorted({name for each in federations for name in each} - {GOLD, GOLD2})
        for method in methods:
            exact = all(each[method].exact for each in federations if method in each)
            number = sum(method in each for each in federations)
            shares = simulate(federations, method, audits)
            found.append({"cell": cell, "method": method, "exact": exact, "federations": number, **shares})
    return {"audits": audits, "rows": found}


def markdown(result: Mapping[str, Any]) -> str:
    names = ("any", "outputs", "worst ad_f", *RELATIVE, RELEARN)
    heads = (
        "cell", "method", "federations", "found out", "by outputs",
        "AD_f", "membership", "AUC", "JS", "relearning",
    )  # fmt: skip
    lines = [
        "# How often the audit finds a method out", "",
        f"Percent of {result['audits']} simulated audits of each row; exact methods are judged as if they "
        "were not. An audit draws as many federations as the cell has, with replacement. By outputs: "
        "without relearning. Clean lines are exact with another recipe than gold's.", "",
        f"| {' | '.join(heads)} |", "|" + "---|" * len(heads),
    ]  # fmt: skip
    for row in result["rows"]:
        shares = " | ".join(f"{100 * row.get(name, 0):.0f}" for name in names)
        name = f"{row['method']} (exact)" if row["exact"] else row["method"]
        lines.append(f"| {row['cell']} | {name} | {row['federations']} | {shares} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--audits", type=int, default=200)
    asked = parser.parse_args()
    result = measure(asked.folder, asked.audits)
    keep(FIGURES, "audit_errors", result, markdown(result))
    print(markdown(result))


if __name__ == "__main__":
    main()
