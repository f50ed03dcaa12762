# SPDX-License-Identifier: Apache-2.0
"""Captured steps, models side by side, and formats of a GPU, each by a double, as no test needs one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from blockful_py.errors import LearningError
from blockful_py.learning import gradient_steps, together
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.device import products
from blockful_py.learning.gradient_steps import CapturedSteps, GradientSteps, Graph, Taken, captures, replayed
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.registry import MODELS
from blockful_py.learning.streams import generator
from blockful_py.learning.task_network import told
from blockful_py.learning.together import TrainingJob, fit_side_by_side, fit_together, goes_beside
from blockful_py.learning.training import Fitted, fit
from blockful_py.learning.weights import equal, flatten
from blockful_py.settings import TrainingSettings

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SMALL = Architecture("cnn", (1, 8, 8), 10)
NORMED = Architecture("tests.learning.zoo:Normalised", (1, 8, 8), 10)
LONG = TrainingSettings(epochs=30, batch_size=16, learning_rate=0.02, together="loop")
BRIEF = replace(LONG, epochs=2)


def job(digits: Dataset, user: int, settings: TrainingSettings, architecture: Architecture) -> TrainingJob:
    own = digits.train.at(torch.arange(40 * user, 40 * user + 36 + user))
    return TrainingJob(architecture.initial(generator(0)), own, settings, generator(9, user))


def trained(architecture: Architecture, job: TrainingJob) -> Fitted:
    stream = torch.Generator("cpu").manual_seed(job.stream.initial_seed())
    return fit(architecture, job.weights, job.samples, job.settings, stream)


def alike(one: Fitted, other: Fitted) -> bool:
    return equal(one.weights, other.weights) and one.curve == other.curve


class Recorder(CapturedSteps):
    """Records a step as a CUDA graph does: what it reads and writes keeps its place, and the code is not run
    again.
    """

    replays: ClassVar[Counter[int]] = Counter()
    wrong: ClassVar[Callable[[Tensor], object]] = staticmethod(lambda logits: None)
    """Done to a replayed step's logits."""

    def _recorded(self, rows: Tensor) -> Graph:
        place = rows.clone()
        changed = [*self._optimiser.directed(), *self._module.buffers()]
        kept = [each.clone() for each in changed]
        taken = GradientSteps._directed(self, place)
        for tensor, value in zip(changed, kept, strict=True):
            tensor.copy_(value)  # a capture runs nothing

        def replay() -> None:
            self.replays[len(place)] += 1
            for static, value in zip(taken, GradientSteps._directed(self, place), strict=True):
                static.copy_(value)
            self.wrong(taken[1])

        return replayed(replay, place, taken)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> type[Recorder]:
    """Built-in networks' steps are recorded, though on a CPU."""

    class Fresh(Recorder):
        replays: ClassVar[Counter[int]] = Counter()

    monkeypatch.setattr(gradient_steps, "CapturedSteps", Fresh)
    monkeypatch.setattr(gradient_steps, "captures", lambda architecture, device: True)
    return Fresh


@pytest.mark.parametrize("architecture", [SMALL, NORMED])
def test_replayed_steps_have_the_bits_of_steps(
    digits: Dataset, architecture: Architecture, request: pytest.FixtureRequest
) -> None:
    """Batches of 16, 16 and 5: each size has a graph of its own, which is compared once and then replayed."""
    expected = trained(architecture, job(digits, 1, LONG, architecture))
    recorder = request.getfixturevalue("recorder")
    assert alike(trained(architecture, job(digits, 1, LONG, architecture)), expected)
    assert recorder.replays == {
        16: 2 * LONG.epochs - gradient_steps.WARM,
        5: LONG.epochs - gradient_steps.WARM,
    }


def test_a_brief_training_is_not_worth_a_capture(digits: Dataset, recorder: type[Recorder]) -> None:
    trained(SMALL, job(digits, 1, BRIEF, SMALL))
    assert not recorder.replays


def test_a_graph_that_differs_from_its_step_is_not_used(
    digits: Dataset, request: pytest.FixtureRequest
) -> None:
    expected = trained(SMALL, job(digits, 1, LONG, SMALL))
    recorder = request.getfixturevalue("recorder")
    recorder.wrong = staticmethod(lambda logits: logits.add_(1e-6))
    assert alike(trained(SMALL, job(digits, 1, LONG, SMALL)), expected)
    assert recorder.replays == {16: 1, 5: 1}


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("no memory"), RuntimeError("not permitted")])
def test_a_step_that_cannot_be_captured_is_taken_as_ever(
    digits: Dataset, error: RuntimeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trained(SMALL, job(digits, 1, LONG, SMALL))
    attempts = 0

    class Refusing(CapturedSteps):
        def _recorded(self, rows: Tensor) -> Graph:
            nonlocal attempts
            attempts += 1
            GradientSteps._directed(self, rows)  # what a capture that breaks off may leave behind
            raise error

    monkeypatch.setattr(gradient_steps, "CapturedSteps", Refusing)
    monkeypatch.setattr(gradient_steps, "captures", lambda architecture, device: True)
    assert alike(trained(SMALL, job(digits, 1, LONG, SMALL)), expected)
    assert attempts == 2  # one of each size, and no more


def test_what_a_replay_returned_stays_when_the_next_one_runs() -> None:
    place, taken = torch.zeros(2, dtype=torch.int64), tuple(torch.zeros(2) for _ in range(3))

    def replay() -> None:
        for each in taken:
            each.copy_(place)

    step: Graph = replayed(replay, place, (taken[0], taken[1], taken[2]))
    first: Taken = step(torch.tensor([1, 2]))
    step(torch.tensor([3, 4]))
    assert all(each.tolist() == [1, 2] for each in first)


@pytest.mark.parametrize(
    "name",
    [*sorted(MODELS.keys() - {"analytic", "bert", "merged"}), pytest.param("bert", marks=pytest.mark.slow)],
)
def test_built_in_networks_draw_nothing_and_are_captured_on_a_gpu_alone(name: str) -> None:
    """A draw would come from one generator for all models that train side by side."""
    text = name in {"bert", "gcnn"}
    vocabulary, shape = (50, (8,)) if text else (None, (1, 32, 32))
    architecture = Architecture(name, shape, 3, vocabulary)
    x = torch.ones(2, *shape, dtype=torch.int64 if text else torch.float32)
    module = architecture.module(architecture.initial(generator(0)), CPU).train()
    before = torch.get_rng_state()
    module(x)
    assert torch.equal(torch.get_rng_state(), before)
    assert captures(architecture, GPU)
    assert not captures(architecture, CPU)


def test_networks_of_other_packages_are_not_captured() -> None:
    assert not captures(Architecture("blockful_py.learning.models.mlp:Mlp", (1, 8, 8), 10), GPU)


@pytest.mark.parametrize("architecture", [SMALL, NORMED])
def test_models_side_by_side_have_the_bits_of_one_by_one(
    digits: Dataset, architecture: Architecture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More models than lanes, of different lengths."""
    monkeypatch.setattr(together, "LANES", 3)
    jobs = [job(digits, user, replace(BRIEF, batch_size=8), architecture) for user in range(5)]
    expected = [trained(architecture, each) for each in jobs]
    assert all(map(alike, fit_side_by_side(architecture, jobs), expected))


def test_models_that_do_not_fit_side_by_side_train_one_by_one(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same bits: a training that broke off draws the same again."""
    jobs = [job(digits, user, BRIEF, SMALL) for user in range(3)]
    expected = [trained(SMALL, each) for each in jobs]
    steps = GradientSteps.step
    taken = 0

    def step(self: GradientSteps, rows: Tensor, rate: float) -> Taken:
        nonlocal taken
        taken += 1
        if taken == 5:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return steps(self, rows, rate)

    monkeypatch.setattr(GradientSteps, "step", step)
    assert all(map(alike, fit_side_by_side(SMALL, jobs), expected))


def test_a_model_that_fails_beside_others_fails_as_alone(digits: Dataset) -> None:
    jobs = [job(digits, user, BRIEF, SMALL) for user in range(3)]
    jobs[1] = replace(jobs[1], settings=replace(BRIEF, learning_rate=1e30))
    with pytest.raises(LearningError, match="NaN or infinite"):
        fit_side_by_side(SMALL, jobs)


def test_only_alike_networks_on_one_gpu_go_side_by_side(
    digits: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [job(digits, user, BRIEF, NORMED) for user in range(2)]
    assert not goes_beside(NORMED, jobs)
    monkeypatch.setattr(together, "captures", lambda architecture, device: True)
    assert goes_beside(NORMED, jobs)
    assert not goes_beside(NORMED, [jobs[0], replace(jobs[1], settings=LONG)])
    nothing = digits.train.at(torch.arange(0))
    assert not goes_beside(NORMED, [jobs[0], replace(jobs[1], samples=nothing)])
    assert not goes_beside(
        SMALL, [job(digits, user, replace(BRIEF, together="auto"), SMALL) for user in (0, 1)]
    )
    together_again = fit_together(NORMED, jobs)
    expected = [trained(NORMED, job(digits, user, BRIEF, NORMED)) for user in range(2)]
    assert all(map(alike, together_again, expected))


def test_kernels_have_their_channels_last_where_batches_have() -> None:
    """Else each of them is converted at each step."""
    samples = Samples(torch.rand(4, 3, 16, 16), torch.tensor([0, 1, 2, 0]))
    architecture = Architecture("resnet18", (3, 16, 16), 3)
    weights = architecture.initial(generator(0))
    for last in (False, True):
        taking = GradientSteps(architecture, weights, samples, replace(BRIEF, channels_last=last))
        taking.step(torch.arange(4), 0.1)
        kernels = [each for each in taking._module.parameters() if each.dim() == 4]
        assert len(kernels) == 20
        for each in kernels:
            assert each.grad is not None
            assert each.is_contiguous(memory_format=torch.channels_last) is (last or each.shape[2:] == (1, 1))
            assert each.grad.stride() == each.stride()
        assert all(each.is_contiguous() for each in taking.weights().values())
    start = flatten(weights)
    plain = flatten(fit(architecture, weights, samples, BRIEF, generator(1)).weights)
    moved = flatten(
        fit(architecture, weights, samples, replace(BRIEF, channels_last=True), generator(1)).weights
    )
    assert np.linalg.norm(moved - plain) < 0.01 * np.linalg.norm(plain - start)


def test_tf32_is_for_the_training_that_asks_for_it(digits: Dataset) -> None:
    asked = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [each.allow_tf32 for each in asked]
    for precision in ("float32", "tf32"):
        with pytest.raises(LearningError), products(precision):
            assert [each.allow_tf32 for each in asked] == [precision == "tf32"] * 2
            raise LearningError
        assert [each.allow_tf32 for each in asked] == before
    plain = trained(SMALL, job(digits, 1, BRIEF, SMALL))
    assert alike(trained(SMALL, job(digits, 1, replace(BRIEF, precision="tf32"), SMALL)), plain)


@pytest.mark.parametrize(("counts", "card"), [(False, "cuda:1"), (True, "cuda")])
def test_a_task_keeps_the_card_that_was_asked_for_where_its_number_has_a_meaning(
    counts: bool, card: str
) -> None:
    assert told(SMALL, torch.device("cuda:1"), counts)["device"] == card
