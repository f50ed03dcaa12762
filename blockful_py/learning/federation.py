# SPDX-License-Identifier: Apache-2.0
"""Trains a federation: candidates, selection, aggregation, training, evaluation (paper, eq. 1 to 3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blockful_py.errors import LearningError
from blockful_py.learning.candidates import ScoredModel, draw_candidates, score, select
from blockful_py.learning.curves import Curve
from blockful_py.learning.data import UserData
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.models import Architecture
from blockful_py.learning.privacy import Spent, spent
from blockful_py.learning.scenario import LastChance, ModelSpec, Plan, plan, without_users
from blockful_py.learning.streams import generator
from blockful_py.learning.together import Fitter, TrainingJob, fit_by, fit_together
from blockful_py.learning.trainer import Assignment, Trainer, train_by
from blockful_py.learning.training import Fitted
from blockful_py.learning.weights import Weights, aggregate
from blockful_py.settings import FederationSettings, TrainingSettings

TRAIN = "train"
"""Purpose of the streams of published trainings."""


@dataclass(frozen=True, slots=True)
class FederationSpec:
    """Settings that, with the users' data, determine every bit of a federation's models.

    Attributes:
        training: phi of the paper's eq. 3, for models with references.
        root_factor: epochs of a root, or of a merged model's part, as a multiple of the epochs in `training`.
        starting_users: indices of the users that own the starts.
        initial: the shared initialisation of the roots; None derives it from the seed and the architecture.
        trainer: trains the models if the users' samples are not here.
        fitter: trains the models of a wave, or of an unlearning method, together.
    """

    architecture: Architecture
    scenario: FederationSettings = field(default_factory=FederationSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    root_factor: int = 3
    seed: int = 0
    starting_users: tuple[int, ...] = (5, 7)
    initial: Weights | None = None
    trainer: Trainer | None = None
    fitter: Fitter = fit_together

    def plan(self) -> Plan:
        """The federation's models in waves.  Raises as `scenario.plan`."""
        return plan(self.scenario, self.starting_users)


@dataclass(frozen=True, slots=True, eq=False)
class TrainedModel:
    """A model as its owner publishes it.

    Attributes:
        user, round: counted from 1.
        references: best first, with their accuracies on the owner's test data; empty for a root.
        weights: state dict, on the CPU.
        accuracy: on the owner's test data, from 0 to 1.
        training: the phi of the paper's eq. 3 that trained it.
        privacy: privacy spent by differentially private training.
        curve: learning curve; None after private training, after training by a trainer, and for a loaded
            model.
    """

    name: str
    user: int
    round: int
    references: tuple[ScoredModel, ...]
    weights: Weights
    accuracy: float
    training: TrainingSettings
    privacy: Spent | None = None
    curve: Curve | None = None


Wave = tuple[TrainedModel, ...]
"""Models trained side by side, to be published together."""


def initial_weights(settings: FederationSpec) -> Weights:
    """State dict of the roots' shared initialisation, on the CPU."""
    if settings.initial is not None:
        return settings.initial
    return settings.architecture.initial(generator(settings.seed, "initial"))


def train_federation(
    settings: FederationSpec,
    users: Sequence[UserData],
    published: Iterable[TrainedModel] = (),
    left: Collection[int] = (),
) -> Iterator[Wave]:
    """Yields wave after wave; publish each wave before the next is trained.

    Models in `published` are kept and not yielded again, so an interrupted run resumes with the same bits.
    Users in `left` publish no further models.

    Args:
        users: data of user i at position i - 1.
        left: indices of users that have left.

    Raises:
        SettingsError, LearningError, GraphError: the settings are inconsistent; raised before any training.
    """
    waves = settings.plan()
    if len(users) != settings.scenario.users:
        raise LearningError(
            f"the scenario has {settings.scenario.users} users, but {len(users)} have data: "
            "partition the data among as many users."
        )
    done = {model.name: model for model in published}
    for wave in without_users(waves, left, done):
        fresh = train_wave(settings, [spec for spec in wave if spec.name not in done], users, done)
        done.update((model.name, model) for model in fresh)
        if fresh:
            yield fresh


def train_wave(
    settings: FederationSpec,
    specs: Sequence[ModelSpec],
    users: Sequence[UserData],
    published: Mapping[str, TrainedModel],
) -> Wave:
    """Trains the models of a wave; each model's bits are independent of the others in the wave.

    Args:
        users: data of at least the owners of `specs`.
        published: models by name, at least all references of `specs`; only the models to score are read.

    Raises:
        LearningError: a needed model is not in `published`, a user has no samples, or weights are not finite.
    """
    data = {user.index: user for user in users}
    owners = [data[spec.user] for spec in specs]
    references = [
        choose_references(settings, spec, owner, published) for spec, owner in zip(specs, owners, strict=True)
    ]
    starts = [_start(settings, chosen, published) for chosen in references]
    if settings.trainer is None:
        trained = _fitted(settings, specs, owners, starts)
    else:
        trained = _trained_elsewhere(settings, settings.trainer, specs, starts, references)
    return tuple(
        TrainedModel(
            name=spec.name,
            user=spec.user,
            round=spec.round,
            references=chosen,
            weights=fitted.weights,
            accuracy=accuracy(settings.architecture, fitted.weights, owner.test),
            training=_phi(settings, spec),
            privacy=spent(_phi(settings, spec), len(owner.train)),
            curve=fitted.curve,
        )
        for spec, owner, chosen, fitted in zip(specs, owners, references, trained, strict=True)
    )


def _fitted(
    settings: FederationSpec,
    specs: Sequence[ModelSpec],
    owners: Sequence[UserData],
    starts: Sequence[Weights],
) -> tuple[Fitted, ...]:
    jobs = [
        TrainingJob(
            weights=start,
            samples=owner.train,
            settings=_phi(settings, spec),
            stream=generator(settings.seed, TRAIN, spec.user, spec.round),
        )
        for spec, owner, start in zip(specs, owners, starts, strict=True)
    ]
    return fit_by(settings.fitter, settings.architecture, jobs)


def _trained_elsewhere(
    settings: FederationSpec,
    trainer: Trainer,
    specs: Sequence[ModelSpec],
    starts: Sequence[Weights],
    references: Sequence[Sequence[ScoredModel]],
) -> tuple[Fitted, ...]:
    assignments = [
        Assignment(spec.name, spec.user, spec.round, start, settings.seed, tuple(one.name for one in chosen))
        for spec, start, chosen in zip(specs, starts, references, strict=True)
    ]
    return tuple(Fitted(weights, None) for weights in train_by(trainer, settings.architecture, assignments))


def _start(
    settings: FederationSpec, chosen: Sequence[ScoredModel], published: Mapping[str, TrainedModel]
) -> Weights:
    if not chosen or settings.architecture.is_shared:
        return initial_weights(settings)
    return aggregate([published[reference.name].weights for reference in chosen])


def _phi(settings: FederationSpec, spec: ModelSpec) -> TrainingSettings:
    phi, starts_anew = settings.training, spec.is_root or settings.architecture.is_merged
    return replace(phi, epochs=phi.epochs * settings.root_factor) if starts_anew else phi


def choose_references(
    settings: FederationSpec, spec: ModelSpec, user: UserData, published: Mapping[str, TrainedModel]
) -> tuple[ScoredModel, ...]:
    """The scripted references, or the top N of K candidates (paper, eq. 1), scored on the user's test data.

    Raises LearningError: a needed model is not in `published`, or there is no candidate.
    """
    if spec.is_root:
        return ()
    names = spec.pool if spec.references is None else spec.references
    missing = sorted(spec.needs - published.keys())
    if missing or not names:
        raise LearningError(
            f"{spec.name} cannot be trained before {', '.join(missing) or 'another user has a model'}: "
            "publish the waves in order, with at least two users."
        )
    if spec.references is not None:
        return _scored(settings, published, spec.references, user)
    forced = [chance.start for chance in spec.last_chances if not _is_chosen(chance, published)]
    drawn = candidates_of(settings, spec)
    drawn += tuple(start for start in forced if start not in drawn)
    return select(_scored(settings, published, drawn, user), settings.scenario.references, forced)


def candidates_of(settings: FederationSpec, spec: ModelSpec) -> tuple[str, ...]:
    """The K candidates of a model, in the order of their draw, which no data influences."""
    stream = generator(settings.seed, "candidates", spec.user, spec.round)
    return draw_candidates(spec.pool, settings.scenario.candidates, stream)


def _scored(
    settings: FederationSpec, published: Mapping[str, TrainedModel], names: Sequence[str], user: UserData
) -> tuple[ScoredModel, ...]:
    models = {name: published[name].weights for name in names}
    return score(settings.architecture, models, names, user.test)


def _is_chosen(chance: LastChance, published: Mapping[str, TrainedModel]) -> bool:
    return any(
        reference.name == chance.start for other in chance.others for reference in published[other].references
    )
