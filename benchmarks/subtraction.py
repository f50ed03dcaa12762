# SPDX-License-Identifier: Apache-2.0
"""Models of sums beside the small network: accuracy before and after forgetting, and what forgetting costs.

    python -m benchmarks.subtraction [--data digits shapes] [--kinds sums network frozen]
        [--data-files FOLDER] [--seeds 5 6 7 8 9] [--output benchmarks/results/figures.jsonl]

Federations of `paper14`; r5 and r7 ask to forget class 3, where few and where all hold it.  In tables of
numbers, which have no class 3, client 5 leaves.  Models of sums
forget by `subtract`, the network by `retrain_ahead`.  The new sums, and the heads that follow from them, are
compared with the ones of a federation of the same graph whose users never had the class; for client 5, with
the ones that `retrain` adds up again.  Only shapes have features of a frozen network,
which learnt the even classes of shapes drawn by another seed.  Rows of other data sets, kinds and seeds are
kept.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmarks.stored import FIGURES, keep, load
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_threads
from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.federation import FederationSpec, TrainedModel, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.architecture import Option
from blockful_py.learning.models.ridge import Head, head_of
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import SHIFT, total_of
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, equal, to_bytes
from blockful_py.settings import DataOptions, FederationSettings, TrainingSettings
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.task import UnlearningTask

NAME = "subtraction"
CPU = torch.device("cpu")
STARTS, FORGOTTEN, CLIENT = ("r5", "r7"), 3, 5
SITUATIONS = ("few_hold", "all_hold")
KINDS = ("sums", "network", "frozen")
FEATURES = (64, 128, 256)
EPOCHS = {
    "digits": 16,
    "shapes": 8,
    "fashion_mnist_small": 8,
    "fashion_mnist": 8,
    "cifar10_small": 8,
    "wine": 32,
    "breast_cancer": 32,
}
"""The network's, by data set; the lab's rule finds 8 or 16 on shapes."""

TABLES = ("wine", "breast_cancer")
LIMIT = 7_000
"""Images of each split of `fashion_mnist`, as many as of the smaller sets."""

OTHER_SHAPES = 1000
"""Added to the seed of the shapes that a frozen network learns."""

PAGE = """# Models of sums beside the small network

`paper14`, r5 and r7 forget class 3, n seeds from 5 on, one core of a machine with other work. Means in %
over the 9 affected models of each seed, with the least and the most mean of a seed. AD_r: accuracy on
held-out samples of the other classes. Worst AD_f: the highest accuracy on class 3 of any affected model
afterwards. Tables of numbers have no class 3: client 5 leaves, 8 models are affected, and AD_r is the
accuracy on all held-out samples. KiB and milliseconds: of a model; the head is solved once for each version.
Sums forget by `subtract`, the network by `retrain_ahead`, after trainings of {epochs}.
64 frozen features: of the small network, trained on the even classes of shapes drawn by another seed.

| data | situation | model | n | AD_r before | AD_r after | worst AD_f | KiB | ms |
|---|---|---|---|---|---|---|---|---|
{rows}

Bits: {bits}.

Made by `python -m benchmarks.subtraction`.
"""

Row = dict[str, Any]


def measure(data: Dataset, situation: str, seed: int, kinds: Collection[str]) -> list[Row]:
    """The rows of one federation's users: the network's, or one for each number of features, or both."""
    scenario = FederationSettings("paper14", situation)  # type: ignore[arg-type]
    classes = () if data.name in TABLES else (FORGOTTEN,)
    users = partition(data, Division(scenario, (5, 7), classes), seed)
    common = {"data": data.name, "situation": situation, "seed": seed}

    def spec(model: str, **options: Option) -> FederationSpec:
        architecture = Architecture.of(model, data, options)
        training = TrainingSettings(epochs=EPOCHS[data.name])
        return FederationSpec(architecture, scenario, training, seed=seed)

    rows = []
    if "network" in kinds:
        rows.append(
            {
                **common,
                "features": None,
                **network(spec("mlp" if data.name in TABLES else "cnn"), users, data),
            }
        )
    for features in FEATURES if "sums" in kinds else ():
        rows.append(
            {**common, "features": features, **sums(spec("analytic", features=features), users, data)}
        )
    if "frozen" in kinds and data.name == "shapes":
        with TemporaryDirectory() as folder:
            options = frozen(Path(folder) / "frozen.safetensors", seed)
            rows.append({**common, "features": "frozen", **sums(spec("analytic", **options), users, data)})
    return rows


def frozen(path: Path, seed: int) -> dict[str, Option]:
    """Trains a small network on shapes that no user has, writes its weights, and names them as options."""
    other = load_dataset("shapes", OTHER_SHAPES + seed, CPU)
    even = other.train.only(range(0, other.class_count, 2))
    samples = Samples(even.x, even.y // 2)
    network = Architecture("cnn", other.input_shape, other.class_count // 2)
    training = TrainingSettings(epochs=EPOCHS["shapes"], learning_rate=0.05)
    initial = network.initial(generator(seed, "initial"))
    path.write_bytes(to_bytes(train(network, initial, samples, training, generator(seed, "frozen"))))
    cid = cid_string(uri_of(path.read_bytes(), Codec.RAW))
    return {"network": "cnn", "classes": network.class_count, "weights": str(path), "cid": cid}


def network(spec: FederationSpec, users: Sequence[UserData], data: Dataset) -> Row:
    """Figures of the small network."""
    task = request(spec, trained(spec, users), users, data)
    new, seconds = timed(lambda: dict(create_method("retrain_ahead").unlearn(task).weights))
    return {**accuracy_of(task, new, data), f"{task.forget.level}_ms": 1e3 * seconds / len(new)}


def sums(spec: FederationSpec, users: Sequence[UserData], data: Dataset) -> Row:
    """Figures of models of sums."""
    models = trained(spec, users)
    left = asked(spec, models, users, STARTS[:1], Forget.of_clients([CLIENT]))
    subtract = create_method("subtract")
    gone, client_seconds = timed(lambda: dict(subtract.unlearn(left).weights))
    again = create_method("retrain").unlearn(left).weights
    figures = {
        "client_ms": 1e3 * client_seconds / len(gone),
        "client_equal": sum(equal(gone[name], again[name]) for name in gone),
    }
    if data.name in TABLES:
        _, head_seconds = timed(lambda: heads_of(gone.values()))
        figures |= {"head_ms": 1e3 * head_seconds / len(gone), "class_equal": 0, "heads_equal": 0}
        return {**accuracy_of(left, gone, data), **figures, "compared": [0, 0, len(gone)]}
    task = request(spec, models, users, data)
    new, seconds = timed(lambda: dict(subtract.unlearn(task).weights))
    without = [replace(user, train=user.train.without([FORGOTTEN])) for user in users]
    never = {model.name: model.weights for model in trained(spec, without)}
    heads, head_seconds = timed(lambda: heads_of(new.values()))
    gold = heads_of(never[name] for name in new)
    same = [a.tobytes() == b.tobytes() and s == t for (a, s), (b, t) in zip(heads, gold, strict=True)]
    return {
        **accuracy_of(task, new, data),
        **figures,
        "class_ms": 1e3 * seconds / len(new),
        "head_ms": 1e3 * head_seconds / len(new),
        "class_equal": sum(equal(new[name], never[name]) for name in new),
        "heads_equal": sum(same),
        "compared": [len(new), len(new), len(gone)],
    }


def heads_of(models: Iterable[Weights]) -> list[Head]:
    return [head_of(total_of(each), int(each[SHIFT])) for each in models]


def trained(spec: FederationSpec, users: Sequence[UserData]) -> list[TrainedModel]:
    return [model for wave in train_federation(spec, users) for model in wave]


def request(
    spec: FederationSpec, models: Iterable[TrainedModel], users: Sequence[UserData], data: Dataset
) -> UnlearningTask:
    """The request of the table: for class 3, or, in tables of numbers, for client 5."""
    if data.name in TABLES:
        return asked(spec, models, users, STARTS[:1], Forget.of_clients([CLIENT]))
    return asked(spec, models, users, STARTS, Forget.of_classes([FORGOTTEN]))


def asked(
    spec: FederationSpec,
    models: Iterable[TrainedModel],
    users: Sequence[UserData],
    starts: Sequence[str],
    forget: Forget,
) -> UnlearningTask:
    return UnlearningTask.of(spec, models, users, starts, forget)


def accuracy_of(task: UnlearningTask, new: Mapping[str, Weights], data: Dataset) -> Row:
    """Accuracies of the affected models, from 0 to 1, and the bytes of one."""
    kept, gone = data.test.without([FORGOTTEN]), data.test.only([FORGOTTEN])
    old = {name: task.models[name].weights for name in new}
    return {
        "before": mean(accuracies(task.architecture, old, kept).values()),
        "after": mean(accuracies(task.architecture, new, kept).values()),
        "ad_f": max(accuracies(task.architecture, new, gone).values()) if len(gone) else None,
        "bytes": len(to_bytes(next(iter(new.values())))),
    }


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    began = perf_counter()
    return make(), perf_counter() - began


def render(rows: Sequence[Row]) -> str:
    """The page of tables."""
    kinds = dict.fromkeys((row["data"], row["situation"], row["features"]) for row in rows)
    lines = [
        _line(*kind, [row for row in rows if (row["data"], row["situation"], row["features"]) == kind])
        for kind in kinds
    ]
    counted = [row for row in rows if row["features"] is not None]
    names = ("class_equal", "heads_equal", "client_equal")
    what = ("new sums without the class", "their heads", "sums without client 5")
    bits = ", ".join(
        f"{said} {sum(row[name] for row in counted)} of {sum(row['compared'][i] for row in counted)} equal"
        for i, (name, said) in enumerate(zip(names, what, strict=True))
    )
    epochs = ", ".join(
        f"{EPOCHS[each]} epochs on {each}"
        for each in dict.fromkeys(row["data"] for row in rows if row["features"] is None)
    )
    return PAGE.format(epochs=epochs, rows="\n".join(lines), bits=bits)


def _line(data: str, situation: str, features: int | str | None, rows: Sequence[Row]) -> str:
    model = "network" if features is None else "64 frozen" if features == "frozen" else str(features)
    model += "" if features is None else " features"
    times = [name for name in ("class_ms", "client_ms", "head_ms") if name in rows[0]]
    cells = [
        data,
        situation.replace("_", " "),
        model,
        str(len(rows)),
        *(spread([100 * row[key] for row in rows]) for key in ("before", "after")),
        "-" if rows[0]["ad_f"] is None else f"{100 * max(row['ad_f'] for row in rows):.1f}",
        f"{rows[0]['bytes'] / 1024:,.0f}",
        ", ".join(f"{key.removesuffix('_ms')} {mean(row[key] for row in rows):,.1f}" for key in times),
    ]
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float]) -> str:
    """Mean, least and most."""
    return f"{mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", default=["digits", "shapes"], choices=EPOCHS)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS], choices=KINDS)
    parser.add_argument("--data-files", help="folder of the files of one of the other sets")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    parser.add_argument("--output", type=Path, default=FIGURES)
    chosen = parser.parse_args()
    use_threads(1)
    rows: list[Row] = []
    with suppress(KeyError):
        rows = [row for row in load(chosen.output, NAME) if not _is_chosen(row, chosen)]
    for name in chosen.data:
        options = DataOptions(chosen.data_files, data_limit=LIMIT if name == "fashion_mnist" else None)
        path = f"benchmarks.numbers:{name}" if name in TABLES else name
        for seed in chosen.seeds:
            data = load_dataset(path, seed, CPU, options)
            for situation in SITUATIONS[name in TABLES :]:
                rows += measure(data, situation, seed, chosen.kinds)
                print(f"{name}, seed {seed}, {situation}", flush=True)
    rows.sort(key=_order)
    page = render(rows)
    keep(chosen.output, NAME, rows, page)
    print(page)


def _order(row: Row) -> tuple[str, int, bool, int, int]:
    """Few before all holders, then the network, random features by number, and frozen ones."""
    features, first = row["features"], -ord(row["situation"][0])
    is_frozen = features == "frozen"
    return row["data"], first, is_frozen, 0 if is_frozen else features or 0, row["seed"]


def _is_chosen(row: Row, chosen: argparse.Namespace) -> bool:
    kind = {None: "network", "frozen": "frozen"}.get(row["features"], "sums")
    return row["data"] in chosen.data and kind in chosen.kinds and row["seed"] in chosen.seeds


if __name__ == "__main__":
    main()
