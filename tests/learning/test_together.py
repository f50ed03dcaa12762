# SPDX-License-Identifier: Apache-2.0
"""Models that train in stacks: the loop's results up to rounding, and the same bits in any company."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import torch

from blockful_py.errors import LearningError, SettingsError
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.evaluation import hits
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.stacked import FORMS, stack_weights
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, is_stacked, train_together
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, equal, flatten
from blockful_py.settings import FederationSettings, TrainingSettings

CPU = torch.device("cpu")
STACKED = TrainingSettings(epochs=3, together="stacked")
COMPANIES = ([0], [13], [4, 2], [2, 0, 13, 5], [*range(13, -1, -1)], [7] * 9)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def jobs(
    cnn: Architecture, parts: Sequence[Samples], settings: TrainingSettings, some: Sequence[int] | None = None
) -> list[TrainingJob]:
    return [
        TrainingJob(cnn.initial(generator(i)), parts[i], settings, generator(9, i))
        for i in (range(len(parts)) if some is None else some)
    ]


def furthest(left: Sequence[Weights], right: Sequence[Weights]) -> float:
    return max(float(abs(flatten(a) - flatten(b)).max()) for a, b in zip(left, right, strict=True))


@pytest.fixture(scope="module")
def shares(users: tuple[UserData, ...]) -> list[Samples]:
    return [user.train for user in users]


@pytest.fixture(scope="module")
def stacked(cnn: Architecture, shares: list[Samples]) -> tuple[Weights, ...]:
    return train_together(cnn, jobs(cnn, shares, STACKED))


def test_a_stack_learns_what_the_loop_learns(cnn: Architecture, shares: list[Samples]) -> None:
    settings = TrainingSettings(epochs=5, together="stacked")
    looped = [
        train(cnn, job.weights, job.samples, job.settings, job.stream)
        for job in jobs(cnn, shares[:5], settings)
    ]
    assert furthest(train_together(cnn, jobs(cnn, shares[:5], settings)), looped) < 1e-5


@pytest.mark.parametrize("batch", [1, 5, 32, 100])
def test_users_of_any_size_keep_their_own_batches(cnn: Architecture, digits: Dataset, batch: int) -> None:
    parts = [digits.train.at(torch.arange(size)) for size in (1, 5, 7, 31, 32, 33, 40)]
    settings = TrainingSettings(epochs=2, batch_size=batch, learning_rate=0.02, together="stacked")
    looped = [train(cnn, *at) for at in _arguments(jobs(cnn, parts, settings))]
    assert furthest(train_together(cnn, jobs(cnn, parts, settings)), looped) < 1e-5


def _arguments(
    listed: Sequence[TrainingJob],
) -> list[tuple[Weights, Samples, TrainingSettings, torch.Generator]]:
    return [(job.weights, job.samples, job.settings, job.stream) for job in listed]


@pytest.mark.parametrize("company", COMPANIES)
def test_bits_do_not_depend_on_the_company(
    cnn: Architecture, shares: list[Samples], stacked: tuple[Weights, ...], company: list[int]
) -> None:
    found = train_together(cnn, jobs(cnn, shares, STACKED, company))
    assert all(equal(weights, stacked[i]) for i, weights in zip(company, found, strict=True))


def test_streams_decide_the_bits(
    cnn: Architecture, shares: list[Samples], stacked: tuple[Weights, ...]
) -> None:
    assert all(map(equal, train_together(cnn, jobs(cnn, shares, STACKED)), stacked))
    other = TrainingJob(cnn.initial(generator(0)), shares[0], STACKED, generator(8, 0))
    assert not equal(train_together(cnn, [other])[0], stacked[0])


def test_the_loop_has_the_bits_of_train(cnn: Architecture, shares: list[Samples]) -> None:
    settings = TrainingSettings(epochs=2, together="loop")
    alone = [train(cnn, *at) for at in _arguments(jobs(cnn, shares[:3], settings))]
    assert all(map(equal, train_together(cnn, jobs(cnn, shares[:3], settings)), alone))


def test_a_wave_that_was_half_published_goes_on_with_the_same_bits(
    cnn: Architecture, users: tuple[UserData, ...]
) -> None:
    settings = FederationSpec(
        cnn, FederationSettings("organic", wave=7), TrainingSettings(epochs=2, together="stacked")
    )
    whole = [model for wave in train_federation(settings, users) for model in wave]
    rest = [model for wave in train_federation(settings, users, whole[:9]) for model in wave]
    assert [model.name for model in rest] == [f"r{i}" for i in range(10, 15)]
    for model, expected in zip(rest, whole[9:], strict=True):
        assert equal(model.weights, expected.weights)
        assert model.accuracy == expected.accuracy


def test_stacks_are_chosen_where_they_are_faster(cnn: Architecture) -> None:
    auto = TrainingSettings()
    assert is_stacked(cnn, auto, CPU)
    assert not is_stacked(cnn, auto, torch.device("cuda"))
    assert not is_stacked(Architecture("cnn", (3, 32, 32), 10), auto, CPU)
    assert not is_stacked(Architecture("alexnet", (3, 32, 32), 10), auto, CPU)
    assert not is_stacked(cnn, TrainingSettings(precision="bfloat16"), CPU)
    assert not is_stacked(cnn, TrainingSettings(together="loop"), CPU)


def test_what_cannot_be_stacked_is_refused(cnn: Architecture) -> None:
    with pytest.raises(SettingsError, match="needs model 'cnn'"):
        is_stacked(Architecture("resnet18", (3, 32, 32), 10), STACKED, CPU)
    with pytest.raises(SettingsError, match="choose 'auto' or 'loop'"):
        is_stacked(cnn, TrainingSettings(together="stacked", channels_last=True), CPU)


def test_every_form_is_that_of_its_network(digits: Dataset) -> None:
    for name, form in FORMS.items():
        architecture = Architecture(name, digits.input_shape, digits.class_count)
        weights = architecture.initial(generator(3))
        plain = stack_weights(architecture, {"a": weights, "b": weights}, CPU)
        back = form.unpacked(form.packed(plain))
        assert all(torch.equal(back[key], plain[key]) for key in plain)
        x = digits.test.x[:50]
        logits = form.logits(form.packed(plain), form.prepared(x).expand(2, 50, 8, 8, 9))
        expected = architecture.module(weights, CPU)(x).detach()
        assert torch.allclose(logits, expected.expand(2, 50, 10), atol=1e-6)


def test_bad_jobs_are_refused(cnn: Architecture, shares: list[Samples]) -> None:
    assert train_together(cnn, []) == ()
    with pytest.raises(LearningError, match="needs samples"):
        train_together(cnn, jobs(cnn, [shares[0], shares[0].only((99,))], STACKED))
    with pytest.raises(LearningError, match="lower rate"):
        train_together(cnn, jobs(cnn, shares[:2], TrainingSettings(learning_rate=1e20, together="stacked")))
    other = Architecture("cnn", (1, 8, 8), 11).initial(generator(0))
    with pytest.raises(LearningError, match="not of a 'cnn'"):
        train_together(cnn, [TrainingJob(other, shares[0], STACKED, generator(0))])


def test_models_are_scored_alike_in_any_company(
    cnn: Architecture, digits: Dataset, stacked: tuple[Weights, ...]
) -> None:
    models = {f"r{i}": weights for i, weights in enumerate(stacked)}
    together = hits(cnn, models, digits.test)
    assert hits(cnn, {}, digits.test) == {}
    for name, weights in models.items():
        assert torch.equal(hits(cnn, {name: weights}, digits.test)[name], together[name])
        module = cnn.module(weights, CPU).eval()
        expected = module(digits.test.x).argmax(1) == digits.test.y
        assert torch.equal(together[name], expected.to(torch.float64))
