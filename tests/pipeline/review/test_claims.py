# SPDX-License-Identifier: Apache-2.0
"""Claims of many models equal the claims of each alone, in any common measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.forget import Forget
from blockful_py.learning import evaluation
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.federation import train_federation
from blockful_py.learning.stacked import LARGEST_STACK
from blockful_py.learning.streams import generator
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.review.claims import measure, measure_all
from blockful_py.settings import Settings


@pytest.fixture(scope="module")
def setup() -> TrainingSetup:
    return TrainingSetup.of(Settings.parse({}))


@pytest.fixture(scope="module")
def models(setup: TrainingSetup) -> dict[str, Weights]:
    """More than one stack holds."""
    return {
        f"m{number}": setup.architecture.initial(generator(number)) for number in range(LARGEST_STACK + 3)
    }


@pytest.fixture(autouse=True, params=("in stacks", "one by one"))
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small networks on a processor are computed in stacks, all others one by one."""
    monkeypatch.setattr(evaluation, "stacks_well", lambda *given: request.param == "in stacks")


@pytest.mark.parametrize("classes", [(3,), (0, 7), ()])
def test_a_model_claims_together_what_it_claims_alone(
    setup: TrainingSetup, models: dict[str, Weights], classes: tuple[int, ...]
) -> None:
    together = measure(setup, models, classes)
    assert list(together) == list(models)
    for name, weights in models.items():
        assert measure(setup, {name: weights}, classes) == {name: together[name]}


def test_claims_are_accuracies_on_the_test_data(setup: TrainingSetup, models: dict[str, Weights]) -> None:
    test = setup.dataset.test
    for name, claims in measure(setup, models, (3,)).items():
        assert claims.ad_f == accuracy(setup.architecture, models[name], test.only((3,)))
        assert claims.ad_r == accuracy(setup.architecture, models[name], test.without((3,)))


def test_a_report_measures_of_held_out_data_what_members_measure(
    setup: TrainingSetup, models: dict[str, Weights]
) -> None:
    reported = measure_all(setup, models, Forget.of_classes((3,)))
    for name, claims in measure(setup, models, (3,)).items():
        assert (reported[name].test.ad_f, reported[name].test.ad_r) == (claims.ad_f, claims.ad_r)


def test_a_class_that_the_test_data_lacks_has_no_ad_f(
    setup: TrainingSetup, models: dict[str, Weights]
) -> None:
    """Its request was refused, after training and publishing."""
    whole = setup.dataset
    lacking = replace(setup, dataset=replace(whole, test=whole.test.without((3,))))
    assert (setup.untested, lacking.untested) == ((), (3,))
    reported = measure_all(lacking, models, Forget.of_classes((3,)))
    for name, claims in measure(lacking, models, (3,)).items():
        assert claims.ad_f is None
        assert claims.ad_r == accuracy(setup.architecture, models[name], lacking.dataset.test)
        assert (reported[name].test.ad_f, reported[name].test.ad_r) == (None, claims.ad_r)
        assert reported[name].train.ad_f is not None


def test_ad_r_leaves_out_the_classes_that_earlier_requests_removed(
    setup: TrainingSetup, models: dict[str, Weights]
) -> None:
    """Every second request looked like damage."""
    test, some = setup.dataset.test, "m1"
    without = measure(setup, models, (3,))
    claims = measure(setup, models, (3,), {some: (5, 8)})
    reported = measure_all(setup, models, Forget.of_classes((3,)), {some: (5, 8)})
    assert {name for name in models if claims[name] != without[name]} == {some}
    assert claims[some].ad_f == without[some].ad_f
    assert claims[some].ad_r == accuracy(setup.architecture, models[some], test.without((3, 5, 8)))
    assert reported[some].test.ad_r == claims[some].ad_r
    assert reported[some].test.chance == claims[some].chance
    every = measure(setup, models, (3,), {some: tuple(range(10))})
    assert every[some] == without[some]  # nothing else would be left


def test_initial_weights_are_no_better_than_chance_and_trained_ones_are(setup: TrainingSetup) -> None:
    initial = setup.architecture.initial(generator(0))
    assert measure(setup, {"m": initial}, (3,))["m"].is_at_chance
    (wave, *_) = train_federation(setup.federation, setup.users)
    assert not measure(setup, {"m": wave[0].weights}, (3,))["m"].is_at_chance


def test_no_model_has_no_claims(setup: TrainingSetup) -> None:
    assert measure(setup, {}, (3,)) == {}
