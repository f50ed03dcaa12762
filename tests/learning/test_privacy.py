# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from dataclasses import replace
from statistics import NormalDist

import pytest
import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.models import Architecture
from blockful_py.learning.privacy import epsilon_of, spent
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import equal, flatten
from blockful_py.settings import PrivacySettings, TrainingSettings
from tests.learning.test_models import inputs, tiny
from tests.learning.zoo import Dropping, Frozen, named

PRIVATE = TrainingSettings(epochs=2, privacy=PrivacySettings(noise=1.0))
LITTLE_NOISE = PrivacySettings(noise=1e-12, clip=1e3)


def test_the_same_stream_gives_the_same_bits(cnn: Architecture, digits: Dataset) -> None:
    own, initial = digits.train.at(torch.arange(80)), cnn.initial(generator(0))
    before = torch.get_rng_state()
    first = train(cnn, initial, own, PRIVATE, generator(0, "a"))
    assert equal(first, train(cnn, initial, own, PRIVATE, generator(0, "a")))
    assert not equal(first, train(cnn, initial, own, PRIVATE, generator(0, "b")))
    assert torch.equal(torch.get_rng_state(), before)


def test_dropout_and_frozen_layers_are_kept_to(digits: Dataset) -> None:
    """As in any other training."""
    own = digits.train.at(torch.arange(40))
    dropping, frozen = (Architecture.of(named(each), digits) for each in (Dropping, Frozen))
    initial = dropping.initial(generator(0))
    trained = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        trained.append(train(dropping, initial, own, PRIVATE, generator(0)))
    assert equal(*trained)
    first = frozen.initial(generator(0))
    after = train(frozen, first, own, replace(PRIVATE, weight_decay=0.1), generator(0))
    assert torch.equal(after["first.weight"], first["first.weight"])
    assert not torch.equal(after["head.weight"], first["head.weight"])


def test_without_noise_and_clipping_a_batch_of_all_is_plain_descent(
    cnn: Architecture, digits: Dataset
) -> None:
    own, initial = digits.train.at(torch.arange(40)), cnn.initial(generator(0))
    plain = TrainingSettings(epochs=3, batch_size=40)
    private = replace(plain, privacy=LITTLE_NOISE)
    found = flatten(train(cnn, initial, own, private, generator(0)))
    assert found == pytest.approx(flatten(train(cnn, initial, own, plain, generator(0))), abs=2e-5)


def test_no_sample_moves_the_weights_by_more_than_the_clip(cnn: Architecture, digits: Dataset) -> None:
    """One step on 40 samples, noise next to nothing: |change| <= rate * clip."""
    own, initial = digits.train.at(torch.arange(40)), cnn.initial(generator(0))
    settings = TrainingSettings(
        epochs=1,
        learning_rate=1.0,
        batch_size=40,
        weight_decay=0.0,
        privacy=PrivacySettings(noise=1e-9, clip=0.01),
    )
    moved = flatten(train(cnn, initial, own, settings, generator(0))) - flatten(initial)
    assert 0 < float((moved.astype(float) ** 2).sum()) ** 0.5 <= 0.01 * (1 + 1e-3)


def test_the_noise_has_the_spread_it_claims(cnn: Architecture, digits: Dataset) -> None:
    own, initial = digits.train.at(torch.arange(40)), cnn.initial(generator(0))
    settings = TrainingSettings(
        epochs=1,
        learning_rate=1.0,
        batch_size=40,
        weight_decay=0.0,
        privacy=PrivacySettings(noise=50.0, clip=0.1),
    )
    moved = flatten(train(cnn, initial, own, settings, generator(0))) - flatten(initial)
    assert moved.std() == pytest.approx(50.0 * 0.1 / 40, rel=0.03)


def test_private_training_learns_and_noise_costs_accuracy(cnn: Architecture, digits: Dataset) -> None:
    initial = cnn.initial(generator(0))

    def reached(noise: float) -> float:
        privacy = PrivacySettings(noise)
        settings = TrainingSettings(epochs=8, batch_size=128, learning_rate=0.2, privacy=privacy)
        return accuracy(cnn, train(cnn, initial, digits.train, settings, generator(0)), digits.test)

    assert reached(0.5) > 0.6 > 0.4 > reached(50.0)


@pytest.mark.parametrize("name", ["alexnet", "gcnn", "bert"])
def test_networks_without_batch_normalisation_train_privately(name: str) -> None:
    architecture = tiny(name)
    samples = Samples(inputs(architecture, 8), torch.arange(8) % architecture.class_count)
    settings = TrainingSettings(epochs=2, batch_size=2, privacy=PrivacySettings(1.0))
    initial = architecture.initial(generator(0))
    assert not equal(train(architecture, initial, samples, settings, generator(0)), initial)


def test_a_batch_may_be_empty(cnn: Architecture, digits: Dataset) -> None:
    """With 1 of 20 samples a batch, about a third of the batches are empty; each still gets its noise."""
    own = digits.train.at(torch.arange(20))
    settings = TrainingSettings(epochs=1, batch_size=1, learning_rate=0.01, privacy=PrivacySettings(1.0))
    assert flatten(train(cnn, cnn.initial(generator(0)), own, settings, generator(0))).any()


def test_batch_normalisation_is_refused_and_group_normalisation_taken() -> None:
    samples = Samples(torch.rand(2, 3, 32, 32), torch.tensor([0, 1]))
    settings = TrainingSettings(epochs=1, batch_size=2, privacy=PrivacySettings(1.0))
    mixing = Architecture("mobilenet_v2", (3, 32, 32), 2)
    with pytest.raises(LearningError, match='norm = "group"'):
        train(mixing, mixing.initial(generator(0)), samples, settings, generator(0))
    separable = replace(mixing, options=(("norm", "group"),))
    train(separable, separable.initial(generator(0)), samples, settings, generator(0))


def test_epsilon_of_one_full_batch_is_above_that_of_the_gaussian_mechanism() -> None:
    """Exact delta of one Gaussian release (Balle and Wang 2018, theorem 8), solved for epsilon; Renyi
    accounting gives an upper bound, here less than half as large again."""
    noise, delta = 2.0, 1e-5

    def excess(epsilon: float) -> float:
        half, slope = 1 / (2 * noise), epsilon * noise
        cdf = NormalDist().cdf
        return cdf(half - slope) - 2.718281828**epsilon * cdf(-half - slope) - delta

    low, exact = 0.01, 20.0  # `excess` falls from a positive to a negative number
    assert excess(exact) < 0 < excess(low)
    while exact - low > 1e-9:
        middle = (low + exact) / 2
        low, exact = (middle, exact) if excess(middle) > 0 else (low, middle)
    assert exact < epsilon_of(noise, 1.0, 1, delta) < 1.5 * exact


def test_epsilon_grows_with_steps_and_falls_with_noise() -> None:
    settings = TrainingSettings(epochs=10, privacy=PrivacySettings(1.0))
    once, longer = spent(settings, 80), spent(replace(settings, epochs=20), 80)
    quieter = spent(replace(settings, privacy=PrivacySettings(2.0)), 80)
    assert once and longer and quieter
    assert quieter.epsilon < once.epsilon < longer.epsilon
    assert (once.steps, once.sample_rate, once.delta) == (30, 32 / 80, 1e-5)
    assert once.epsilon == epsilon_of(once.noise, once.sample_rate, once.steps, once.delta)
    assert spent(TrainingSettings(), 80) is None


def test_without_opacus_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, cnn: Architecture, digits: Dataset
) -> None:
    monkeypatch.setitem(sys.modules, "opacus", None)
    with pytest.raises(SettingsError, match=r"pip install 'blockful\[privacy\]'"):
        train(cnn, cnn.initial(generator(0)), digits.test, PRIVATE, generator(0))


@pytest.mark.parametrize("wrong", [{"noise": 0.0}, {"clip": 0.0}, {"delta": 0.0}, {"delta": 1.0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        PrivacySettings(**({"noise": 1.0} | wrong))
