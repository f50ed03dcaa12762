# SPDX-License-Identifier: Apache-2.0
"""The model of sums: its features, its head, its predictions, and the uses that it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.evaluation import accuracy, hits, outputs
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.random_features import feature_map
from blockful_py.learning.models.ridge import HEAD_BITS, RIDGE, factored, head_of, solved
from blockful_py.learning.models.trial import require_trainable
from blockful_py.learning.streams import generator
from blockful_py.learning.sums import CONSTANT, INHERITED, OWN, SHIFT, held, total_of, without_classes
from blockful_py.learning.training import fit, train
from blockful_py.learning.weights import Weights, aggregate, equal
from blockful_py.settings import TrainingSettings

CPU = torch.device("cpu")
PHI = TrainingSettings()


@pytest.fixture(scope="module")
def network(digits: Dataset) -> Architecture:
    return Architecture.of("analytic", digits)


@pytest.fixture(scope="module")
def weights(network: Architecture, digits: Dataset) -> Weights:
    return added(network, digits.train)


def added(network: Architecture, samples: Samples) -> Weights:
    return train(network, network.initial(generator(0)), samples, PHI, generator(0))


def test_it_classifies(network: Architecture, digits: Dataset, weights: Weights) -> None:
    assert accuracy(network, weights, digits.test) > 0.95


PROGRAM = """
import hashlib
import numpy as np
import torch
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import outputs
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.random_features import feature_map
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import to_bytes
from blockful_py.settings import TrainingSettings

cpu = torch.device("cpu")
data = load_dataset("digits", 0, cpu)
network = Architecture.of("analytic", data)
weights = train(network, network.initial(generator(0)), data.train, TrainingSettings(), generator(0))
rows = data.test.x.numpy().astype(np.float64).reshape(-1, 64)
logits = outputs(network.module(weights, cpu).eval(), data.test.x)
for part in (to_bytes(weights), feature_map((64,), 128)(rows).tobytes(), logits.numpy().tobytes()):
    print(hashlib.sha256(part).hexdigest()[:12])
"""
DIGESTS = ["af63fb67b51b", "6d74562af724", "e7dd2a51646e"]
"""SHA-256 of the sums, of a table's features and of all logits; they stand for all other machines."""

NO_VECTORS = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "PYTHONWARNINGS": "ignore",  # of features that this processor lacks anyway
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA",
}


@pytest.mark.parametrize("masks", [{}, NO_VECTORS], ids=["all", "no vectors"])
def test_the_same_bits_everywhere(masks: dict[str, str]) -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **masks},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == DIGESTS


@pytest.mark.parametrize(
    ("shape", "count"), [((1, 8, 8), 128), ((3, 9, 5), 64), ((1, 16, 16), 512), ((7,), 30)]
)
def test_features_are_whole_numbers_of_one_sample(shape: tuple[int, ...], count: int) -> None:
    x = np.random.default_rng(0).normal(size=(300, *shape)).astype(np.float32).astype(np.float64)
    of_all = feature_map(shape, count)(x)
    assert of_all.shape == (300, count)
    assert ((of_all == np.rint(of_all)) & (of_all >= 0) & (of_all <= CONSTANT)).all()
    assert (of_all.any(0)).mean() > 0.9
    alone = np.concatenate([feature_map(shape, count)(row[None]) for row in x])
    assert (of_all == alone).all()


def test_no_samples_have_no_features() -> None:
    assert feature_map((1, 8, 8), 16)(np.zeros((0, 1, 8, 8))).shape == (0, 16)
    assert feature_map((3,), 16)(np.zeros((0, 3))).shape == (0, 16)


def test_an_image_of_one_colour_and_numbers_far_away_have_features() -> None:
    assert not feature_map((1, 8, 8), 8)(np.full((2, 1, 8, 8), 0.3)).all()
    assert np.isfinite(feature_map((3,), 8)(np.array([[1e30, -1e30, 0.0]]))).all()


def test_the_solve_agrees_with_lapack() -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (60, 90)).astype(np.float64)
    matrix = x.T @ x + RIDGE * np.eye(90)
    right = random.normal(size=(90, 4))
    assert np.allclose(solved(factored(matrix), right), np.linalg.solve(matrix, right), rtol=1e-9, atol=0)


def test_the_head_minimises_the_stated_loss(digits: Dataset) -> None:
    """The gradient of the weighted squares is 0 at the head, to its rounding."""
    small = Architecture.of("analytic", digits, {"features": 16})
    samples = digits.train.at(torch.arange(200))
    head, exponent = head_of(total_of(added(small, samples)), 0)
    f = feature_map((1, 8, 8), 16)(samples.x.numpy().astype(np.float64))
    f, h = np.concatenate([f, np.full((200, 1), 255.0)], 1), np.ldexp(head, -exponent)
    labels = samples.y.numpy()
    weight = (20.0 / np.bincount(labels))[labels][:, None]
    gradient = f.T @ (weight * (f @ h - CONSTANT * np.eye(10)[labels])) + RIDGE * h
    assert np.abs(head).max() < 2**HEAD_BITS
    assert np.abs(gradient).max() < 2.0**-exponent * np.abs(f.T @ (weight * f)).sum(1).max()


def test_classes_without_samples_are_never_predicted(
    network: Architecture, digits: Dataset, weights: Weights
) -> None:
    struck = without_classes(weights, [0, 3])
    assert held(struck) == (1, 2, 4, 5, 6, 7, 8, 9)
    logits = outputs(network.module(struck, CPU).eval(), digits.test.x)
    assert (logits[:, [0, 3]].max(1).values < logits[:, list(held(struck))].min(1).values).all()
    assert accuracy(network, struck, digits.test.only([3])) == 0
    never = added(network, digits.train.without([0, 3]))
    assert equal(struck, never)
    assert torch.equal(logits, outputs(network.module(never, CPU).eval(), digits.test.x))


def test_a_model_without_any_sample_answers_the_same_to_all(network: Architecture, digits: Dataset) -> None:
    logits = outputs(network.module(network.initial(generator(0)), CPU).eval(), digits.test.x)
    assert not logits.any()


def test_a_loaded_model_has_a_head_of_its_own(
    network: Architecture, digits: Dataset, weights: Weights
) -> None:
    other = without_classes(weights, [3])
    module = network.module(weights, CPU).eval()
    before = outputs(module, digits.test.x)
    network.load(module, other)
    after = outputs(module, digits.test.x)
    assert not torch.equal(before, after)
    assert torch.equal(after, outputs(network.module(other, CPU).eval(), digits.test.x))


def test_models_scored_together_are_scored_as_alone(
    network: Architecture, digits: Dataset, weights: Weights
) -> None:
    models = {"all": weights, "some": without_classes(weights, [3])}
    logits = {name: outputs(network.module(each, CPU).eval(), digits.test.x) for name, each in models.items()}
    alone = {name: (each.argmax(1) == digits.test.y).double() for name, each in logits.items()}
    together = hits(network, models, digits.test)
    assert all(torch.equal(together[name], alone[name]) for name in models)


def test_training_is_adding_up(network: Architecture, digits: Dataset, weights: Weights) -> None:
    start = aggregate([weights, weights])
    fitted = fit(network, start, digits.train, replace(PHI, epochs=1), generator(1))
    assert fitted.curve is None
    assert torch.equal(fitted.weights[OWN], weights[OWN])
    assert all(torch.equal(fitted.weights[key], start[key]) for key in (INHERITED, SHIFT))
    with pytest.raises(LearningError, match="training needs samples"):
        fit(network, start, digits.train.at(torch.arange(0)), PHI, generator(1))


def test_it_has_no_gradients(network: Architecture, digits: Dataset, weights: Weights) -> None:
    assert network.is_sums and not network.parameter_count
    require_trainable(network, digits.train, 0, by_gradient=False)
    with pytest.raises(LearningError, match="has no gradients: choose the method subtract"):
        network.module(weights, CPU).train()


def test_sums_that_no_samples_have_give_no_answers(network: Architecture, digits: Dataset) -> None:
    spoiled = network.initial(generator(0)) | {SHIFT: torch.tensor(-1)}
    with pytest.raises(LearningError, match="shift -1"):
        accuracy(network, spoiled, digits.test)
    singular = np.zeros((2, 2, 3), np.int64)
    singular[0, 0] = [0, 2600 * RIDGE, 103_960 * CONSTANT**2]  # M[0, 0] M[1, 1] = M[0, 1]^2
    with pytest.raises(LearningError, match="no head follows"):
        head_of(singular, 0)


@pytest.mark.parametrize(
    ("shape", "features", "message"),
    [
        ((1, 8, 8), 100, "multiple of 8, not 100"),
        ((1, 8, 8), 264, "multiple of 32, not 264"),
        ((1, 8, 8), 0, "from 1 to 4096, not 0"),
        ((1, 8, 8), 8192, "from 1 to 4096"),
        ((1, 1, 8), 8, "at least 2 pixels"),
        ((5,), 7, "must be even, not 7"),
    ],
)
def test_features_that_do_not_fit_are_refused(shape: tuple[int, ...], features: int, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Architecture("analytic", shape, 10, options=(("features", features),))


def test_texts_are_refused() -> None:
    with pytest.raises(SettingsError, match="reads images, the data are texts"):
        Architecture("analytic", (12,), 10, vocabulary=100)
