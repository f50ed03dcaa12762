# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from blockful_py.errors import CycleError, LearningError, SettingsError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.candidates import ScoredModel, draw_candidates, select
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import FederationSpec, TrainedModel, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.scenario import PAPER14, plan, scripted, without_users
from blockful_py.learning.streams import generator
from blockful_py.learning.weights import equal
from blockful_py.settings import FederationSettings, TrainingSettings

ORGANIC = FederationSettings("organic", rounds=2)


@pytest.fixture(scope="module")
def settings(cnn: Architecture) -> FederationSpec:
    return FederationSpec(cnn, ORGANIC, TrainingSettings(epochs=2))


@pytest.fixture(scope="module")
def organic(settings: FederationSpec, users: tuple[UserData, ...]) -> list[TrainedModel]:
    return [model for wave in train_federation(settings, users) for model in wave]


def same(left: TrainedModel, right: TrainedModel) -> bool:
    names = ("name", "user", "round", "references", "accuracy", "training")
    return equal(left.weights, right.weights) and all(getattr(left, n) == getattr(right, n) for n in names)


def test_the_papers_graph_has_starts_at_growing_depth_and_models_untouched() -> None:
    graph = InheritanceGraph.from_references(PAPER14)
    depth = graph.depth(("r5", "r7"))
    assert [depth[name].shortest for name in ("r5", "r6", "r8")] == [0, 1, 2]
    assert [depth[name].longest for name in ("r5", "r6", "r8")] == [0, 1, 2]
    assert set(PAPER14) - set(depth) == {"r1", "r2", "r3", "r4", "r13"}
    assert set(graph.ancestors(("r8",))) >= {"r5", "r6", "r7"}


def test_the_papers_scenario_is_planned_wave_after_wave() -> None:
    waves = plan(FederationSettings())
    known: set[str] = set()
    for wave in waves:
        for spec in wave:
            assert spec.references is not None
            assert set(spec.references) <= known
            assert spec.name == f"r{spec.user}"
        known |= {spec.name for spec in wave}
    assert known == set(PAPER14)


def test_a_cycle_in_a_scripted_graph_is_refused() -> None:
    with pytest.raises(CycleError):
        scripted({"r1": ("r2",), "r2": ("r1",)})


@pytest.mark.parametrize(
    "wrong",
    [
        {"scenario": "ring"},
        {"users": 15},
        {"rounds": 2},
        {"scenario": "organic", "wave": 0},
    ],
)
def test_settings_that_fit_no_scenario_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        plan(FederationSettings(**wrong))


def test_users_take_turns(organic: list[TrainedModel]) -> None:
    assert [model.name for model in organic] == [f"r{i}" for i in range(1, 29)]
    assert [model.user for model in organic] == [*range(1, 15)] * 2
    assert [model.round for model in organic] == [1] * 14 + [2] * 14


def test_every_start_has_an_heir_within_three_models(organic: list[TrainedModel]) -> None:
    place = {model.name: i for i, model in enumerate(organic)}
    graph = InheritanceGraph.from_references(
        {model.name: [reference.name for reference in model.references] for model in organic}
    )
    for start in ("r5", "r7", "r19", "r21"):
        first_heir = min(place[heir] for heir in graph.heirs(start))
        assert first_heir - place[start] <= 4  # three models after the start's own wave of two


def test_references_are_others_newest_models_best_first(organic: list[TrainedModel]) -> None:
    user = {model.name: model.user for model in organic}
    place = {model.name: i for i, model in enumerate(organic)}
    for model in organic:
        accuracies = [reference.accuracy for reference in model.references]
        assert len(model.references) == (0 if model.name in {"r1", "r2"} else 2)
        assert accuracies == sorted(accuracies, reverse=True)
        assert all(user[reference.name] != model.user for reference in model.references)
        assert all(1 <= place[model.name] - place[r.name] <= 8 for r in model.references)


def test_roots_train_longer(organic: list[TrainedModel]) -> None:
    assert [model.training.epochs for model in organic] == [6, 6] + [2] * 26


def test_the_same_seed_gives_the_same_bits(
    settings: FederationSpec, users: tuple[UserData, ...], organic: list[TrainedModel]
) -> None:
    again = [model for wave in islice(train_federation(settings, users), 4) for model in wave]
    assert all(same(*pair) for pair in zip(again, organic, strict=False))
    other = next(train_federation(replace(settings, seed=1), users))
    assert not same(other[0], organic[0])


@pytest.mark.parametrize("stopped_after", [3, 12])
def test_a_run_that_stopped_goes_on_with_the_same_bits(
    settings: FederationSpec,
    users: tuple[UserData, ...],
    organic: list[TrainedModel],
    stopped_after: int,
) -> None:
    resumed = next(train_federation(settings, users, organic[:stopped_after]))
    expected = organic[stopped_after : stopped_after + len(resumed)]
    assert all(same(*pair) for pair in zip(resumed, expected, strict=True))


def test_users_who_leave_publish_no_more_and_nobody_waits_for_them(
    settings: FederationSpec, users: tuple[UserData, ...], organic: list[TrainedModel]
) -> None:
    waves = train_federation(settings, users, organic[:14], left={4, 7})
    later = {model.name: model for wave in waves for model in wave}
    assert later.keys() == {f"r{number}" for number in range(15, 29)} - {"r18", "r21"}
    assert same(later["r15"], organic[14])  # before anybody would have waited
    referenced = {reference.name for model in later.values() for reference in model.references}
    assert not referenced & {"r18", "r21"}
    assert any(reference.name == "r19" for model in later.values() for reference in model.references)


def test_a_start_that_is_not_published_any_more_is_forced_on_nobody() -> None:
    whole = plan(ORGANIC, (5, 7))
    published = [f"r{number}" for number in range(1, 15)]
    chances = [c for wave in without_users(whole, {5}, published) for s in wave for c in s.last_chances]
    assert {chance.start for chance in chances} == {"r5", "r7", "r21"}  # r19 were the leaver's second
    assert not any("r19" in chance.others for chance in chances)
    assert without_users(whole, (), published) == whole


def test_users_without_data_are_refused(settings: FederationSpec, users: tuple[UserData, ...]) -> None:
    with pytest.raises(LearningError, match="14 users, but 13 have data"):
        next(train_federation(settings, users[:13]))


def test_candidates_are_drawn_without_repetition() -> None:
    pool = [f"r{i}" for i in range(7)]
    drawn = draw_candidates(pool, 5, generator(0))
    assert len(set(drawn)) == 5
    assert set(drawn) <= set(pool)
    assert drawn == draw_candidates(pool, 5, generator(0))
    assert set(draw_candidates(pool, 50, generator(0))) == set(pool)


def test_selection_takes_the_best_and_keeps_the_order_of_equals() -> None:
    scored = [ScoredModel("a", 0.5), ScoredModel("b", 0.9), ScoredModel("c", 0.9), ScoredModel("d", 0.1)]
    assert [reference.name for reference in select(scored, 2)] == ["b", "c"]
    assert [reference.name for reference in select(scored, 2, forced=("d",))] == ["b", "d"]
    assert [reference.name for reference in select(scored, 2, forced=("c",))] == ["b", "c"]


def test_selection_needs_positive_numbers() -> None:
    with pytest.raises(SettingsError, match="candidates"):
        draw_candidates(["a"], 0, generator(0))
    with pytest.raises(SettingsError, match="references"):
        select([], 0)
