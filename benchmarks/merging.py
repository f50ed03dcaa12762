# SPDX-License-Identifier: Apache-2.0
"""Merged models on digits: accuracy before and after forgetting, by base.

    python -m benchmarks.merging [--seeds 5 6 7 8 9] [--output benchmarks/results/figures.jsonl]

Federations of `paper14` in which few hold class 3; r5 and r7 ask to forget it.  The base is the small
network's initialisation, or the small network trained on the proxy samples of the other classes, which no
user has.  A network that starts from that base and is trained on inherited weights is beside it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.stored import FIGURES, keep
from benchmarks.subtraction import CPU, EPOCHS, FORGOTTEN, STARTS, accuracy_of, asked, spread, timed, trained
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_threads
from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.federation import FederationSpec
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, to_bytes
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec
from blockful_py.unlearning.registry import create_method

NAME = "merging"
PHI = TrainingSettings(epochs=EPOCHS["digits"])
SCENARIO = FederationSettings("paper14", "few_hold")

PAGE = """# Merged models

`paper14` on digits, few hold class 3, r5 and r7 forget it, n seeds from 5 on, one core of a machine with
other work. Means in % over the 9 affected models of each seed, with the least and the most mean of a seed.
AD_r: accuracy on held-out samples of the other classes. Worst AD_f: the highest accuracy on class 3 of any
affected model. KiB and milliseconds: of a model. {epochs} epochs, parts and roots three times as many. The
trained base learnt {epochs} epochs on the proxy samples of the other classes. Network: AD_r before of the
small network, trained on the mean of its references, from the trained base on.

| base | n | its AD_r | AD_r before | after | worst AD_f before, after | KiB | ms: class | network |
|---|---|---|---|---|---|---|---|---|
{rows}

Made by `python -m benchmarks.merging`.
"""

Row = dict[str, Any]


def measure(data: Dataset, seed: int) -> list[Row]:
    """A row for each base."""
    users = partition(data, Division(SCENARIO, STARTING, (FORGOTTEN,)), seed)
    rows = [{"base": "initial", "seed": seed, **merged(data, users, seed, {})}]
    network = Architecture.of("cnn", data)
    public, start = data.proxy.without([FORGOTTEN]), network.initial(generator(seed, "initial"))
    base = train(network, start, public, PHI, generator(seed, "base"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "base.safetensors"
        path.write_bytes(to_bytes(base))
        options = {"weights": str(path), "cid": cid_string(uri_of(path.read_bytes(), Codec.RAW))}
        row = merged(data, users, seed, options)
    spec = FederationSpec(network, SCENARIO, PHI, seed=seed, initial=base)
    models = {model.name: model.weights for model in trained(spec, users)}
    beside = of_the_rest(network, {name: models[name] for name in row.pop("affected")}, data)
    rows[0].pop("affected")
    return [*rows, {"base": "trained", "seed": seed, **row, "network": beside}]


STARTING = (5, 7)


def merged(data: Dataset, users: Sequence[UserData], seed: int, options: dict[str, str]) -> Row:
    """Figures of merged models with a base."""
    spec = FederationSpec(Architecture.of("merged", data, options), SCENARIO, PHI, seed=seed)
    task = asked(spec, trained(spec, users), users, STARTS, Forget.of_classes([FORGOTTEN]))
    new, seconds = timed(lambda: dict(create_method("subtract", merged=True).unlearn(task).weights))
    old = {name: task.models[name].weights for name in new}
    gone = data.test.only([FORGOTTEN])
    return {
        **accuracy_of(task, new, data),
        "ad_f_before": max(accuracies(task.architecture, old, gone).values()),
        "base_ad_r": of_the_rest(task.architecture, {"base": task.initial}, data),
        "class_ms": 1e3 * seconds / len(new),
        "affected": [*new],
    }


def of_the_rest(architecture: Architecture, models: dict[str, Weights], data: Dataset) -> float:
    return mean(accuracies(architecture, models, data.test.without([FORGOTTEN])).values())


def render(rows: Sequence[Row]) -> str:
    """The page of the table."""
    return PAGE.format(
        epochs=PHI.epochs,
        rows="\n".join(
            _line(base, [row for row in rows if row["base"] == base]) for base in ("initial", "trained")
        ),
    )


def _line(base: str, rows: Sequence[Row]) -> str:
    worst = [f"{100 * max(row[key] for row in rows):.1f}" for key in ("ad_f_before", "ad_f")]
    cells = [
        base,
        str(len(rows)),
        *(spread([100 * row[key] for row in rows]) for key in ("base_ad_r", "before", "after")),
        ", ".join(worst),
        f"{rows[0]['bytes'] / 1024:,.0f}",
        f"{mean(row['class_ms'] for row in rows):,.0f}",
        spread([100 * row["network"] for row in rows]) if "network" in rows[0] else "",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    parser.add_argument("--output", type=Path, default=FIGURES)
    chosen = parser.parse_args()
    use_threads(1)
    rows: list[Row] = []
    for seed in chosen.seeds:
        rows += measure(load_dataset("digits", seed, CPU), seed)
        print(f"seed {seed}", flush=True)
    page = render(rows)
    keep(chosen.output, NAME, rows, page)
    print(page)


if __name__ == "__main__":
    main()
