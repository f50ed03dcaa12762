# SPDX-License-Identifier: Apache-2.0
"""The learning side of a federation: its data, its users and its training settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from blockful_py.errors import SettingsError
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, UserData
from blockful_py.learning.datasets import DataOptions, load_dataset
from blockful_py.learning.device import resolve_device, use_threads
from blockful_py.learning.federation import FederationSettings
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.privacy import PrivacySettings
from blockful_py.learning.scenario import ScenarioSettings, plan
from blockful_py.learning.training import TrainingSettings
from blockful_py.pipeline.settings import Settings


@dataclass(frozen=True, slots=True, eq=False)
class Laboratory:
    """Data on the device, one UserData a user, and what decides the bits of training.

    Attributes:
        increments: classes of the increments that are stored when models are published.
        clean_references: they start from the references' own clean models.
    """

    dataset: Dataset
    users: tuple[UserData, ...]
    federation: FederationSettings
    increments: tuple[int, ...] = ()
    clean_references: bool = False

    @property
    def architecture(self) -> Architecture:
        return self.federation.architecture

    @classmethod
    def of(cls, settings: Settings) -> Laboratory:
        """Loads and shares out the data, and sets torch's number of threads.

        Raises:
            SettingsError, LearningError: a name, class or number that does not fit the data.
        """
        device = resolve_device(settings.learning.device)
        use_threads(settings.learning.threads)
        scenario, learning = settings.federation, settings.learning
        data = DataOptions(learning.data_files, learning.data_limit, learning.text_length, learning.tokenizer)
        dataset = load_dataset(learning.dataset, settings.seed, device, data)
        holders = tuple(sorted({starting_user(settings, name) for name in settings.unlearning.starts}))
        shape = ScenarioSettings(
            scenario=scenario.scenario,
            users=scenario.users,
            rounds=scenario.rounds,
            starting_users=holders,
            candidates=scenario.candidates,
            references=scenario.references,
            candidate_window=scenario.candidate_window,
            graph=scenario.graph,
        )
        plan(shape)
        if set(settings.unlearning.classes) >= set(range(dataset.class_count)):
            raise SettingsError(
                f"unlearning.classes forgets all {dataset.class_count} classes of {dataset.name!r}: "
                "nothing would be left to learn; leave at least one out."
            )
        division = Division(
            users=scenario.users,
            holders=holders,
            classes=settings.unlearning.classes,
            missing=scenario.missing,
            concentration=scenario.concentration,
            shards=scenario.shards,
        )
        users = partition(settings.federation.situation, dataset, division, settings.seed)
        federation = FederationSettings(
            architecture=Architecture.of(learning.model, dataset, learning.options),
            scenario=shape,
            training=TrainingSettings(
                epochs=learning.epochs,
                rate=learning.learning_rate,
                momentum=learning.momentum,
                weight_decay=learning.weight_decay,
                batch=learning.batch_size,
                together=learning.together,
                precision=learning.precision,
                channels_last=learning.channels_last,
                compiled=learning.compiled,
                privacy=None
                if learning.privacy is None
                else PrivacySettings(**learning.privacy.model_dump()),
            ),
            root_factor=learning.root_factor,
            seed=settings.seed,
        )
        return cls(dataset, users, federation, _increments(settings, dataset), learning.clean_references)

    def with_rounds(self, rounds: int) -> Laboratory:
        """The same with so many models a user.  Raises SettingsError where the scenario has none."""
        scenario = replace(self.federation.scenario, rounds=rounds)
        plan(scenario)
        return replace(self, federation=replace(self.federation, scenario=scenario))

    def without(self, opted_out: Mapping[int, tuple[Forget, ...]]) -> Laboratory:
        """The same with what users, by index, opted out of taken from their training data."""
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
