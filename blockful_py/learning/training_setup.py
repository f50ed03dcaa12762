# SPDX-License-Identifier: Apache-2.0
"""The learning side of a federation: its data, its users and its training settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from blockful_py.errors import SettingsError
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import resolve_device, use_portable_products, use_threads
from blockful_py.learning.federation import FederationSpec
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.scenario import plan
from blockful_py.learning.stacked import FORMS
from blockful_py.settings import Settings


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSetup:
    """Data on the device, shared out among users, and the settings that determine the bits of training.

    Attributes:
        users: data of user i at position i - 1.
        increments: classes whose increments are stored when models are published.
        clean_references: whether these increments start from the references' own clean models.
    """

    dataset: Dataset
    users: tuple[UserData, ...]
    federation: FederationSpec
    increments: tuple[int, ...] = ()
    clean_references: bool = False

    @property
    def architecture(self) -> Architecture:
        return self.federation.architecture

    @classmethod
    def of(cls, settings: Settings) -> TrainingSetup:
        """Loads and shares out the data, and sets torch's number of threads and, for the small network on a
        CPU, portable products.

        Raises:
            SettingsError, LearningError: a name, class or number that does not fit the data.
        """
        federation, learning = settings.federation, settings.learning
        device = resolve_device(learning.device)
        use_threads(learning.threads)
        if device.type == "cpu" and learning.model in FORMS:
            use_portable_products()
        dataset = load_dataset(learning.dataset, settings.seed, device, learning)
        holders = tuple(sorted({starting_user(settings, name) for name in settings.unlearning.starts}))
        plan(federation, holders)
        if set(settings.unlearning.classes) >= set(range(dataset.class_count)):
            raise SettingsError(
                f"unlearning.classes forgets all {dataset.class_count} classes of {dataset.name!r}: "
                "nothing would be left to learn; leave at least one out."
            )
        division = Division(federation, holders, settings.unlearning.classes)
        users = partition(dataset, division, settings.seed)
        spec = FederationSpec(
            Architecture.of(learning.model, dataset, learning.options),
            federation,
            learning.training,
            learning.root_factor,
            settings.seed,
            holders,
        )
        return cls(dataset, users, spec, _increments(settings, dataset), learning.clean_references)

    def with_rounds(self, rounds: int) -> TrainingSetup:
        """The same with `rounds` models a user.  Raises SettingsError where the scenario forbids that."""
        federation = replace(self.federation, scenario=replace(self.federation.scenario, rounds=rounds))
        federation.plan()
        return replace(self, federation=federation)

    def without(self, opted_out: Mapping[int, tuple[Forget, ...]]) -> TrainingSetup:
        """The same without the training samples that users, by index, opted out of."""
        users = (
            replace(user, train=retained_after(user, opted_out[user.index]))
            if user.index in opted_out
            else user
            for user in self.users
        )
        return replace(self, users=tuple(users))


def _increments(settings: Settings, dataset: Dataset) -> tuple[int, ...]:
    """Raises SettingsError for a class that the data set does not have."""
    asked, known = settings.learning.increments, range(dataset.class_count)
    if asked == "all":
        return tuple(known)
    unknown = sorted(set(asked) - set(known))
    if unknown:
        raise SettingsError(
            f"learning.increments names class {', '.join(map(str, unknown))}: {dataset.name!r} has classes "
            f"0 to {dataset.class_count - 1}."
        )
    return tuple(sorted(set(asked)))


def starting_user(settings: Settings, name: str) -> int:
    """User that publishes the model `name`. Raises SettingsError for a name that is not planned."""
    names = settings.federation.names
    if name not in names:
        raise SettingsError(
            f"there is no model {name!r} to start from: this federation publishes {names[0]} to {names[-1]}."
        )
    return names.index(name) % settings.federation.users + 1
