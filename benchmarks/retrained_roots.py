# SPDX-License-Identifier: Apache-2.0
"""Accuracy of models without references before and after they are trained again without class 3.

    python -m benchmarks.retrained_roots [SETTINGS] [--seeds 0 1 2 3 4]

For each seed and model: accuracy on the held-out samples of the kept classes, in %, and on the worst of these
classes; then the models whose accuracy fell by more than chance explains (`Claimed.is_loss`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.federation import train_federation
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.record.statement_parts import Claimed
from blockful_py.settings import Settings

FORGOTTEN = 3


def retrained(settings: Settings) -> dict[str, dict[str, tuple[float, float]]]:
    """By state, then by model: accuracy on the kept classes, and on the worst of them, from 0 to 1."""
    setup = TrainingSetup.of(settings)
    kept = setup.dataset.test.without((FORGOTTEN,))
    users = {
        "before": setup.users,
        "after": [replace(user, train=user.train.without((FORGOTTEN,))) for user in setup.users],
    }
    found = {}
    for state, data in users.items():
        first = next(iter(train_federation(setup.federation, data)))
        roots = {model.name: model.weights for model in first if not model.references}
        of_all = accuracies(setup.architecture, roots, kept)
        by_class = [accuracies(setup.architecture, roots, kept.only((each,))) for each in kept.classes()]
        found[state] = {name: (of_all[name], min(each[name] for each in by_class)) for name in roots}
    return found


def _lost(settings: Settings, found: Mapping[str, Mapping[str, tuple[float, float]]]) -> list[str]:
    samples = len(TrainingSetup.of(settings).dataset.test.without((FORGOTTEN,)))
    claims = {
        name: Claimed(ad_f=None, ad_r=after, before=found["before"][name][0], samples=samples)
        for name, (after, _) in found["after"].items()
    }
    return [name for name, each in claims.items() if each.is_loss]


def _shown(models: Mapping[str, tuple[float, float]]) -> str:
    return ", ".join(f"{name} {100 * all_:.1f} ({100 * worst:.1f})" for name, (all_, worst) in models.items())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("settings", type=Path, nargs="?", default=Path("examples/machines.toml"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    chosen = parser.parse_args()
    for seed in chosen.seeds:
        settings = replace(Settings.load(chosen.settings), seed=seed)
        found = retrained(settings)
        for state, models in found.items():
            print(f"seed {seed}, {state}: {_shown(models)}", flush=True)
        print(f"seed {seed}, a loss: {', '.join(_lost(settings, found)) or 'none'}", flush=True)


if __name__ == "__main__":
    main()
