# SPDX-License-Identifier: Apache-2.0
"""The interface of unlearning methods, and their return values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from blockful_py.errors import UnlearningError
from blockful_py.forget import Level
from blockful_py.graph.path_weights import PathWeights
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.weights import Weights
from blockful_py.types import Paradigm
from blockful_py.unlearning.cost import Cost
from blockful_py.unlearning.task import UnlearningTask

__all__ = [
    "IncrementsUsed",
    "Method",
    "ModelUpdate",
    "Need",
    "Outcome",
    "Review",
    "outcome_of",
    "require_level",
    "steps_of",
]


class Need(StrEnum):
    """Data that a method needs from users at request time."""

    START_DATA = "start_data"
    """The owners of the starts compute on their data."""

    DESCENDANT_DATA = "descendant_data"
    """The owners of all affected models compute on their data."""

    HOLDERS_DATA = "holders_data"
    """All owners whose models, affected or not, were trained on forgotten samples compute on their data,
    unless the increments are stored.
    """

    FORGOTTEN_DATA = "forgotten_data"
    """Owners without forgotten samples borrow some from the owners of the starts."""

    PROXY_DATA = "proxy_data"
    """Labelled samples outside every user's data."""

    PROXY_WHERE_THERE = "proxy_where_there"
    """Optional proxy data: the method works without it."""

    PUBLISHED_FISHER = "published_fisher"
    """The diagonal of the Fisher information, published with every model."""


class Review(StrEnum):
    """How a committee member checks a method's results before it signs."""

    RECOMPUTED = "recomputed"
    """The member computes every new weight itself, bit for bit, from the old weights and the starts'
    announced new weights.  Sound at every level.
    """

    REMEASURED = "remeasured"
    """The member measures AD_f and AD_r again on public test data.  At the levels client and sample no public
    data shows whether a model has forgotten, so only the owners attest the results.
    """

    NONE = "none"
    """The member refuses."""


@dataclass(frozen=True, slots=True)
class IncrementsUsed:
    """Models by the origin of their clean increments, in topological order.

    Attributes:
        stored: models whose increments were made at publication.
        made: models whose increments were trained for this request.
    """

    stored: tuple[str, ...]
    made: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ModelUpdate:
    """New weights of one model.

    Attributes:
        weights: state dict, on the CPU.
        seconds: wall time of the update.
        cost: cost of the request up to this update; None if the method does not count it.
        increments: origin of the request's clean increments, for a method that uses them.
        references: the references that the model chose again; None if it keeps its own.
    """

    name: str
    weights: Weights
    seconds: float
    cost: Cost | None = None
    increments: IncrementsUsed | None = None
    references: tuple[ScoredModel, ...] | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of a method.

    Attributes:
        weights: new state dicts of every changed model, in topological order, on the CPU; passed changes are
            computed on demand.
        skipped: L2 norm, at most epsilon, of the update of each descendant that did not change.
        path_weights: C of the paper's eq. 8, if the method passes changes of the starts.
        depth_bound: depth of theorem 1 (paper, eq. 9); None if epsilon is 0.
        depth_observed: longest path from a start to a changed model.
        seconds: wall time by stage.
        cost: counted sample passes.
        increments: origin of the clean increments, for a method that uses them.
        references: references that models chose again, by model.
    """

    weights: Mapping[str, Weights]
    depth_observed: int
    seconds: Mapping[str, float]
    cost: Cost
    skipped: Mapping[str, float] = field(default_factory=dict)
    path_weights: PathWeights | None = None
    depth_bound: int | None = None
    increments: IncrementsUsed | None = None
    references: Mapping[str, tuple[ScoredModel, ...]] = field(default_factory=dict)


class Method(Protocol):
    """An unlearning method.

    Attributes:
        name: name in settings and requests.
        paradigms: committee paradigms that its results can be written in.
        needs: data that it needs from users.
        levels: levels at which it can forget.
        review: how members check its results.
    """

    @property
    def name(self) -> str: ...

    @property
    def paradigms(self) -> frozenset[Paradigm]: ...

    @property
    def needs(self) -> frozenset[Need]: ...

    @property
    def levels(self) -> frozenset[Level]: ...

    @property
    def review(self) -> Review: ...

    def unlearn(self, task: UnlearningTask) -> Outcome:
        """New weights of all models that change.

        Raises:
            UnlearningError: the method cannot forget at this level, or the task lacks data that it needs.
            LearningError: a result that is not finite.
        """
        ...

    def steps(self, task: UnlearningTask) -> Iterator[ModelUpdate]:
        """Yields the weights of `unlearn` model by model, in topological order.

        Each update may be committed before the next is requested.  Raises as `unlearn`.
        """
        ...


def require_level(method: Method, task: UnlearningTask) -> None:
    """Checks that the method can forget at the task's level.  Raises UnlearningError."""
    if task.forget.level not in method.levels:
        able = ", ".join(sorted(method.levels))
        raise UnlearningError(
            f"method {method.name!r} forgets at level {able}, not at level {task.forget.level}: "
            "choose another method, e.g. retrain."
        )


def outcome_of(
    task: UnlearningTask, weights: Mapping[str, Weights], cost: Cost, seconds: Mapping[str, float]
) -> Outcome:
    """Outcome of a method that passes no changes of the starts; `weights` has at least one model."""
    depth = task.graph.depth(task.starts)
    return Outcome(
        weights={name: weights[name] for name in task.affected() if name in weights},
        depth_observed=max(depth[name].longest for name in weights),
        seconds=seconds,
        cost=cost,
    )


def steps_of(outcome: Outcome) -> Iterator[ModelUpdate]:
    """Steps of a method that computes all weights at once; each step reports an equal part of its time."""
    each = sum(outcome.seconds.values()) / len(outcome.weights)
    for name, weights in outcome.weights.items():
        chosen = outcome.references.get(name)
        yield ModelUpdate(name, weights, each, outcome.cost, outcome.increments, chosen)


class AllAtOnce(ABC):
    """Base of methods that compute all weights at once."""

    __slots__ = ()

    @abstractmethod
    def unlearn(self, task: UnlearningTask) -> Outcome:
        """See Method."""

    def steps(self, task: UnlearningTask) -> Iterator[ModelUpdate]:
        """See Method."""
        return steps_of(self.unlearn(task))
