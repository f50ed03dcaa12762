# SPDX-License-Identifier: Apache-2.0
"""Stored increments: sealed into the live store on publication of models, read back for a request.

Each has its own data key.  The members keep it with the key of the model's version and destroy both together;
the archive gets neither the file nor the key (docs/explanation/erasure.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from blockful_py.errors import BlockfulError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import CommitteeKeyring, SealedFile, SealedWeights
from blockful_py.keys.weight_keys import WeightKeys
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.jobs.spot_check import is_repeatable
from blockful_py.pipeline.review.claims import measure
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.statement_parts import Increment
from blockful_py.record.training_trace import clean_seed
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.unlearning.stored_increments import (
    StoredIncrement,
    store_clean_models,
    store_increments,
)

Stored = Mapping[int, Mapping[str, StoredIncrement]]
"""Increments by class, then by model."""


@dataclass(frozen=True, slots=True)
class SealedIncrements:
    """Sealed increments to store, and their entries in the statements, by model."""

    files: tuple[SealedFile, ...]
    statements: Mapping[str, tuple[Increment, ...]]

    def deliver(self, keyring: CommitteeKeyring) -> None:
        """Delivers the increments' data keys to the members."""
        if self.files:
            keyring.deliver({file.uri: file.key for file in self.files})


def seal_increments(keys: WeightKeys, stored: Stored, setup: TrainingSetup) -> SealedIncrements:
    """Seals increments without storing them, and measures them for the statements."""
    files: list[SealedFile] = []
    entries: dict[str, tuple[Increment, ...]] = {}
    for label, by_model in stored.items():
        claims = measure(setup, {name: each.weights for name, each in by_model.items()}, (label,))
        for name, increment in by_model.items():
            file = keys.seal(increment.weights)
            files.append(file)
            one = Increment(
                label=label,
                weights=cid_string(file.uri),
                base=increment.base.hex(),
                claims=claims[name],
                checkable=increment.checkable,
            )
            entries[name] = (*entries.get(name, ()), one)
    return SealedIncrements(tuple(files), entries)


class IncrementMaker:
    """Makes the increments that owners store with each wave of models."""

    def __init__(
        self, setup: TrainingSetup, catalogue: Catalogue, store: SealedWeights, samples: str | None = None
    ) -> None:
        """Reads the references' clean models that the catalogue names from `store`.

        `samples`: the commitment of the one owner here to its samples, if it is to show its trainings.
        """
        self._setup = setup
        self._samples = samples
        self._catalogue = catalogue
        self._store = store
        self._clean: dict[int, dict[str, Weights | None]] = {label: {} for label in setup.increments}

    def with_wave(
        self, wave: Sequence[TrainedModel], published: Mapping[str, TrainedModel]
    ) -> dict[int, dict[str, StoredIncrement]]:
        """Increments of a wave, by class, then by model.  Raises LearningError as `store_increments`.

        `published`: in the order of their positions, in which a request sums references too.
        """
        settings, users = self._setup.federation, self._setup.users
        classes, place = self._setup.increments, {name: at for at, name in enumerate(published)}
        models = [
            replace(model, references=tuple(sorted(model.references, key=lambda each: place[each.name])))
            for model in wave
        ]
        if not self._setup.clean_references:
            return store_increments(settings, models, users, classes, published)
        references = {each.name for model in models for each in model.references}
        for label, line in self._clean.items():
            line |= self._stored(label, references - line.keys())
            line |= {each.name: None for each in models if _lacks(line, each)}
        seeds = self._seeds(models)
        stored = store_clean_models(settings, models, users, classes, published, self._clean, seeds)
        for label, by_model in stored.items():
            self._clean[label].update((name, each.weights) for name, each in by_model.items())
        return stored

    def _seeds(self, models: Iterable[TrainedModel]) -> dict[int, int]:
        """Seeds of clean models, by class, that let others repeat their trainings; none if they cannot."""
        able = all(is_repeatable(self._setup, model.user, model.training) for model in models)
        if self._samples is None or not able:
            return {}
        return {label: clean_seed(self._samples, label) for label in self._setup.increments}

    def _stored(self, label: int, names: Iterable[str]) -> dict[str, Weights | None]:
        """Stored clean models of models that the class has reached; None for one that is unusable.

        Models that are changed have none.
        """
        current = CurrentIncrements(self._catalogue, Forget.of_classes([label]), self._store)
        found: dict[str, Weights | None] = {}
        for name in names:
            if name in self._catalogue.changed:
                found[name] = None
            elif name in current.named:
                kept = current.get(name)
                found[name] = None if kept is None else kept.weights
        return found


def _lacks(line: Mapping[str, Weights | None], model: TrainedModel) -> bool:
    """Whether a reference may have been reached and has no clean model."""
    return any(each.name in line and line[each.name] is None for each in model.references)


class CurrentIncrements(Mapping[str, StoredIncrement]):
    """The current versions' increments for the class that a request forgets, by model.

    An increment is read, and compared with its CID, on first access.  An unusable one counts as missing, so
    that the request makes it again; `unusable` has the reason.  `named`: models whose statements name one.
    """

    def __init__(self, catalogue: Catalogue, forget: Forget, store: SealedWeights) -> None:
        self._store = store
        self._entries = {
            name: increment
            for name, placed in catalogue.models.items()
            for increment in placed.node.increments
            if forget == Forget.of_classes([increment.label])
        }
        self._read: dict[str, StoredIncrement] = {}
        self.named = self._entries.keys()
        self.unusable: dict[str, str] = {}

    def __getitem__(self, name: str) -> StoredIncrement:
        if name not in self._read:
            entry = self._entries[name]
            try:
                weights = self._store.read(parse_cid(entry.weights))
            except BlockfulError as error:
                self.unusable[name] = str(error)
                raise KeyError(name) from None
            left_out = Forget.of_classes([entry.label])
            self._read[name] = StoredIncrement(left_out, weights, bytes.fromhex(entry.base))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
