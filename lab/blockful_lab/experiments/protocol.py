# SPDX-License-Identifier: Apache-2.0
"""The protocol of the experiments: each seed's federation and its request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import cast

import numpy as np

from blockful_lab.experiments.plateau import Plateau, find_plateau
from blockful_py.errors import SettingsError
from blockful_py.forget import Forget, Level
from blockful_py.learning.data import Dataset, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import resolve_device
from blockful_py.learning.federation import FederationSpec, TrainedModel, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.settings import DataOptions, FederationSettings, Situation, TrainingSettings
from blockful_py.settings.rules import MERGED
from blockful_py.unlearning.audit.samples import SHOWN, first_of_each
from blockful_py.unlearning.stored_increments import StoredIncrement
from blockful_py.unlearning.task import UnlearningTask

HOLDERS = (5, 7)
"""Owners of the starts; in `few_hold` only they have the class."""

SITUATIONS = ("few_hold", "all_hold")
TUNING_SEEDS = (0, 1, 2)
EMBEDDED = ("digits", "shapes")
"""Data sets that need no files."""

RATE = 0.05
"""Learning rate, on every data set."""

RECIPES = 8
"""Number of recipes kept in memory: cells of a seed follow one another."""

SAMPLES = 0.25
"""Share of the first holder's training samples that is forgotten at sample level."""


Store = Callable[
    [FederationSpec, Iterable[TrainedModel], Iterable[UserData], Forget], Mapping[str, StoredIncrement]
]
"""Makes the increments that owners store at publication, by model, for a request."""


class Scale(StrEnum):
    """Size of the federations."""

    FULL = "full"
    """14 users, 2 rounds."""

    SMALL = "small"
    """7 users, 2 rounds."""


USERS: Mapping[Scale, int] = MappingProxyType({Scale.FULL: 14, Scale.SMALL: 7})


@dataclass(frozen=True, slots=True)
class Cell:
    """One federation and one request.

    Attributes:
        data: a data set's name, or package.module:object.
        model: `learning.model`; None: the small network for images or for tables.

    Raises SettingsError for an unknown situation.
    """

    data: str
    situation: str
    level: Level
    seed: int
    scale: Scale = Scale.FULL
    model: str | None = None

    def __post_init__(self) -> None:
        if self.situation not in SITUATIONS:
            raise SettingsError(
                f"there is no situation {self.situation!r} to audit. Known: {', '.join(SITUATIONS)}."
            )

    def label_in(self, data: Dataset) -> int:
        """The class to forget: the seed modulo the number of classes."""
        return self.seed % data.class_count


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A data set, each user's share, and the settings of their federation."""

    data: Dataset
    users: tuple[UserData, ...]
    settings: FederationSpec

    def lasting(self, epochs: int) -> Layout:
        """The layout with another number of epochs."""
        training = replace(self.settings.training, epochs=epochs)
        return replace(self, settings=replace(self.settings, training=training))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedCell:
    """A trained federation, its request, the data set, and the training settings.

    Attributes:
        recipe: how the epochs of `settings` were found; None if they were given, or mean nothing.
    """

    task: UnlearningTask
    data: Dataset
    settings: FederationSpec
    recipe: Plateau | None = None

    def storing(self, store: Store) -> UnlearningTask:
        """The task with the increments of `store`, as if made at publication."""
        task = self.task
        stored = store(self.settings, task.models.values(), task.users.values(), task.forget)
        return replace(task, stored=stored)


def prepare(cell: Cell, options: DataOptions | None = None) -> PreparedCell:
    """Trains the federation of a cell; the same cell gives the same bits.

    Args:
        options: where the data set is; the usual place unless given.

    Raises:
        SettingsError, LearningError: the data set is not available, or has neither images nor numbers.
    """
    laid = lay_out(cell, options)
    forget = what_to_forget(cell, laid.users, cell.label_in(laid.data))
    if laid.settings.architecture.trained.is_sums:
        return federated(cell, laid, forget)
    recipe = _recipe(cell.data, cell.seed, cell.scale, cell.model, options)
    return replace(federated(cell, laid.lasting(recipe.epochs), forget), recipe=recipe)


def lay_out(cell: Cell, options: DataOptions | None = None) -> Layout:
    """Loads and divides a cell's data; its settings train one epoch.  Raises as `prepare`."""
    data = load_dataset(cell.data, cell.seed, resolve_device("cpu"), options)
    situation = cast(Situation, cell.situation)
    federation = FederationSettings("organic", situation, users=USERS[cell.scale], rounds=2)
    users = partition(data, Division(federation, HOLDERS, (cell.label_in(data),)), cell.seed)
    network = "cnn" if len(data.input_shape) == 3 else "mlp"
    base = {"network": network} if cell.model == MERGED else None
    settings = FederationSpec(
        Architecture.of(cell.model or network, data, base),
        federation,
        TrainingSettings(epochs=1, learning_rate=RATE),
        seed=cell.seed,
        starting_users=HOLDERS,
    )
    return Layout(data, users, settings)


def federated(cell: Cell, laid: Layout, forget: Forget) -> PreparedCell:
    """Trains the federation of a layout, and makes its request."""
    models = [model for wave in train_federation(laid.settings, laid.users) for model in wave]
    retained = [each for each in laid.data.train.classes() if each not in forget.classes]
    proxy = first_of_each(laid.data.proxy, tuple(retained), SHOWN)
    starts = [model.name for model in models if is_start(cell, model)]
    task = UnlearningTask.of(laid.settings, models, laid.users, starts, forget, proxy)
    return PreparedCell(task, laid.data, laid.settings)


@lru_cache(RECIPES)
def _recipe(data: str, seed: int, scale: Scale, model: str | None, options: DataOptions | None) -> Plateau:
    """The recipe of all situations and levels; finding it takes longer than training with it."""
    laid = lay_out(Cell(data, "all_hold", Level.CLASS, seed, scale, model), options)
    return recipe_of(laid.settings, laid.data)


def recipe_of(settings: FederationSpec, data: Dataset) -> Plateau:
    """Finds a federation's epochs on shares of the data in which every user has every class.

    So a data set, seed and scale have one recipe for both situations and all levels.
    """
    evenly = replace(settings.scenario, situation="all_hold")
    users = partition(data, Division(evenly, settings.starting_users, ()), settings.seed)
    return find_plateau(settings, users)


def what_to_forget(cell: Cell, users: tuple[UserData, ...], label: int) -> Forget:
    """The request: the class `label`, the first holder, or a quarter of its samples, drawn by seed."""
    first = HOLDERS[0]
    if cell.level is Level.CLASS:
        return Forget.of_classes([label])
    if cell.level is Level.CLIENT:
        return Forget.of_clients([first])
    held = len(users[first - 1].train)
    rows = np.random.default_rng(cell.seed).permutation(held)[: max(1, round(SAMPLES * held))]
    return Forget.of_samples((first, int(row)) for row in rows)


def is_start(cell: Cell, model: TrainedModel) -> bool:
    """Whether the cell's request starts at a model.

    For a class: all models of its only holders, or the first models of both.  Of merged models all of all
    holders, since no class is apart in a part.  For a client or samples of one: all its models.
    """
    if cell.level is not Level.CLASS:
        return model.user == HOLDERS[0]
    if cell.model == MERGED and cell.situation == "all_hold":
        return True
    return model.user in HOLDERS and (cell.situation == "few_hold" or model.round == 1)
