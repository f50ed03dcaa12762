# SPDX-License-Identifier: Apache-2.0
"""Merged models without parts have the bits of a federation that never had the data: any graph and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.errors import LearningError, UnlearningError
from blockful_py.forget import LEVELS, Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.federation import FederationSpec, TrainedModel, train_federation
from blockful_py.learning.forget_sets import knows, retained_after
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import HALF, OWN
from blockful_py.learning.weights import Weights, aggregate, equal
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.types import Paradigm
from blockful_py.unlearning.audit import is_exact
from blockful_py.unlearning.subtract import Subtract, Subtraction, recompute_sums, trained_parts
from blockful_py.unlearning.task import UnlearningTask
from tests.unlearning.test_subtract import CLASSES, ROWS, USERS, Graph, graphs, owner_of

CPU = torch.device("cpu")
SMALL = Architecture("merged", (1, 4, 4), CLASSES, options=(("network", "mlp"),))
PHI = TrainingSettings(epochs=1, batch_size=4)
EMPTY = SMALL.initial(generator(0))
METHOD = Subtract(merged=True)


@cache
def samples(user: int) -> Samples:
    """A user's training samples; users 1 and 2 hold class 3, the others do not."""
    stream, held = generator(0, "merged", user), CLASSES if user <= 2 else CLASSES - 1
    return Samples(torch.rand(ROWS, 1, 4, 4, generator=stream), torch.arange(ROWS) % held)


USER_DATA = {i: UserData(i, samples(i), samples(i)) for i in range(1, USERS + 1)}


def published(name: str, weights: Weights) -> TrainedModel:
    return TrainedModel(name, owner_of(name), 1, (), weights, 0.0, PHI)


@cache
def part_of(user: int, forgets: tuple[Forget, ...]) -> torch.Tensor:
    """The part of a user whose data lacked what the requests name."""
    kept = retained_after(USER_DATA[user], forgets)
    name = f"m{user - 1}"
    return trained_parts(SMALL, EMPTY, {name: published(name, EMPTY)}, {name: kept}, 0)[name]


def grown(graph: Graph, forgets: Mapping[str, tuple[Forget, ...]]) -> dict[str, Weights]:
    """A federation in which each model's owner lacks the data that the requests name."""
    models: dict[str, Weights] = {}
    for name, references in graph.items():
        start = aggregate([models[each] for each in references]) if references else EMPTY
        models[name] = {**start, OWN: part_of(owner_of(name), forgets.get(name, ()))}
    return models


@dataclass(frozen=True)
class Merged:
    """Models by name, with the requests that have changed each of them."""

    graph: Graph
    models: Mapping[str, Weights]
    earlier: Mapping[str, tuple[Forget, ...]]

    @classmethod
    def of(cls, graph: Graph) -> Merged:
        return cls(graph, grown(graph, {}), {})

    def task(self, starts: Sequence[str], forget: Forget) -> UnlearningTask:
        return UnlearningTask(
            graph=InheritanceGraph.from_references(self.graph),
            models={name: published(name, weights) for name, weights in self.models.items()},
            users=USER_DATA,
            architecture=SMALL,
            initial=EMPTY,
            starts=tuple(starts),
            forget=forget,
            seed=0,
            earlier=self.earlier,
        )

    def after(self, starts: Sequence[str], forget: Forget) -> Merged:
        """The federation after a request, whose result members recompute from the announced parts."""
        task = self.task(starts, forget)
        new = dict(METHOD.unlearn(task).weights)
        announced = {name: new[name] for name in starts if forget.level is not Level.CLIENT}
        assert all(equal(each, new[name]) for name, each in self.recomputed(task, announced).items())
        earlier = {name: (*self.earlier.get(name, ()), forget) for name in new}
        return Merged(self.graph, {**self.models, **new}, {**self.earlier, **earlier})

    def recomputed(self, task: UnlearningTask, announced: Mapping[str, Weights]) -> Mapping[str, Weights]:
        owners = {name: owner_of(name) for name in self.graph}
        asked = Subtraction(task.forget, task.graph, owners, task.starts, merged=True)
        return recompute_sums(asked, task.affected(), self.models, announced)

    def holders(self, forget: Forget) -> tuple[str, ...]:
        return tuple(name for name in self.graph if knows(USER_DATA[owner_of(name)], forget, ()))


@st.composite
def requests(draw: st.DrawFn, federation: Merged) -> list[tuple[tuple[str, ...], Forget]]:
    """One to three requests of different users and classes, each starting at all parts with the data."""
    users, labels = draw(st.permutations(range(1, USERS + 1))), draw(st.permutations(range(CLASSES)))
    made = []
    for i in range(draw(st.integers(1, 3))):
        level = draw(st.sampled_from(LEVELS))
        forget = Forget.of_classes([labels[i]])
        if level is Level.CLIENT:
            forget = Forget.of_clients([users[i]])
        elif level is Level.SAMPLE:
            rows = draw(st.sets(st.integers(0, ROWS - 1), min_size=1, max_size=2))
            forget = Forget.of_samples((users[i], row) for row in rows)
        made.append((federation.holders(forget), forget))
    return made


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_any_requests_in_any_order_give_the_models_that_never_had_the_data(data: st.DataObject) -> None:
    before = Merged.of(data.draw(graphs()))
    asked = [each for each in data.draw(requests(before)) if each[0]]
    for order in permutations(asked):
        after = before
        for starts, forget in order:
            after = after.after(starts, forget)
        lacking = {name: tuple(forget for starts, forget in asked if name in starts) for name in before.graph}
        never = grown(before.graph, lacking)
        assert all(equal(after.models[name], never[name]) for name in before.graph)


def test_the_order_of_two_requests_names_the_same_rest() -> None:
    """The samples that are kept, and their training, do not depend on which request came first."""
    first, second = Forget.of_classes([3]), Forget.of_samples([(1, 0)])
    assert part_of(1, (first, second)).equal(part_of(1, (second, first)))
    assert not part_of(1, (first,)).equal(part_of(1, (second,)))


# The federations of the laboratory

STARTS = ("r5", "r7")


@dataclass(frozen=True)
class Laboratory:
    spec: FederationSpec
    users: tuple[UserData, ...]
    models: tuple[TrainedModel, ...]

    @classmethod
    def of(cls, situation: str = "few_hold") -> Laboratory:
        data = load_dataset("digits", 0, CPU)
        scenario = FederationSettings("paper14", situation)  # type: ignore[arg-type]
        users = partition(data, Division(scenario, (5, 7), (3,)), 0)
        spec = FederationSpec(
            Architecture.of("merged", data), scenario, TrainingSettings(epochs=2), root_factor=1
        )
        return cls(spec, users, tuple(model for wave in train_federation(spec, users) for model in wave))

    def task(self, starts: Sequence[str], forget: Forget) -> UnlearningTask:
        return UnlearningTask.of(self.spec, self.models, self.users, starts, forget)

    def without(self, forget: Forget) -> dict[str, Weights]:
        """The federation whose users never had the data."""
        kept = [replace(user, train=retained_after(user, [forget])) for user in self.users]
        return {model.name: model.weights for wave in train_federation(self.spec, kept) for model in wave}


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory.of()


@pytest.mark.parametrize("forget", [Forget.of_classes([3]), Forget.of_samples([(5, 0), (5, 11), (7, 3)])])
def test_a_laboratory_forgets_to_the_bits_without_the_data(laboratory: Laboratory, forget: Forget) -> None:
    task = laboratory.task(STARTS, forget)
    outcome, never = METHOD.unlearn(task), laboratory.without(forget)
    assert outcome.weights.keys() == {*task.affected()}
    assert all(equal(outcome.weights[name], never[name]) for name in outcome.weights)
    kept = sum(len(task.retained(name)) for name in STARTS)
    assert outcome.cost.passes == 2 * kept


def test_a_client_leaves_without_a_training(laboratory: Laboratory) -> None:
    task = laboratory.task(["r5"], Forget.of_clients([5]))
    outcome = METHOD.unlearn(task)
    assert outcome.cost.passes == 0
    models = {name: model.weights for name, model in task.models.items()} | dict(outcome.weights)
    for name, weights in outcome.weights.items():
        own = task.models[name].weights[OWN]
        start = aggregate([models[each] for each in task.references(name)])
        assert equal(weights, {**start, OWN: torch.zeros_like(own) if name == "r5" else own})


@pytest.mark.parametrize("paradigm", Paradigm)
def test_the_audit_finds_it_exact(laboratory: Laboratory, paradigm: Paradigm) -> None:
    assert paradigm in METHOD.paradigms
    assert is_exact(laboratory.task(STARTS, Forget.of_classes([3])), METHOD)
    assert is_exact(laboratory.task(["r5"], Forget.of_samples([(5, 0), (5, 7)])), METHOD)


def test_a_class_that_others_hold_needs_their_models_as_starts() -> None:
    task = Laboratory.of("all_hold").task(STARTS, Forget.of_classes([3]))
    with pytest.raises(UnlearningError, match=r"^r1.* would keep sums of class 3 .* start there too"):
        METHOD.unlearn(task)


# Lies

CHAIN: Graph = {"m0": (), "m1": ("m0",), "m4": ("m1",), "m2": ("m4", "m0")}
"""m0 and m4 are user 1's, m1 user 2's, m2 user 3's."""


def lied(change: Mapping[int, int]) -> Weights:
    """A start's announced model, some entries of whose part are replaced."""
    part = part_of(1, ()).clone()
    for place, value in change.items():
        part[0, place] = value
    return {**EMPTY, OWN: part}


@pytest.mark.parametrize("change", [{0: 0}, {0: -5}, {-1: 0}, {-1: HALF + 1}, {-1: 1}])
def test_an_announced_part_that_is_no_change_of_weights_is_refused(change: Mapping[int, int]) -> None:
    federation = Merged.of(CHAIN)
    task = federation.task(("m0", "m4"), Forget.of_samples([(1, 0)]))
    with pytest.raises(LearningError, match="the own part of a merged model is no change of weights"):
        federation.recomputed(task, {"m0": lied(change), "m4": lied({})})


def test_only_the_part_of_an_announced_start_counts() -> None:
    """What an owner announces as inherited, or as the base, is computed by the members themselves."""
    federation, forget = Merged.of(CHAIN), Forget.of_samples([(1, 0)])
    task, part = federation.task(("m0", "m4"), forget), part_of(1, (forget,))
    spoiled = {name: each + 1 for name, each in EMPTY.items()} | {OWN: part}
    new = federation.recomputed(task, {"m0": spoiled, "m4": spoiled})
    expected = federation.after(("m0", "m4"), forget)
    assert all(equal(new[name], expected.models[name]) for name in new)
