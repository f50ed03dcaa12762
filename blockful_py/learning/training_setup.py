# SPDX-License-Identifier: Apache-2.0
"""The learning side of a federation: its data, its users and its training settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, Samples, UserData, require_finite_inputs
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import (
    resolve_device,
    use_portable_products,
    use_repeatable_kernels,
    use_threads,
)
from blockful_py.learning.digests import DigestsForm
from blockful_py.learning.evaluation import Scorer, hits
from blockful_py.learning.federation import FederationSpec, initial_weights
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.form import WeightsForm, form_of
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.architecture import Option
from blockful_py.learning.models.trial import require_trainable
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.scenario import holders_of, plan
from blockful_py.learning.stacked import FORMS, stacks_well
from blockful_py.learning.together import Fitter, is_stacked
from blockful_py.learning.trainer import Trainer, find_trainer
from blockful_py.learning.weights import Weights
from blockful_py.settings import LearningSettings, Settings, TrainingSettings
from blockful_py.settings.rules import SHARED

CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSetup:
    """Data on the device, divided among users, and the settings that determine the bits of training.

    Attributes:
        users: data of the users whose data is here, by ascending index.
        increments: classes whose increments are stored when models are published.
        clean_references: whether these increments start from the references' own clean models.
        scorer: scores models for the claims of a request.
    """

    dataset: Dataset
    users: tuple[UserData, ...]
    federation: FederationSpec
    increments: tuple[int, ...] = ()
    clean_references: bool = False
    scorer: Scorer = hits

    @property
    def is_adopted(self) -> bool:
        """Whether the models were made elsewhere; their digests are stored in place of weights."""
        return self.federation.scenario.is_adopted

    @property
    def form(self) -> WeightsForm:
        """The form of all stored models."""
        return DigestsForm() if self.is_adopted else form_of(self.architecture)

    @property
    def architecture(self) -> Architecture:
        return self.federation.architecture

    def user(self, index: int) -> UserData:
        """Data of a user.  Raises LearningError if it is not here."""
        for user in self.users:
            if user.index == index:
                return user
        raise LearningError(f"the data of user {index} is not here: only its owner has it.")

    @classmethod
    def of(cls, settings: Settings) -> TrainingSetup:
        """Loads and divides the data, and configures torch (`set_torch_up`).

        Raises SettingsError, LearningError: a name, class or number that does not fit the data.
        """
        federation, learning = settings.federation, settings.learning
        dataset = load_dataset(learning.dataset, settings.seed, CPU, learning)
        architecture = architecture_of(learning, dataset)
        dataset = dataset.to(_prepared(learning, architecture.trained))
        holders = holders_of(settings)
        plan(federation, holders)
        if set(settings.unlearning.classes) >= set(range(dataset.class_count)):
            raise SettingsError(
                f"unlearning.classes forgets all {dataset.class_count} classes of {dataset.name!r}: "
                "no class would be left to learn; leave at least one out."
            )
        division = Division(federation, holders, settings.unlearning.classes)
        trainer = find_trainer(learning.trainer)
        if trainer is not None or federation.is_adopted:
            users = _without_samples(dataset, federation.users)
        else:
            users = partition(dataset, division, settings.seed)
        spec = FederationSpec(
            architecture,
            federation,
            learning.training,
            learning.root_factor,
            settings.seed,
            holders,
            trainer=trainer,
        )
        return cls(dataset, users, spec, _increments(settings, dataset), learning.clean_references)

    @classmethod
    def of_party(
        cls, settings: Settings, public: Dataset, initial: Weights, own: Sequence[UserData]
    ) -> TrainingSetup:
        """The setup of a party that has only its own data; configures torch as `of` does.

        Args:
            public: the samples that everybody has, without training samples.
            initial: the shared initialisation, a state dict.
            own: the party's data; empty for a member.

        Raises SettingsError, LearningError: the files or the data do not fit the settings.
        """
        learning = settings.learning
        holders = holders_of(settings)
        plan(settings.federation, holders)
        architecture = architecture_of(learning, public)
        device = _prepared(learning, architecture.trained)
        form_of(architecture).require(initial, "the shared initialisation")
        for user in own:
            for samples in (user.train, user.test):
                _require_like(public, samples)
        spec = FederationSpec(
            architecture,
            settings.federation,
            learning.training,
            learning.root_factor,
            settings.seed,
            holders,
            initial,
            find_trainer(learning.trainer),
        )
        users = tuple(UserData(user.index, user.train.to(device), user.test.to(device)) for user in own)
        increments = _increments(settings, public)
        return cls(public.to(device), users, spec, increments, learning.clean_references)

    @property
    def untested(self) -> tuple[int, ...]:
        """Classes of users' samples that the test data lacks, ascending; requests for them have no AD_f."""
        held = {label for user in self.users for label in user.train.classes()}
        return tuple(sorted(held - set(self.dataset.test.classes())))

    def require_trainable(self) -> None:
        """Tries the network on a few samples, and the initial weights, unless the models are adopted.

        Raises as `models.trial.require_trainable` and `Architecture.initial`.
        """
        if self.is_adopted:
            return
        network = self.architecture.trained
        by_gradient = self.federation.trainer is None and not network.is_sums
        require_trainable(network, self.dataset.train, self.federation.seed, by_gradient)
        initial_weights(self.federation)

    def trained_by(self, trainer: Trainer) -> TrainingSetup:
        """A copy with another trainer of the users' models."""
        return replace(self, federation=replace(self.federation, trainer=trainer))

    def worked_by(self, fitter: Fitter, scorer: Scorer) -> TrainingSetup:
        """A copy with another fitter and scorer, which give the same bits."""
        return replace(self, federation=replace(self.federation, fitter=fitter), scorer=scorer)

    def with_rounds(self, rounds: int) -> TrainingSetup:
        """A copy with `rounds` models per user.  Raises SettingsError if the scenario forbids that."""
        federation = replace(self.federation, scenario=replace(self.federation.scenario, rounds=rounds))
        federation.plan()
        return replace(self, federation=federation)

    def without(self, opted_out: Mapping[int, tuple[Forget, ...]]) -> TrainingSetup:
        """A copy without the training samples of opt-outs, which are listed by user index."""
        users = (
            replace(user, train=retained_after(user, opted_out[user.index]))
            if user.index in opted_out
            else user
            for user in self.users
        )
        return replace(self, users=tuple(users))


def architecture_of(learning: LearningSettings, dataset: Dataset) -> Architecture:
    """The settings' network for a data set.  Raises as `Architecture.of`."""
    shared: dict[str, Option] = {SHARED: True} if learning.shares_sums else {}
    return Architecture.of(learning.model, dataset, {**learning.options, **shared})


def _without_samples(dataset: Dataset, users: int) -> tuple[UserData, ...]:
    """Users without samples, which only the trainer can access; all measure on the public test samples."""
    none = dataset.train.at(torch.zeros(0, dtype=torch.int64))
    return tuple(UserData(index, none, dataset.test) for index in range(1, users + 1))


def _require_like(public: Dataset, own: Samples) -> None:
    """Checks a party's own samples for the federation's type, shape and ranges.  Raises LearningError."""
    kind, expected = (own.x.dtype, tuple(own.x.shape[1:])), (public.test.x.dtype, public.input_shape)
    if kind != expected:
        raise LearningError(
            f"the inputs of this party's data are {kind[0]} of shape {kind[1]}, those of this federation "
            f"{expected[0]} of shape {expected[1]}: convert them."
        )
    require_finite_inputs("this party's data", own)
    for what, values, count in (
        ("labels", own.y, public.class_count),
        ("token ids", own.x if public.vocabulary else own.y[:0], public.vocabulary or 0),
    ):
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < count:
            raise LearningError(
                f"this party's data has {what} from {int(values.min())} to {int(values.max())}, this "
                f"federation has {what} from 0 to {count - 1}: correct the file, or leave the others out."
            )


def device_for(name: str, architecture: Architecture, training: TrainingSettings) -> torch.device:
    """Resolves a device name; "auto" gives the CPU to networks that train in stacks there.

    Such networks have the same bits on every processor (docs/reference/learning.md).  Raises as
    `resolve_device`.
    """
    on_cpu = stacks_well(architecture, CPU) and is_stacked(architecture, training, CPU)
    return CPU if name == "auto" and on_cpu else resolve_device(name)


def set_torch_up(model: str, device: torch.device, threads: int) -> None:
    """Sets torch's number of threads and its reproducibility.

    The small network on a CPU has the same bits on every processor; a GPU repeats its own bits.
    """
    use_threads(threads)
    use_repeatable_kernels(device)
    if device.type == "cpu" and model in FORMS:
        use_portable_products()


def _prepared(learning: LearningSettings, architecture: Architecture) -> torch.device:
    """The device, after configuring torch for it."""
    device = device_for(learning.device, architecture, learning.training)
    set_torch_up(architecture.name, device, learning.threads)
    return device


def _increments(settings: Settings, dataset: Dataset) -> tuple[int, ...]:
    """Classes whose increments are stored, ascending.  Raises SettingsError for an unknown class."""
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
