# SPDX-License-Identifier: Apache-2.0
"""How much of the audit's AUC gap is chance among its held-out samples, of which there are few.

    python -m benchmarks.held_out [--seeds 0 1] [--situation all_hold] [--output FILE]

Shapes are drawn, so there can be as many held-out ones as one likes.  No model was trained on the audit's
held-out samples nor on these: what tells the two apart is chance.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from blockful_py.experiments.machine import THREADS, describe
from blockful_py.experiments.protocol import SITUATIONS, Cell, PreparedCell, prepare
from blockful_py.experiments.variants import STORES
from blockful_py.forget import Level
from blockful_py.learning.data import Samples
from blockful_py.learning.datasets.shapes import draw
from blockful_py.learning.device import use_threads
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit import bench as benches
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.audit.network import Floats, observe
from blockful_py.unlearning.audit.samples import audit_samples
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.verdicts.references import GOLD, GOLD2, HEAD_MASK, ORIGINAL

DRAWN = 1500
PAIRS = ("forget set, audit's held-out", "forget set, drawn", "drawn, audit's held-out")
Models = Mapping[str, Weights]


@dataclass(frozen=True)
class Scores:
    """Log-probabilities of the true label that one model gives three sets of samples of the class."""

    forgotten: Floats
    held_out: Floats
    drawn: Floats

    def aucs(self) -> Floats:
        """By `PAIRS`, (3,)."""
        return np.array(
            [
                auc(self.forgotten, self.held_out),
                auc(self.forgotten, self.drawn),
                auc(self.drawn, self.held_out),
            ]
        )


def drawn_samples(cell: Cell, label: int) -> Samples:
    labels = torch.full((DRAWN,), label)
    return Samples(draw(labels, generator(cell.seed, "held out")), labels)


def aucs(prepared: PreparedCell, models: Models, sets: Iterable[Samples]) -> Floats:
    """Of all affected models, (models, 3)."""
    architecture, asked = prepared.task.architecture, tuple(sets)
    found = []
    for name in prepared.task.affected():
        module = architecture.module(models[name], asked[0].x.device)
        said = (observe(module, architecture.class_count, samples).truth() for samples in asked)
        found.append(Scores(*said).aucs())
    return np.array(found)


def gaps(cell: Cell) -> dict[str, Floats]:
    """Each row's AUC less gold's, of every affected model: (models, 3)."""
    prepared = prepare(cell)
    samples = audit_samples(prepared.task, prepared.data)
    bench = benches.prepare(prepared.task, samples)
    rows = {name: bench.reference(name) for name in (GOLD, ORIGINAL, GOLD2, HEAD_MASK)}
    stored = prepared.storing(STORES["increments"])
    rows["clean_increments_stored"] = CleanIncrements().unlearn(stored).weights
    sets = (samples.forget_train, samples.forget_test, drawn_samples(cell, cell.label_in(prepared.data)))
    found = {name: aucs(prepared, models, sets) for name, models in rows.items()}
    return {name: found[name] - found[GOLD] for name in found if name != GOLD}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--situation", choices=SITUATIONS, default="all_hold")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    use_threads(THREADS)
    cells = [Cell("shapes", given.situation, Level.CLASS, seed) for seed in given.seeds]
    measured = [gaps(cell) for cell in cells]
    rows = {}
    for name in measured[0]:
        points = 100 * np.concatenate([each[name] for each in measured])
        rows[name] = {
            pair: {"mean_gap": float(np.abs(column).mean()), "mean_difference": float(column.mean())}
            for pair, column in zip(PAIRS, points.T, strict=True)
        }
        print(f"{name} (n = {len(points)} models, points of AUC, less gold's)")
        for pair, one in rows[name].items():
            print(f"  {pair:30s} gap {one['mean_gap']:5.2f}   signed {one['mean_difference']:+5.2f}")
    if given.output:
        about = {"situation": given.situation, "seeds": given.seeds, "drawn": DRAWN}
        given.output.write_text(json.dumps({**about, "machine": describe(THREADS), "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
