# SPDX-License-Identifier: Apache-2.0
"""Claims of many models equal the claims of each alone, in any common measurement."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from blockful_py.forget import Forget
from blockful_py.learning import evaluation
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.federation import train_federation
from blockful_py.learning.stacked import LARGEST_STACK
from blockful_py.learning.streams import generator
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.review.claims import AUC_TOLERANCE, agree, measure, measure_all
from blockful_py.record.statement_parts import Claimed
from blockful_py.settings import Settings
from blockful_py.unlearning.audit.exposure import auc
from blockful_py.unlearning.head import neutralised


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


def test_the_auc_shows_a_class_that_a_model_knows_and_never_answers(setup: TrainingSetup) -> None:
    """AD_f is 0 in both cases, and a masked row hides the class from the AUC too."""
    (wave, *_) = train_federation(setup.federation, setup.users)
    weights, test = wave[0].weights, setup.dataset.test
    quiet = {key: tensor.clone() for key, tensor in weights.items()}
    quiet["head.bias"][5] -= 100
    masked = neutralised(setup.architecture, weights, (5,))
    found = measure(setup, {"quiet": quiet, "masked": masked}, (5,), before={"quiet": weights})
    (known,) = measure(setup, {"m": weights}, (5,)).values()
    claims = found["quiet"]
    assert (claims.ad_f, claims.logit_auc) == (0.0, known.logit_auc)
    assert known.logit_auc is not None and known.logit_auc > 0.9
    assert (claims.ad_f_before, claims.logit_auc_before) == (known.ad_f, known.logit_auc)
    assert claims.before == known.ad_r and claims.samples == len(test.without((5,)))
    assert (found["masked"].ad_f, found["masked"].logit_auc) == (0.0, 0.5)
    assert found["masked"].logit_auc_before is None


def test_the_auc_is_the_audits_of_the_logit(setup: TrainingSetup, models: dict[str, Weights]) -> None:
    """Samples of each class against those behind AD_r; of several classes the highest."""
    test, weights = setup.dataset.test, models["m1"]
    logits = setup.architecture.module(weights, test.x.device).eval()(test.x).detach().double()
    kept = ~torch.isin(test.y, torch.tensor([3, 7, 5]))
    three, seven = (auc(logits[test.y == each, each].numpy(), logits[kept, each].numpy()) for each in (3, 7))
    claims = measure(setup, {"m": weights}, (3, 7), {"m": (5,)})["m"]
    assert claims.logit_auc == pytest.approx(max(three, seven), abs=AUC_TOLERANCE)
    assert three != pytest.approx(seven, abs=AUC_TOLERANCE)


@pytest.mark.parametrize("kind", [torch.float64, torch.float16])
def test_other_precisions_stay_within_the_tolerance(setup: TrainingSetup, kind: torch.dtype) -> None:
    """Processors round by far less otherwise than half precision does."""
    test = setup.dataset.test
    (wave, *_) = train_federation(setup.federation, setup.users)
    for model in wave:
        module = setup.architecture.module(model.weights, test.x.device).eval().to(kind)
        with torch.inference_mode():
            logits = module(test.x.to(kind)).double()
        for label in range(10):
            claimed = measure(setup, {"m": model.weights}, (label,))["m"].logit_auc
            own, others = logits[test.y == label, label], logits[test.y != label, label]
            assert claimed == pytest.approx(auc(own.numpy(), others.numpy()), abs=AUC_TOLERANCE)


def test_there_is_no_auc_without_a_class_to_forget(setup: TrainingSetup, models: dict[str, Weights]) -> None:
    claims = measure(setup, {"m": models["m1"]}, (), before={"m": models["m2"]})["m"]
    assert (claims.logit_auc, claims.ad_f_before, claims.logit_auc_before) == (None, None, None)
    assert claims.before is not None
    assert not {"logit_auc", "ad_f_before", "logit_auc_before"} & claims.model_dump().keys()


def test_claimed_aucs_may_differ_by_the_tolerance_and_nothing_else_at_all() -> None:
    own = Claimed(ad_f=0.5, ad_r=0.9, logit_auc=0.75, logit_auc_before=0.9)
    near = AUC_TOLERANCE * 0.9

    def said(**figures: float | None) -> Claimed:
        return own.model_copy(update=figures)

    assert agree(own, own) and agree(said(logit_auc=0.75 + near, logit_auc_before=0.9 - near), own)
    assert not agree(None, own)
    for figures in (
        {"logit_auc": 0.75 + 2 * near},
        {"logit_auc_before": 0.9 - 2 * near},
        {"logit_auc": None},
        {"ad_f": 0.5 + near / 1000},
        {"ad_r": 0.9 - near / 1000},
    ):
        assert not agree(said(**figures), own)
    assert not agree(own, said(logit_auc=None))


def test_no_model_has_no_claims(setup: TrainingSetup) -> None:
    assert measure(setup, {}, (3,)) == {}
