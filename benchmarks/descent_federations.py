# SPDX-License-Identifier: Apache-2.0
"""Honest publications of federations, and copies published instead of them, for `benchmarks.descent`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.derivations import hidden_from, noisy, permuted, pruned, quantised, rescaled, scaled
from blockful_py.learning.data import UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.federation import (
    TRAIN,
    FederationSpec,
    TrainedModel,
    initial_weights,
    train_federation,
)
from blockful_py.learning.fingerprint import fingerprint
from blockful_py.learning.models import Architecture
from blockful_py.learning.parents import OTHERS, DeclaredModel, Parent, undeclared_parent
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, aggregate, mean
from blockful_py.settings import FederationSettings, TrainingSettings

SCENARIOS = {
    "paper14, few hold": FederationSettings("paper14", "few_hold"),
    "paper14, all hold": FederationSettings("paper14", "all_hold"),
    "organic": FederationSettings("organic", "all_hold", users=6, rounds=3),
}
EPOCHS = (3, 20)
NETWORKS = ("cnn", "mlp")
HONEST = "honest"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A kind of federation."""

    scenario: str
    network: str
    epochs: int

    def __str__(self) -> str:
        return f"{self.scenario}, {self.network}, {self.epochs} epochs"


RECIPES = [
    Recipe(scenario, network, epochs) for scenario in SCENARIOS for network in NETWORKS for epochs in EPOCHS
]


def references_of(model: TrainedModel) -> tuple[str, ...]:
    return tuple(each.name for each in model.references)


class Run:
    """A trained federation, as its members know it at each publication."""

    def __init__(self, recipe: Recipe, seed: int) -> None:
        data = load_dataset("digits", seed, torch.device("cpu"))
        scenario, starts = SCENARIOS[recipe.scenario], (5, 7) if "paper" in recipe.scenario else ()
        users = partition(data, Division(scenario, starts or (3,), (3,)), seed)
        self.users: dict[int, UserData] = {user.index: user for user in users}
        self.network = Architecture(recipe.network, data.input_shape, data.class_count)
        self.settings = TrainingSettings(epochs=recipe.epochs)
        spec = FederationSpec(self.network, scenario, self.settings, seed=seed, starting_users=starts)
        self.initial, self.seed, self.test = initial_weights(spec), seed, data.test
        self.models = [model for wave in train_federation(spec, users) for model in wave]
        self.draws = generator(seed, "descent")
        self._key = f"member {seed}".encode()
        self._prints = {model.name: fingerprint(model.weights, self._key) for model in self.models}

    def before(self, model: TrainedModel) -> dict[str, TrainedModel]:
        """The models published before this one."""
        return {each.name: each for each in self.models[: self.models.index(model)]}

    def others(self, model: TrainedModel) -> list[TrainedModel]:
        """Those of them that are other users' and no references."""
        references = {*references_of(model)}
        known = self.before(model).values()
        return [each for each in known if each.user != model.user and each.name not in references]

    def found(self, model: TrainedModel, weights: Weights) -> Parent | None:
        """The undeclared parent that members see in weights published as this model."""
        known = self.before(model)
        return undeclared_parent(
            DeclaredModel(fingerprint(weights, self._key), references_of(model)),
            fingerprint(self.initial, self._key),
            {name: DeclaredModel(self._prints[name], references_of(each)) for name, each in known.items()},
            [each.name for each in known.values() if each.user == model.user],
        )

    def copies(self, model: TrainedModel, victim: TrainedModel) -> Iterator[tuple[str, Weights]]:
        """Weights that the model's owner could publish instead of its own."""
        stolen, origin, draws = victim.weights, self.initial, self.draws
        for size in (0.05, 0.1, 0.3, 1.0):
            yield f"noise of {size:g} changes", noisy(stolen, origin, size, draws)
        yield "noise of 1 change, buckets known without key", hidden_from(stolen, origin, 1.0, draws)
        yield "8 bits", quantised(stolen, 8)
        yield "pruned to half", pruned(stolen)
        yield "scaled by 1.5", scaled(stolen, 1.5)
        yield "trained on, 3 epochs", self._trained(stolen, model, min(3, self.settings.epochs))
        yield "trained on, all epochs", self._trained(stolen, model, self.settings.epochs)
        yield "mean with the honest model", mean([stolen, model.weights])
        references = [each for each in self.models if each.name in references_of(model)]
        start = aggregate([each.weights for each in (*references, victim)])
        yield "one more reference", self._trained(start, model, self.settings.epochs)
        yield "hidden units rescaled", rescaled(stolen, draws)
        yield "hidden units in another order", permuted(stolen, draws)

    def _trained(self, start: Weights, model: TrainedModel, epochs: int) -> Weights:
        settings = TrainingSettings(epochs=epochs)
        stream = generator(self.seed, TRAIN, model.user, model.round)
        return train(self.network, start, self.users[model.user].train, settings, stream)


def federations(seeds: Sequence[int], with_copies: int) -> dict[str, Any]:
    """Honest publications refused and warned of, by recipe, and copies, by kind.

    Args:
        with_copies: federations of each recipe in which each publication is also tried as a copy.
    """
    honest: dict[str, list[int]] = {}
    copies: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for recipe in RECIPES:
        tried, refused, warned, pairs = 0, 0, 0, 0
        for number, seed in enumerate(seeds):
            run = Run(recipe, seed)
            for model in run.models:
                tried += 1
                pairs += len(run.others(model))
                if (found := run.found(model, model.weights)) is not None:
                    refused, warned = refused + found.is_near, warned + (not found.is_near)
                if number < with_copies and (others := run.others(model)):
                    _try_copies(run, model, others, copies)
        honest[str(recipe)] = [refused, warned, tried, pairs]
    return {
        "seeds": list(seeds),
        "copied": with_copies,
        "honest": honest,
        "copies": {kind: _added(tries) for kind, tries in copies.items()},
    }


def _try_copies(
    run: Run,
    model: TrainedModel,
    others: Sequence[TrainedModel],
    copies: dict[str, list[dict[str, Any]]],
) -> None:
    victim = others[int(torch.randint(len(others), (1,), generator=run.draws))]
    kept = accuracy(run.network, victim.weights, run.test)
    for kind, weights in run.copies(model, victim):
        found = run.found(model, weights)
        lost = kept - accuracy(run.network, weights, run.test)
        few, short = len(run.before(model)) <= OTHERS, run.settings.epochs == EPOCHS[0]
        copies[kind].append(
            {
                "few": few,
                "short": short,
                "found": found is not None,
                "refused": found is not None and found.is_near,
                "named": found is not None and found.name == victim.name,
                "lost": lost,
            }
        )


def _added(tries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    few = [each for each in tries if each["few"]]
    short = [each for each in tries if each["short"] and not each["few"]]
    later = [each for each in tries if not (each["short"] or each["few"])]
    return {
        **{
            name: [sum(each["found"] for each in some), sum(each["refused"] for each in some), len(some)]
            for name, some in (("few", few), ("short", short), ("later", later))
        },
        "named": sum(each["named"] for each in tries),
        "lost": sum(each["lost"] for each in later) / len(later),
    }
