# SPDX-License-Identifier: Apache-2.0
"""The input of an unlearning method, validated before the method starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from blockful_py.errors import LearningError, UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import Samples, UserData, pooled
from blockful_py.learning.federation import FederationSpec, TrainedModel, initial_weights
from blockful_py.learning.forget_sets import forget_set, require_rows, retain_set, retained_after
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import require_classes
from blockful_py.learning.selection import Selection
from blockful_py.learning.together import Fitter, fit_together
from blockful_py.learning.trainer import Trainer
from blockful_py.learning.weights import Weights, require_finite, require_same_form
from blockful_py.on_demand import OnDemand
from blockful_py.unlearning.model_job import Changer, ModelJob, change_here
from blockful_py.unlearning.proxy import require_clean_proxy
from blockful_py.unlearning.stored_increments import StoredIncrement

__all__ = ["UnlearningTask"]


@dataclass(frozen=True, eq=False)
class UnlearningTask:
    """A request: `starts` and all models that inherit from them must forget the samples that `forget` names.

    Attributes:
        graph: the inheritance graph of all models, which decides the reach of a request.
        used: references of the models that were trained from others than their references in the graph.
        selection: repeats the choice of references by eq. 1; None where it did not choose them.
        models: the affected models (starts and descendants) and their references, as published; other models
            are allowed, and some methods need all ancestors.
        users: data by user index.
        initial: state dict of the roots' shared initialisation.
        seed: seed of all training that a method does.
        proxy: labelled samples outside every user's data, for the methods that need them.
        earlier: earlier requests by model; the model is not trained on their samples again.
        stored: increments by model, made at publication; unfitting ones are ignored.
        alone: only one owner's data is here, so the checks of others' data are skipped; the references are
            without the data to forget.
        trainer: trains the models if the users' samples are not here; `users` then have none.
        fitter: trains the models that a method trains together.
        changer: runs the independent model changes of a method.

    The constructor raises:
        UnknownModelError: a start is not in the graph.
        UnknownClassError: no user holds one of the classes.
        UnlearningError: no start, or every class or client is forgotten; a client, or the owner of a sample,
            is unknown or owns no start; a model or a user's data is missing, not finite or of another
            architecture; a user would have no samples left; the proxy set holds forgotten samples; a trainer
            is asked to forget less than clients.
    """

    graph: InheritanceGraph
    models: Mapping[str, TrainedModel]
    users: Mapping[int, UserData]
    architecture: Architecture
    initial: Weights
    starts: tuple[str, ...]
    forget: Forget
    seed: int
    proxy: Samples | None = None
    earlier: Mapping[str, tuple[Forget, ...]] = field(default_factory=dict)
    stored: Mapping[str, StoredIncrement] = field(default_factory=dict)
    alone: bool = False
    trainer: Trainer | None = None
    fitter: Fitter = fit_together
    changer: Changer = change_here
    used: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    selection: Selection | None = None

    @classmethod
    def of(
        cls,
        settings: FederationSpec,
        models: Iterable[TrainedModel],
        users: Iterable[UserData],
        starts: Sequence[str],
        forget: Forget,
        proxy: Samples | None = None,
        stored: Mapping[str, StoredIncrement] | None = None,
    ) -> UnlearningTask:
        """A task on a federation that `train_federation` trained.  Raises as the constructor."""
        named = {model.name: model for model in models}
        return cls(
            graph=InheritanceGraph.from_references(
                {name: [reference.name for reference in model.references] for name, model in named.items()}
            ),
            models=named,
            users={user.index: user for user in users},
            architecture=settings.architecture,
            initial=initial_weights(settings),
            starts=tuple(starts),
            forget=forget,
            seed=settings.seed,
            trainer=settings.trainer,
            fitter=settings.fitter,
            proxy=proxy,
            stored=stored or {},
            selection=Selection.of(settings),
        )

    def __post_init__(self) -> None:
        if not self.starts or len(set(self.starts)) < len(self.starts):
            raise UnlearningError(f"a request needs starts, each once, not {list(self.starts)}.")
        if self.trainer is not None and self.forget.level is not Level.CLIENT:
            raise UnlearningError(
                f"learning.trainer trains on data that is not here and cannot leave out {self.forget}: "
                "ask at level client."
            )
        affected = self.affected()
        self._check_models(set(affected) | set(chain(*map(self.references, affected))))
        if not self.alone:
            self._check_classes()
            self._check_owners()
        self._check_users(affected)
        if self.proxy is not None:
            require_clean_proxy(self.proxy, self.forget, self.users.values())

    @property
    def classes(self) -> tuple[int, ...]:
        """Labels to forget; empty at the levels client and sample."""
        return self.forget.classes

    def references(self, name: str) -> tuple[str, ...]:
        """The references that a model is trained from: by the graph, unless it has chosen others."""
        return self.used[name] if name in self.used else self.graph.references(name)

    def trained_from(self) -> InheritanceGraph:
        """The graph of the references that models are trained from."""
        if not self.used:
            return self.graph
        return InheritanceGraph.from_references({name: self.references(name) for name in self.graph.names})

    def affected(self) -> tuple[str, ...]:
        """Starts and descendants, in topological order."""
        wanted = {*self.starts, *self.graph.descendants(self.starts)}
        return tuple(name for name in self.graph.topological_order() if name in wanted)

    @cached_property
    def all_forgets(self) -> tuple[Forget, ...]:
        """Data that affected models must not know: of this request, and of earlier ones for any of them."""
        earlier = chain(*(self.earlier.get(name, ()) for name in self.affected())) if self.earlier else ()
        return tuple(dict.fromkeys((self.forget, *earlier)))

    def reached(self) -> tuple[str, ...]:
        """Starts, models trained on data that affected models must not know, and all their descendants.

        In topological order.  Owners whose data is not here count as holding no forgotten data.
        """
        holders = self.taught()
        wanted = {*self.starts, *holders, *self.graph.descendants([*self.starts, *holders])}
        return tuple(name for name in self.graph.topological_order() if name in wanted)

    def taught(self) -> tuple[str, ...]:
        """The models that were trained on data that affected models must not know."""
        here = [name for name in self.graph.names if name in self.models]
        return tuple(name for name in here if self.models[name].user in self.users and self.is_taught(name))

    def weights(self, names: Iterable[str]) -> Mapping[str, Weights]:
        """Published state dicts by name."""
        return OnDemand(names, lambda name: self.models[name].weights)

    def owner(self, name: str) -> UserData:
        """Data of a model's owner."""
        return self.users[self.models[name].user]

    def keeps(self, name: str) -> bool:
        """Whether a model's owner keeps samples after this and earlier requests."""
        if self.trainer is None:
            return len(self.retained(name)) > 0
        return not any(self.models[name].user in forget.clients for forget in self.forgets(name))

    def holds(self, name: str) -> bool:
        """Whether a model's owner has samples to forget."""
        if self.trainer is None:
            return len(self.forgotten(name)) > 0
        return self.models[name].user in self.forget.clients

    def forgets(self, name: str) -> tuple[Forget, ...]:
        """Data that a model is not trained on: this request's, and earlier requests'.

        An unchanged model is trained only for affected ones, so it also leaves out all data that they must
        not know.
        """
        own = (self.forget, *self.earlier.get(name, ()))
        return own if name in self._affected else tuple(dict.fromkeys((*own, *self.all_forgets)))

    def require_samples(self) -> None:
        """Checks that the users' samples are accessible without a trainer.  Raises UnlearningError."""
        if self.trainer is not None:
            raise UnlearningError(
                "this method computes on users' samples, which only learning.trainer reaches here: choose "
                "retrain (sequential) or retrain_ahead."
            )

    def retained(self, name: str) -> Samples:
        """Training samples, (m, ...), that a model's owner keeps after this and earlier requests.

        This and the next three methods raise as `require_samples`.
        """
        self.require_samples()
        return retained_after(self.owner(name), self.forgets(name))

    def forgotten(self, name: str) -> Samples:
        """Training samples, (m, ...), that a model's owner must forget; m may be 0."""
        self.require_samples()
        return forget_set(self.forget, self.owner(name))

    def job(self, name: str, weights: Weights, forgotten: Samples | None = None) -> ModelJob:
        """A job that changes one model from these weights on; `forgotten` is set if the method needs it.

        Raises UnlearningError as `retained`.
        """
        model = self.models[name]
        return ModelJob(
            name=name,
            user=model.user,
            round=model.round,
            architecture=self.architecture,
            weights=weights,
            retained=self.retained(name),
            forgotten=forgotten,
            proxy=self.proxy,
            classes=self.classes,
            seed=self.seed,
        )

    def forget_set(self) -> Samples:
        """Training samples that users must forget, user after user: (m, ...)."""
        self.require_samples()
        return pooled(forget_set(self.forget, user) for user in self.users.values())

    def retain_set(self) -> Samples:
        """Training samples that affected models may know, user after user: (m, ...)."""
        self.require_samples()
        return pooled(retained_after(user, self.all_forgets) for user in self.users.values())

    @cached_property
    def _affected(self) -> frozenset[str]:
        return frozenset(self.affected())

    def is_taught(self, name: str) -> bool:
        """Whether a model was trained on samples that the affected models must not know."""
        if self.trainer is not None:
            return any(self.models[name].user in forget.clients for forget in self.all_forgets)
        return any(len(forget_set(forget, self.owner(name))) for forget in self.all_forgets)

    def _check_classes(self) -> None:
        if self.forget.level is not Level.CLASS:
            return
        held = set(chain(*(user.train.classes() for user in self.users.values())))
        require_classes(self.classes, held, "the federation")
        if held <= set(self.classes):
            raise UnlearningError(
                f"the request forgets every class there is ({', '.join(map(str, sorted(held)))}): "
                "no data would be left; delete the models instead."
            )

    def _check_owners(self) -> None:
        """Checks that clients, and owners of samples, exist, own a start, and have the rows."""
        owning = {self.models[start].user for start in self.starts}
        for index in self.forget.owners():
            if index not in self.users:
                raise UnlearningError(
                    f"there is no client {index}; there are {', '.join(map(str, sorted(self.users)))}."
                )
            if index not in owning:
                raise UnlearningError(
                    f"client {index} owns none of the starts ({', '.join(self.starts)}): "
                    "start from a model of its own."
                )
        require_rows(self.forget, self.users.values())
        if self.forget.level is Level.CLIENT and set(self.forget.clients) >= set(self.users):
            raise UnlearningError("the request forgets every client: delete the models instead.")

    def _check_models(self, names: set[str]) -> None:
        missing = sorted(names - self.models.keys())
        if missing:
            raise UnlearningError(f"the weights of {', '.join(missing)} are missing: load them first.")
        for name in sorted(names):
            try:
                require_finite(self.models[name].weights, f"model {name!r}")
                require_same_form({"initial": self.initial, name: self.models[name].weights})
            except LearningError as error:
                raise UnlearningError(str(error)) from None

    def _check_users(self, affected: tuple[str, ...]) -> None:
        for name in affected:
            index = self.models[name].user
            if index not in self.users:
                raise UnlearningError(f"the data of user {index}, who owns {name!r}, is missing.")
            if self.forget.level is Level.CLIENT or len(retain_set(self.forget, self.owner(name))):
                continue  # earlier requests may leave no samples: the model is then its aggregate
            if self.forget.level is Level.CLASS:
                raise UnlearningError(
                    f"user {index}, who owns {name!r}, holds the forgotten classes only: "
                    "nothing would be left to train on; delete the model instead."
                )
            raise UnlearningError(
                f"user {index}, who owns {name!r}, has no other samples: ask at level client."
            )
