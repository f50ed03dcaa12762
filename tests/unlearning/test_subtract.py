# SPDX-License-Identifier: Apache-2.0
"""Subtraction gives the bits of a federation that never had the data: any graph, level and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.errors import UnlearningError
from blockful_py.forget import LEVELS, Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import outputs
from blockful_py.learning.federation import FederationSpec, TrainedModel, train_federation
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import BITS, CONSTANT, OWN, SHIFT, held, require_part, total_of
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, aggregate, equal
from blockful_py.settings import FederationSettings, TrainingSettings
from blockful_py.types import Paradigm
from blockful_py.unlearning.audit import is_exact
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.subtract import Subtract, Subtraction, recompute_sums, require_kind
from blockful_py.unlearning.task import UnlearningTask

CPU = torch.device("cpu")
CLASSES, ROWS, USERS = 4, 6, 4
SMALL = Architecture("analytic", (1, 4, 4), CLASSES, options=(("features", 8),))
PHI = TrainingSettings()
Graph = Mapping[str, tuple[str, ...]]


@cache
def samples(user: int) -> Samples:
    """A user's training samples; every class has one, and some have more."""
    stream = generator(0, "tests", user)
    labels = torch.cat([torch.arange(CLASSES), torch.randint(CLASSES, (ROWS - CLASSES,), generator=stream)])
    return Samples(torch.rand(ROWS, 1, 4, 4, generator=stream), labels)


def part_of(rows: Samples) -> Weights:
    return train(SMALL, SMALL.initial(generator(0)), rows, PHI, generator(0))


def owner_of(name: str) -> int:
    return int(name[1:]) % USERS + 1


@dataclass(frozen=True)
class Federation:
    """Models by name, with the requests that have changed each of them."""

    graph: Graph
    models: Mapping[str, TrainedModel]
    earlier: Mapping[str, tuple[Forget, ...]]

    @classmethod
    def grown(cls, graph: Graph) -> Federation:
        models: dict[str, TrainedModel] = {}
        for name, references in graph.items():
            start = aggregate([models[each].weights for each in references]) if references else None
            weights = train(
                SMALL, start or SMALL.initial(generator(0)), samples(owner_of(name)), PHI, generator(0)
            )
            models[name] = TrainedModel(name, owner_of(name), 1, (), weights, 0.0, PHI)
        return cls(graph, models, {})

    def task(self, starts: Sequence[str], forget: Forget) -> UnlearningTask:
        return UnlearningTask(
            graph=InheritanceGraph.from_references(self.graph),
            models=self.models,
            users={i: UserData(i, samples(i), samples(i)) for i in range(1, USERS + 1)},
            architecture=SMALL,
            initial=SMALL.initial(generator(0)),
            starts=tuple(starts),
            forget=forget,
            seed=0,
            earlier=self.earlier,
        )

    def after(self, starts: Sequence[str], forget: Forget) -> Federation:
        """The federation after a request, whose result members recompute from public sums."""
        task = self.task(starts, forget)
        new = dict(create_method("subtract").unlearn(task).weights)
        asked = Subtraction(forget, task.graph, {name: owner_of(name) for name in self.graph}, tuple(starts))
        old = {name: model.weights for name, model in self.models.items()}
        checked = recompute_sums(asked, task.affected(), old, {name: new[name] for name in starts})
        assert all(equal(checked[name], new[name]) for name in task.affected())
        models = {name: replace(self.models[name], weights=new[name]) for name in new}
        earlier = {name: (*self.earlier.get(name, ()), forget) for name in new}
        return Federation(self.graph, {**self.models, **models}, {**self.earlier, **earlier})

    def affected(self, starts: Sequence[str]) -> set[str]:
        return {*starts, *InheritanceGraph.from_references(self.graph).descendants(starts)}


def shares(graph: Graph) -> dict[str, dict[str, Fraction]]:
    """By model, the share of every ancestor's part: products of 2^-k along all paths, added up."""
    found: dict[str, dict[str, Fraction]] = {}
    for name, references in graph.items():
        row = {name: Fraction(1)}
        k = next(k for k in range(9) if 2**k >= len(references)) if references else 0
        for each in references:
            for ancestor, share in found[each].items():
                row[ancestor] = row.get(ancestor, Fraction(0)) + share / 2**k
        found[name] = row
    return found


def require_never_had(federation: Federation, requests: Sequence[tuple[Sequence[str], Forget]]) -> None:
    """Compares all models with the sums over the samples that are kept, in Python's integers."""
    reached = [(federation.affected(starts), forget) for starts, forget in requests]
    kept = {
        name: part_of_kept(owner_of(name), tuple(f for names, f in reached if name in names and f.owners()))
        for name in federation.graph
    }
    for name, row in shares(federation.graph).items():
        weights = federation.models[name].weights
        shift = int(weights[SHIFT])
        factors = {ancestor: share * 2**shift for ancestor, share in row.items()}
        assert all(factor.denominator == 1 for factor in factors.values())
        expected = sum(int(factor) * kept[ancestor] for ancestor, factor in factors.items())
        struck = {label for names, forget in reached if name in names for label in forget.classes}
        expected[sorted(struck)] = 0
        words = total_of(weights).astype(object)
        assert (sum(word << (BITS * i) for i, word in enumerate(words)) == expected).all(), name


@cache
def part_of_kept(user: int, forgets: tuple[Forget, ...]) -> np.ndarray:
    """The part of the samples that a user keeps, as Python's integers."""
    kept = retained_after(UserData(user, samples(user), samples(user)), forgets)
    if not len(kept):
        return np.zeros_like(part_of(samples(user))[OWN].numpy()).astype(object)
    return part_of(kept)[OWN].numpy().astype(object)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Up to 40 models of 4 users, 1 to 4 references each among the newest, to a depth of 30 and beyond."""
    size, recent = draw(st.integers(4, 40)), draw(st.integers(1, 6))
    graph: dict[str, tuple[str, ...]] = {}
    for i in range(size):
        pool = [f"m{j}" for j in range(max(0, i - recent), i)]
        least = min(1, len(pool)) if draw(st.integers(0, 9)) else 0
        graph[f"m{i}"] = tuple(
            draw(st.lists(st.sampled_from(pool), min_size=least, max_size=4, unique=True)) if pool else ()
        )
    return graph


@st.composite
def requests(draw: st.DrawFn, graph: Graph) -> list[tuple[tuple[str, ...], Forget]]:
    """One to three requests, of different owners and classes."""
    owners = draw(st.permutations(range(1, USERS + 1)))
    labels = draw(st.permutations(range(CLASSES)))
    made = []
    for i in range(draw(st.integers(1, 3))):
        level = draw(st.sampled_from(LEVELS))
        own = tuple(name for name in graph if owner_of(name) == owners[i])
        if level is Level.CLASS:
            starts = draw(st.lists(st.sampled_from([*graph]), min_size=1, max_size=3, unique=True))
            made.append((tuple(starts), Forget.of_classes([labels[i]])))
        elif level is Level.CLIENT:
            made.append((own, Forget.of_clients([owners[i]])))
        else:
            rows = draw(st.sets(st.integers(0, ROWS - 1), min_size=1, max_size=ROWS - 1))
            made.append((own, Forget.of_samples((owners[i], row) for row in rows)))
    return made


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_requests_in_any_order_give_the_sums_of_what_is_kept(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    before = Federation.grown(graph)
    require_never_had(before, [])
    asked = data.draw(requests(graph))
    results = []
    for order in permutations(asked):
        federation = before
        for starts, forget in order:
            if forget.level is Level.SAMPLE and _is_pointless(federation, starts, forget):
                return  # a class that is struck out has no samples left to take away
            federation = federation.after(starts, forget)
        require_never_had(federation, asked)
        results.append(federation)
    for other in results[1:]:
        for name, model in other.models.items():
            assert equal(model.weights, results[0].models[name].weights)
            first, again = (
                outputs(SMALL.module(each, CPU).eval(), samples(1).x)
                for each in (results[0].models[name].weights, model.weights)
            )
            assert torch.equal(first, again)


def _is_pointless(federation: Federation, starts: Sequence[str], forget: Forget) -> bool:
    rows = [row for _, row in forget.samples]
    labels = {int(samples(forget.samples[0][0]).y[row]) for row in rows}
    return any(not labels & {*held(federation.models[name].weights)} for name in starts)


def test_a_chain_of_thirty_generations_with_four_references() -> None:
    layers = [[f"m{4 * depth + i}" for i in range(4)] for depth in range(31)]
    graph = {
        name: tuple(layers[depth - 1]) if depth else ()
        for depth, layer in enumerate(layers)
        for name in layer
    }
    before = Federation.grown(graph)
    assert int(before.models["m123"].weights[SHIFT]) == 60
    own = tuple(name for name in graph if owner_of(name) == 2)
    asked = [
        (("m0", "m7"), Forget.of_classes([1])),
        (own, Forget.of_samples([(2, 0), (2, 3)])),
        (own, Forget.of_clients([2])),
    ]
    federation = before
    for starts, forget in asked:
        federation = federation.after(starts, forget)
    require_never_had(federation, asked)


# The federations of the laboratory


@dataclass(frozen=True)
class Laboratory:
    spec: FederationSpec
    users: tuple[UserData, ...]
    models: dict[str, TrainedModel]
    data: Dataset

    def task(self, starts: Sequence[str], forget: Forget) -> UnlearningTask:
        return UnlearningTask.of(self.spec, self.models.values(), self.users, starts, forget)


@pytest.fixture(scope="module", params=["few_hold", "all_hold"])
def laboratory(request: pytest.FixtureRequest) -> Laboratory:
    data = load_dataset("digits", 0, CPU)
    scenario = FederationSettings("paper14", request.param)
    users = partition(data, Division(scenario, (5, 7), (3,)), 0)
    spec = FederationSpec(Architecture.of("analytic", data, {"features": 32}), scenario)
    return Laboratory(spec, users, grown(spec, users), data)


def grown(spec: FederationSpec, users: Sequence[UserData]) -> dict[str, TrainedModel]:
    return {model.name: model for wave in train_federation(spec, users) for model in wave}


STARTS = ("r5", "r7")


def test_a_class_is_forgotten_whoever_holds_it(laboratory: Laboratory) -> None:
    outcome = create_method("subtract").unlearn(laboratory.task(STARTS, Forget.of_classes([3])))
    without = [replace(user, train=user.train.without([3])) for user in laboratory.users]
    never = grown(laboratory.spec, without)
    assert len(outcome.weights) == 9
    assert all(equal(outcome.weights[name], never[name].weights) for name in outcome.weights)
    assert outcome.cost.passes == 0


def test_samples_are_forgotten(laboratory: Laboratory) -> None:
    rows = [(5, 0), (5, 11), (7, 3)]
    outcome = create_method("subtract").unlearn(laboratory.task(STARTS, Forget.of_samples(rows)))
    without = [
        replace(user, train=retained_after(user, [Forget.of_samples(rows)])) for user in laboratory.users
    ]
    never = grown(laboratory.spec, without)
    assert all(equal(outcome.weights[name], never[name].weights) for name in outcome.weights)
    kept = sum(len(user.train) for user in without if user.index in (5, 7))
    assert outcome.cost.passes == pytest.approx(kept / 3)


def test_a_client_leaves_and_other_models_stay(laboratory: Laboratory) -> None:
    task = laboratory.task(["r5"], Forget.of_clients([5]))
    new = create_method("subtract").unlearn(task).weights
    again = create_method("retrain").unlearn(task).weights
    assert new.keys() == {*task.affected()} == again.keys()
    assert all(equal(new[name], again[name]) for name in new)
    assert not new["r5"][OWN].any()


@pytest.mark.parametrize("paradigm", Paradigm)
def test_the_audit_finds_it_exact(laboratory: Laboratory, paradigm: Paradigm) -> None:
    method = create_method("subtract")
    assert paradigm in method.paradigms
    if laboratory.spec.scenario.situation == "few_hold":
        assert is_exact(laboratory.task(STARTS, Forget.of_classes([3])), method)
        assert is_exact(laboratory.task(["r5"], Forget.of_samples([(5, 0), (5, 7)])), method)


# Edges and refusals

CHAIN: Graph = {"m0": (), "m1": ("m0",), "m4": ("m1",), "m2": ("m4", "m0")}
"""m0 and m4 are user 1's, m1 user 2's, m2 user 3's."""


def test_a_client_whose_root_leaves_keeps_nothing_of_it() -> None:
    after = Federation.grown(CHAIN).after(["m0", "m4"], Forget.of_clients([1]))
    assert held(after.models["m0"].weights) == ()
    assert equal(after.models["m0"].weights, SMALL.initial(generator(0)))
    assert not outputs(SMALL.module(after.models["m0"].weights, CPU).eval(), samples(1).x).any()
    again = after.after(["m1"], Forget.of_clients([2]))
    assert held(again.models["m1"].weights) == () == held(again.models["m4"].weights)
    assert held(again.models["m2"].weights) == tuple(range(CLASSES))


def test_a_class_that_nobody_holds_any_more() -> None:
    """Forgetting its last samples strikes a class out; a later request does not bring it back."""
    labels = samples(1).y.tolist()
    last = [(1, row) for row, label in enumerate(labels) if label == 2]
    after = Federation.grown({"m0": (), "m1": ("m0",)}).after(["m0"], Forget.of_samples(last))
    assert held(after.models["m0"].weights) == (0, 1, 3)
    after = after.after(["m1"], Forget.of_clients([2]))
    assert held(after.models["m1"].weights) == (0, 1, 3)


@pytest.mark.parametrize(
    ("starts", "forget", "missing"),
    [
        (["m4"], Forget.of_clients([1]), "m0"),
        (["m0"], Forget.of_samples([(1, 0)]), "m4"),
        (["m4"], Forget.of_samples([(1, 0)]), "m0"),
    ],
)
def test_parts_that_would_remain_are_named(starts: list[str], forget: Forget, missing: str) -> None:
    with pytest.raises(UnlearningError, match=f"^{missing} would keep sums of .* start there too"):
        create_method("subtract").unlearn(Federation.grown(CHAIN).task(starts, forget))


def test_a_client_whose_other_models_descend_from_the_start_needs_one_start() -> None:
    asked = (["m0"], Forget.of_clients([1]))
    require_never_had(Federation.grown(CHAIN).after(*asked), [asked])


def announced(federation: Federation, weights: Mapping[str, Weights]) -> Mapping[str, Weights]:
    """What members make of announced starts, for samples (1, 0) and (1, 1)."""
    starts, forget = ("m0", "m4"), Forget.of_samples([(1, 0), (1, 1)])
    graph = InheritanceGraph.from_references(CHAIN)
    asked = Subtraction(forget, graph, {name: owner_of(name) for name in CHAIN}, starts)
    old = {name: model.weights for name, model in federation.models.items()}
    return recompute_sums(asked, ("m0", "m1", "m4", "m2"), old, weights)


@pytest.mark.parametrize("kept", [range(ROWS), range(3, ROWS)])
def test_an_owner_that_takes_away_too_little_or_too_much_is_refused(kept: range) -> None:
    federation = Federation.grown(CHAIN)
    lied = part_of(samples(1).at(torch.tensor([*kept])))
    with pytest.raises(UnlearningError, match=r"the announced part of m0 .* 1 to 2 samples"):
        announced(federation, {"m0": lied, "m4": lied})


def test_an_owner_that_takes_away_anothers_rows_is_refused() -> None:
    federation = Federation.grown(CHAIN)
    lied = part_of(samples(2).at(torch.arange(2, ROWS)))
    with pytest.raises(UnlearningError, match="the announced part of m0"):
        announced(federation, {"m0": lied, "m4": lied})


def test_an_owner_that_takes_numbers_of_no_sample_away_is_refused() -> None:
    """What one sample takes away is of rank 1; a single entry more is not."""
    labels = samples(1).y.tolist()
    row = next(row for row in (0, 1) if labels.count(labels[row]) > 1)
    lied = dict(part_of(samples(1).at(torch.tensor([i for i in range(ROWS) if i != row]))))
    entry = next(i for i in range(1, 9) if lied[OWN][labels[row], i])  # no square
    lied[OWN][labels[row], entry] -= 1
    require_part(lied[OWN])
    with pytest.raises(UnlearningError, match="the announced part of m0"):
        announced(Federation.grown(CHAIN), {"m0": lied, "m4": lied})


def test_a_class_that_left_one_model_of_an_owner_stays_in_its_others() -> None:
    """The owner trains on it no more, but its other model had it, and loses the named samples alone."""
    grown = Federation.grown({"m0": (), "m4": ()})
    label = int(samples(1).y[0])
    after = grown.after(["m0"], Forget.of_classes([label]))
    after = replace(after, earlier={name: (Forget.of_classes([label]),) for name in after.graph})
    row = next(row for row, each in enumerate(samples(1).y.tolist()) if each != label)
    last = after.after(["m0", "m4"], Forget.of_samples([(1, row)]))
    assert label in held(last.models["m4"].weights) and label not in held(last.models["m0"].weights)
    without = after.after(["m0", "m4"], Forget.of_samples([(1, 0)]))
    assert equal(without.models["m0"].weights, after.models["m0"].weights)
    lost = after.models["m4"].weights[OWN] - without.models["m4"].weights[OWN]
    assert lost[:, -1].tolist() == [CONSTANT**2 * (each == label) for each in range(CLASSES)]


def test_only_the_part_of_an_announced_start_counts() -> None:
    """What an owner announces as inherited is computed by the members themselves."""
    federation = Federation.grown(CHAIN)
    honest = part_of(samples(1).at(torch.arange(2, ROWS)))
    spoiled = {**federation.models["m4"].weights, OWN: honest[OWN]}
    new = announced(federation, {"m0": honest, "m4": spoiled})
    expected = federation.after(["m0", "m4"], Forget.of_samples([(1, 0), (1, 1)]))
    assert equal(new["m4"], expected.models["m4"].weights)
    assert not equal(new["m4"], spoiled)


def test_references_of_another_publication_are_refused() -> None:
    federation = Federation.grown(CHAIN)
    other = replace(federation.models["m2"], weights=federation.models["m0"].weights)
    mixed = replace(federation, models={**federation.models, "m2": other})
    with pytest.raises(UnlearningError, match="m2 are not the ones it was added up from: its shift is 0"):
        mixed.after(["m1"], Forget.of_clients([2]))


def test_methods_and_kinds_that_do_not_fit_are_refused() -> None:
    subtract, merged, ascent = Subtract(), Subtract(merged=True), create_method("gradient_ascent")
    require_kind(subtract, "analytic")
    require_kind(merged, "merged")
    require_kind(ascent, "cnn")
    for model in ("analytic", "merged"):
        with pytest.raises(UnlearningError, match="'gradient_ascent' changes the weights of a network"):
            require_kind(ascent, model)
    with pytest.raises(UnlearningError, match="not 'cnn': choose retrain_ahead or gradient_ascent"):
        require_kind(subtract, "cnn")
    for method, model in ((subtract, "merged"), (merged, "analytic")):
        with pytest.raises(UnlearningError, match=f"learning.model is '{model}', and method 'subtract' has"):
            require_kind(method, model)


def test_a_network_is_not_subtracted() -> None:
    data = load_dataset("digits", 0, CPU)
    users = partition(data, Division(FederationSettings(), (5, 7), (3,)), 0)
    spec = FederationSpec(Architecture.of("cnn", data), training=TrainingSettings(epochs=1), root_factor=1)
    models = grown(spec, users)
    task = UnlearningTask.of(spec, models.values(), users, STARTS, Forget.of_classes([3]))
    with pytest.raises(UnlearningError, match="changes models of sums"):
        create_method("subtract").unlearn(task)
