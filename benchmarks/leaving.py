# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the models that a leaving client's models reached, by how owners do their parts.

    python -m benchmarks.leaving [--seeds 5-9] [--output benchmarks/results/figures.jsonl]

Federations of 14 users publish 2 models each on digits.  User 5 leaves: each of its models becomes the mean
of its references' new versions, or is withdrawn without any.  The other reached models are retrained, or
become such means if nobody may check a training, or receive the change by passing.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from benchmarks.stored import FIGURES, keep
from blockful_lab.experiments.seeds import parse_seeds
from blockful_py.forget import Forget
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import accuracies
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.weights import Weights, aggregate
from blockful_py.settings import FederationSettings, Situation, TrainingSettings
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.retraining import retrain_model
from blockful_py.unlearning.task import UnlearningTask

NAME, CLIENT, HOLDERS, CLASS = "leaving", 5, (5, 7), 3
WAYS = ("before", "all retrained", "every other owner", "all means", "passing")


def measure(situation: Situation, seed: int) -> dict[str, Any]:
    """Mean and lowest accuracy of the reached models of others on all test samples, by way."""
    scenario = FederationSettings("organic", situation, users=14, rounds=2)
    data = load_dataset("digits", seed, torch.device("cpu"))
    users = partition(data, Division(scenario, HOLDERS, (CLASS,)), seed)
    network = Architecture("cnn", data.input_shape, data.class_count)
    spec = FederationSpec(network, scenario, TrainingSettings(epochs=16), seed=seed, starting_users=())
    models = {model.name: model for wave in train_federation(spec, users) for model in wave}
    own = [model.name for model in models.values() if model.user == CLIENT]
    task = UnlearningTask.of(spec, models.values(), users, own, Forget.of_clients([CLIENT]))
    reached = [name for name in task.affected() if name not in own]
    ways = {
        "before": {name: models[name].weights for name in reached},
        "all retrained": left(task, {model.user for model in models.values()}),
        "every other owner": left(task, {user.index for user in users if user.index % 2}),
        "all means": left(task, set()),
        "passing": GradientAscent().unlearn(task).weights,
    }
    found = {
        way: [
            *accuracies(network, {name: made[name] for name in reached if name in made}, data.test).values()
        ]
        for way, made in ways.items()
    }
    figures = {way: {"mean": mean(each), "least": min(each)} for way, each in found.items()}
    return {"situation": situation, "seed": seed, "reached": len(reached), "ways": figures}


def left(task: UnlearningTask, trained: set[int]) -> Mapping[str, Weights]:
    """New weights where the owners in `trained` retrain, in order; withdrawn models have none."""
    new: dict[str, Weights] = {}
    affected = {*task.affected()}
    for name in task.affected():
        references = [each for each in task.references(name) if each not in affected or each in new]
        start = aggregate([new.get(each, task.models[each].weights) for each in references] or [task.initial])
        if task.models[name].user in trained and task.keeps(name):
            # the mean of the others in a withdrawn one's place leaves the mean as it is
            standing = {each: new.get(each, start) for each in task.references(name) if each in affected}
            new[name] = retrain_model(task, name, standing)
        elif references or task.models[name].user != CLIENT:
            new[name] = start
    return new


def render(found: list[dict[str, Any]]) -> str:
    """The page of the table."""
    lines = [
        "# Accuracy after a client has left",
        "",
        "Made by `python -m benchmarks.leaving`: digits, 14 users, 28 models, user 5 leaves. Percent of all "
        "test samples, of the reached models of others: mean over models (least and most over seeds); the "
        "lowest model of any seed.",
        "",
        "| situation | federations | models reached | owners' parts | mean | lowest |",
        "|---|---|---|---|---|---|",
    ]
    for situation in dict.fromkeys(each["situation"] for each in found):
        some = [each for each in found if each["situation"] == situation]
        reached = sorted(each["reached"] for each in some)
        for way in WAYS:
            means = [100 * each["ways"][way]["mean"] for each in some]
            least = min(100 * each["ways"][way]["least"] for each in some)
            lines.append(
                f"| {situation.replace('_', ' ')} | {len(some)} | {reached[0]} to {reached[-1]} | {way} | "
                f"{mean(means):.1f} ({min(means):.1f} to {max(means):.1f}) | {least:.1f} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="5-9")
    parser.add_argument("--output", type=Path, default=FIGURES)
    options = parser.parse_args()
    torch.set_num_threads(1)
    seeds = parse_seeds([options.seeds])
    situations: tuple[Situation, ...] = ("few_hold", "all_hold")
    found = [measure(situation, seed) for situation in situations for seed in seeds]
    print(page := render(found))
    keep(options.output, NAME, found, page)


if __name__ == "__main__":
    main()
