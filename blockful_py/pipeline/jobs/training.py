# SPDX-License-Identifier: Apache-2.0
"""Trains a federation, wave after wave: one is published while the next is trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

from blockful_py.chain.settlement import Executed
from blockful_py.errors import RunError, UnusableWeightsError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.curve_file import keep_curves
from blockful_py.learning.federation import TrainedModel, Wave, train_federation, train_wave
from blockful_py.learning.scenario import from_those_there, next_of, without_users
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.jobs.event_publisher import EventPublisher
from blockful_py.pipeline.jobs.increments import IncrementMaker, Stored
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.review.statements import spent_of, training_of
from blockful_py.pipeline.run.progress import Progress, Silent, Stopwatch
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import PlacedNode
from blockful_py.types import Position

Published = tuple[dict[str, Position], tuple[Executed, ...]]
"""Positions by model, and the transactions."""


def load_model(placed: PlacedNode, store: SealedWeights) -> TrainedModel:
    """The current model of a node, its weights verified against their CID.

    Raises WithdrawnError if it has no weights, StorageError when they cannot be read, KeyDestroyedError when
    their key is gone, FormatError for an unusable node.
    """
    return trained_model(placed, store.read(placed.node.weights))


def trained_model(placed: PlacedNode, weights: Weights) -> TrainedModel:
    """The model of a node, with the given weights."""
    statement = placed.node.statement
    return TrainedModel(
        name=statement.name,
        user=statement.user,
        round=statement.round,
        references=tuple(ScoredModel(r.name, r.accuracy) for r in statement.in_use),
        weights=weights,
        accuracy=statement.accuracy,
        training=training_of(statement),
        privacy=spent_of(statement),
    )


def load_models(
    catalogue: Catalogue,
    names: Iterable[str],
    store: SealedWeights,
    progress: Progress | None = None,
) -> dict[str, TrainedModel]:
    """Models by name; see `load_model`."""
    wanted, models = tuple(names), dict[str, TrainedModel]()
    with (progress or Silent()).stage("read the models' weights", len(wanted)) as advance:
        placed = [catalogue[name] for name in wanted]
        for each, weights in zip(
            placed, store.read_each([each.node.weights for each in placed]), strict=True
        ):
            models[each.node.name] = trained_model(each, weights)
            advance(1)
    return models


def train_and_publish(
    setup: TrainingSetup,
    opted_out: Mapping[int, tuple[Forget, ...]],
    publisher: Publisher,
    catalogue: Catalogue,
    store: SealedWeights,
    curves: Path,
    stopwatch: Stopwatch,
    progress: Progress,
    events: EventPublisher,
) -> tuple[Executed, ...]:
    """Trains and publishes the models that the chain lacks; uses its current models unchanged.

    A thread publishes each wave while the next is trained, which needs the wave's models but not their
    positions.  If training fails or is interrupted, the wave is published first.

    No model is trained on data that its owner `opted_out` of; users without retained data publish no more.
    Appends the learning curves to the file `curves`, and stores with each wave the increments that the setup
    asks for.
    """
    setup = setup.without(opted_out)
    settings = setup.federation
    left = _left(setup, opted_out)
    placed = {name: node.position for name, node in catalogue.models.items()}
    versions = {name: node.version for name, node in catalogue.models.items()}
    published = load_models(catalogue, catalogue.models, store, progress if catalogue.models else None)
    increments = IncrementMaker(setup, catalogue, store)
    waves_to_come = without_users(settings.plan(), left, published)
    missing = {spec.name for wave in waves_to_come for spec in wave} - published.keys()
    waves = train_federation(settings, setup.users, tuple(published.values()), left)
    executed: list[Executed] = []
    on_the_way: list[Future[Published]] = []

    def publish(wave: Wave, stored: Stored) -> Published:
        with stopwatch("publish"):
            return publisher.publish(wave, placed, stored, versions)

    with progress.stage("train and publish", len(missing)) as advance, ThreadPoolExecutor(1) as aside:

        def arrive() -> None:
            while on_the_way:
                positions, transactions = on_the_way.pop().result()
                placed.update(positions)
                executed.extend(transactions)
                events.published(list(positions))
                advance(len(positions))

        try:
            while True:
                with stopwatch("train"):
                    wave = next(waves, None)
                    if wave is None:
                        break
                    stored = increments.with_wave(wave, published)
                published.update((model.name, model) for model in wave)
                arrive()
                keep_curves(curves, wave)
                events.trained(wave)
                on_the_way.append(aside.submit(copy_context().run, publish, wave, stored))
        finally:
            arrive()
    return tuple(executed)


def train_next(
    setup: TrainingSetup,
    opted_out: Mapping[int, tuple[Forget, ...]],
    catalogue: Catalogue,
    store: SealedWeights,
    awaited: AbstractSet[str] = frozenset(),
    samples: str | None = None,
) -> tuple[Wave, Stored]:
    """Trains the next model of the one user whose data is here; returns it and its increments.

    Gives the same bits as `train_and_publish`, except for increments whose batches are drawn by the user's
    commitment to its samples (`samples`).  References are drawn from the published models, except models that
    requests are about to replace (`awaited`) and models with withdrawn or unusable weights.

    Raises RunError when the user has no model to publish, otherwise as `train_and_publish`.
    """
    setup = setup.without(opted_out)
    (user,) = setup.users
    spec = next_of(user.index, setup.federation.plan(), catalogue.models)
    if spec is None or user.index in _left(setup, opted_out):
        raise RunError(f"user {user.index} has no model to publish.")
    published = CurrentModels(catalogue, store)
    shown = None if user.index in opted_out else samples
    while True:
        unusable = len(published.unusable)
        try:
            drawn = from_those_there(spec, published.keys() - awaited)
            wave = train_wave(setup.federation, [drawn], setup.users, published)
            return wave, IncrementMaker(setup, catalogue, store, shown).with_wave(wave, published)
        except UnusableWeightsError:
            if len(published.unusable) == unusable:
                raise


class CurrentModels(Mapping[str, TrainedModel]):
    """The current models, each fetched on first use.

    Attributes:
        unusable: models removed from the mapping because their weights are unusable, with the reason.
    """

    def __init__(self, catalogue: Catalogue, store: SealedWeights) -> None:
        self._placed = dict(catalogue.with_weights)
        self._store = store
        self.unusable: dict[str, str] = {}
        self._loaded: dict[str, TrainedModel] = {}

    def __getitem__(self, name: str) -> TrainedModel:
        """The model.  Raises KeyError for an unknown name, otherwise as `load_model`."""
        if name not in self._loaded:
            try:
                self._loaded[name] = load_model(self._placed[name], self._store)
            except UnusableWeightsError as error:
                del self._placed[name]
                self.unusable[name] = str(error)
                raise
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._placed

    def __iter__(self) -> Iterator[str]:
        return iter(self._placed)

    def __len__(self) -> int:
        return len(self._placed)


def _left(setup: TrainingSetup, opted_out: Mapping[int, tuple[Forget, ...]]) -> set[int]:
    """Users who opted out of all their data."""
    if setup.federation.trainer is not None:
        return {user for forgets in opted_out.values() for forget in forgets for user in forget.clients}
    return {user.index for user in setup.users if user.index in opted_out and not len(user.train)}
