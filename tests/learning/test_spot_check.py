# SPDX-License-Identifier: Apache-2.0
"""An honest owner passes at any challenge; a forged interval is found when it is challenged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

import pytest
import torch

from blockful_py.crypto.spot_check import challenged, commitment, salts
from blockful_py.errors import FormatError, LearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.disclosure import Disclosure, disclosed_training, leaves_of
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.intervals import (
    Recorder,
    State,
    can_be_replayed,
    ends_of,
)
from blockful_py.learning.models import Architecture
from blockful_py.learning.spot_check import ClaimedTraining, check_disclosure, first_fault
from blockful_py.learning.stack_training import Schedule, StackTraining, batches
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, fit_by, fit_together
from blockful_py.learning.weights import Weights, equal, from_bytes, to_bytes
from blockful_py.settings import TrainingSettings

TRAINING = TrainingSettings(epochs=16)
STEPS = 48
"""Each an interval."""
CLASS = Forget.of_classes([3])
SECRET = 5
COMMITTED = bytes(32)


@dataclass(frozen=True)
class Committed:
    """A trace's fields."""

    samples: str
    kept: tuple[int, ...]
    challenged: int
    states: tuple[str, ...]

    @property
    def intervals(self) -> int:
        return len(self.states) - 1


@dataclass
class Owner:
    """An owner that retrains; tests change its training, commitments or disclosures."""

    architecture: Architecture
    user: UserData
    forgets: tuple[Forget, ...] = (CLASS,)
    share: int = 4
    recorder: Recorder = field(default_factory=Recorder)

    @property
    def start(self) -> Weights:
        return self.architecture.initial(generator(1))

    @property
    def samples(self) -> str:
        return commitment(leaves_of(self.user.train, self.salts)).hex()

    @property
    def salts(self) -> tuple[bytes, ...]:
        return salts(SECRET, len(self.user.train))

    def claim(self, result: Weights) -> ClaimedTraining:
        return ClaimedTraining(
            self.architecture, TRAINING, 1, 1, self.samples, 7, "retrain", self.forgets, self.start, result
        )

    def train(self, kept: Sequence[int], seed: int = 7) -> Weights:
        job = TrainingJob(
            self.start,
            self.user.train.at(torch.tensor(kept)),
            TRAINING,
            generator(seed, "retrain", 1, 1),
        )
        return fit_by(self.recorder, self.architecture, [job])[0].weights

    @property
    def begin(self) -> Weights:
        """The network's weights before the first step."""
        merged = self.architecture.is_merged
        return self.architecture.merged(self.start).base_weights() if merged else self.start

    def published(self, trained: Weights) -> Weights:
        """The model's weights after a training."""
        merged = self.architecture.is_merged
        return self.architecture.merged(self.start).learned(trained) if merged else trained

    def kept(self) -> tuple[int, ...]:
        return tuple(rows_after(self.user, self.forgets).tolist())

    def trace(self, kept: Sequence[int]) -> Committed:
        return Committed(self.samples, tuple(kept), self.share, tuple(self.recorder.states))

    def disclosure(self, kept: Sequence[int], intervals: Sequence[int]) -> Disclosure:
        return disclosed_training(
            self.architecture, self.recorder, self.user.train, kept, self.salts, b"trace", intervals
        )


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["cnn", pytest.param("merged", marks=pytest.mark.slow)])
def owner(request: pytest.FixtureRequest, cnn: Architecture, users: tuple[UserData, ...]) -> Owner:
    return Owner(replace(cnn, name=request.param), users[4])


def beacons(interval: int, is_in: bool = True) -> bytes:
    """A block hash that draws an interval, or does not."""
    for number in count():
        beacon = number.to_bytes(32, "big")
        if (interval in challenged(beacon, COMMITTED, STEPS, 4)) == is_in:
            return beacon
    raise AssertionError


def drawn(beacon: bytes) -> tuple[int, ...]:
    return challenged(beacon, COMMITTED, STEPS, 4)


def refused(
    owner: Owner,
    result: Weights,
    beacon: bytes,
    words: str,
    change: Callable[[Disclosure], Disclosure] = lambda disclosure: disclosure,
    trace: Mapping[str, object] | None = None,
) -> None:
    kept = owner.kept()
    disclosure = change(owner.disclosure(kept, drawn(beacon)))
    committed = replace(owner.trace(kept), **(trace or {}))
    with pytest.raises(LearningError, match=words):
        check_disclosure(owner.claim(result), disclosure, committed, drawn(beacon))


def test_a_recorded_training_has_the_bits_of_any_other(owner: Owner) -> None:
    recorded = owner.train(owner.kept())
    assert owner.recorder.job is not None
    job = replace(owner.recorder.job, stream=generator(7, "retrain", 1, 1))
    trained = fit_together(owner.architecture.trained, [job])[0].weights
    assert equal(owner.published(trained), recorded)


@pytest.mark.slow
def test_an_honest_owner_passes_at_any_challenge(owner: Owner) -> None:
    kept = owner.kept()
    result = owner.train(kept)
    assert len(owner.recorder.states) == STEPS + 1
    seen: set[int] = set()
    for number in count():
        beacon = number.to_bytes(32, "big")
        if seen.issuperset(drawn(beacon)):
            continue
        disclosure = Disclosure.of(from_bytes(to_bytes(owner.disclosure(kept, drawn(beacon)).tensors())))
        check_disclosure(owner.claim(result), disclosure, owner.trace(kept), drawn(beacon))
        seen.update(drawn(beacon))
        if len(seen) == STEPS:
            break


@pytest.mark.parametrize("forged", [0, 13, STEPS - 1])
def test_a_forged_interval_is_found_when_it_is_challenged_and_only_then(owner: Owner, forged: int) -> None:
    """The owner trains on from other weights than the interval leads to."""
    kept = owner.kept()
    jump = Jump(owner, forged)
    result = jump.train(kept)
    beacon = beacons(forged)
    with pytest.raises(LearningError, match=f"interval {forged} does not lead to the committed state"):
        check_disclosure(
            owner.claim(result), jump.disclosure(kept, drawn(beacon)), jump.trace(kept), drawn(beacon)
        )
    beacon = beacons(forged, is_in=False)
    check_disclosure(
        owner.claim(result), jump.disclosure(kept, drawn(beacon)), jump.trace(kept), drawn(beacon)
    )


@pytest.mark.parametrize("forged", [0, 13, STEPS - 1])
def test_a_replay_finds_the_forged_interval_which_shows_it_to_others(owner: Owner, forged: int) -> None:
    kept = owner.kept()
    jump = Jump(owner, forged)
    claim = owner.claim(jump.train(kept))
    shown = Disclosure.of(from_bytes(to_bytes(jump.disclosure(kept, range(STEPS)).tensors())))
    assert list(shown.states) == ([0, STEPS] if owner.architecture.is_merged else [0])
    assert first_fault(claim, shown, jump.trace(kept)) == forged
    with pytest.raises(LearningError, match=f"interval {forged} does not lead to the committed state"):
        check_disclosure(claim, jump.disclosure(kept, (forged,)), jump.trace(kept), (forged,))


def test_a_replay_of_an_honest_training_finds_nothing(owner: Owner) -> None:
    kept = owner.kept()
    claim, trace = owner.claim(owner.train(kept)), owner.trace(kept)
    assert first_fault(claim, owner.disclosure(kept, range(STEPS)), trace) is None
    check_disclosure(claim, owner.disclosure(kept, ()), trace, ())


def test_a_replay_finds_the_interval_that_first_reads_a_forgotten_sample(owner: Owner) -> None:
    kept = tuple(range(len(owner.user.train)))
    claim, trace = owner.claim(owner.train(kept)), owner.trace(kept)
    fault = first_fault(claim, owner.disclosure(kept, range(STEPS)), trace)
    assert fault is not None
    with pytest.raises(LearningError, match="is of class 3, which must be forgotten"):
        check_disclosure(claim, owner.disclosure(kept, (fault,)), trace, (fault,))


def test_nothing_follows_from_a_disclosure_of_something_else(owner: Owner) -> None:
    """Or an owner could make an auditor blame an interval that is right, and be right about it."""
    kept = owner.kept()
    claim, trace = owner.claim(owner.train(kept)), owner.trace(kept)
    whole = owner.disclosure(kept, range(STEPS))
    for change in (relabelled, shifted, salted_otherwise):
        with pytest.raises(LearningError, match="is not the committed one"):
            first_fault(claim, change(whole), trace)
    begin = replace(whole.states[0], velocity=whole.states[0].velocity + 1)
    with pytest.raises(LearningError, match="the state before interval 0 is not the committed one"):
        first_fault(claim, replace(whole, states={**whole.states, 0: begin}), trace)
    with pytest.raises(LearningError, match="are needed"):
        first_fault(claim, owner.disclosure(kept, range(1, STEPS)), trace)


class Jump(Owner):
    """Adds to the weights at the end of one interval, and goes on honestly from there."""

    def __init__(self, owner: Owner, forged: int) -> None:
        super().__init__(owner.architecture, owner.user)
        self._forged = forged
        self._states: list[State] = []

    def train(self, kept: Sequence[int], seed: int = 7) -> Weights:
        samples = self.user.train.at(torch.tensor(kept))
        schedule = Schedule.of(TRAINING, len(samples))
        training = StackTraining(self.architecture.trained, schedule, [self.begin], [samples])
        drawn_batches = list(batches(schedule, [len(samples)], [generator(seed, "retrain", 1, 1)]))
        ends = ends_of(schedule)

        def note() -> None:
            self._states.append(State(training.weights()[0], training.optimiser.velocity.clone()))

        note()
        for interval, (first, last) in enumerate(pairwise(ends)):
            for step in range(first, last):
                training.step(step, *drawn_batches[step])
            if interval == self._forged:
                with torch.no_grad():
                    for tensor in training.optimiser.stack.values():
                        tensor.add_(0.01)
            note()
        self.recorder.job = TrainingJob(self.begin, samples, TRAINING, generator(seed, "retrain", 1, 1))
        self.recorder.states = [state.digest() for state in self._states]
        return self.published(self._states[-1].weights)

    def disclosure(self, kept: Sequence[int], intervals: Sequence[int]) -> Disclosure:
        honest = super().disclosure(kept, intervals)
        return replace(honest, states={i: self._states[i] for i in honest.states})


def test_other_weights_than_the_training_ends_with_are_found(owner: Owner) -> None:
    result = owner.train(owner.kept())
    wrong = {name: tensor + 1 for name, tensor in result.items()}
    words = "the new (weights are not the training's final weights|part is not the change that the training)"
    refused(owner, wrong, beacons(0), words)


def test_another_start_is_found(owner: Owner) -> None:
    result = owner.train(owner.kept())
    claim = replace(owner.claim(result), start={name: each + 1 for name, each in owner.start.items()})
    beacon = beacons(0)
    with pytest.raises(LearningError, match=r"does not begin at the (mean of the model's references|base)"):
        check_disclosure(
            claim,
            owner.disclosure(owner.kept(), drawn(beacon)),
            owner.trace(owner.kept()),
            drawn(beacon),
        )


def test_another_schedule_is_found(owner: Owner) -> None:
    """Batches drawn by a seed of the owner's choice."""
    result = owner.train(owner.kept(), seed=8)
    refused(owner, result, beacons(0), "the disclosed samples are not the challenged batches'")


def test_fewer_intervals_are_found(owner: Owner) -> None:
    result = owner.train(owner.kept())
    states = (owner.recorder.states[0], owner.recorder.states[-1])
    refused(
        owner, result, beacons(0), "has 48 intervals, the trace 1", trace={"states": states, "challenged": 1}
    )


def test_a_row_that_is_to_be_forgotten_is_found_unopened(owner: Owner) -> None:
    kept = owner.kept()
    result = owner.train(kept)
    owner.forgets = (Forget.of_samples([(1, kept[5]), (2, kept[6])]), CLASS)
    beacon = beacons(0)
    with pytest.raises(LearningError, match=f"row {kept[5]} is kept, but must be forgotten"):
        check_disclosure(
            owner.claim(result), owner.disclosure(kept, drawn(beacon)), owner.trace(kept), drawn(beacon)
        )


def test_a_sample_of_a_forgotten_class_is_found(owner: Owner) -> None:
    kept = tuple(range(len(owner.user.train)))
    result = owner.train(kept)
    beacon = beacons(0)
    with pytest.raises(LearningError, match="is of class 3, which must be forgotten"):
        check_disclosure(
            owner.claim(result), owner.disclosure(kept, drawn(beacon)), owner.trace(kept), drawn(beacon)
        )


def relabelled(disclosure: Disclosure) -> Disclosure:
    return replace(disclosure, samples=Samples(disclosure.samples.x, (disclosure.samples.y + 1) % 10))


def shifted(disclosure: Disclosure) -> Disclosure:
    return replace(disclosure, samples=Samples(disclosure.samples.x + 1, disclosure.samples.y))


def salted_otherwise(disclosure: Disclosure) -> Disclosure:
    return replace(disclosure, salts=disclosure.salts.roll(1, 0))


@pytest.mark.parametrize("change", [relabelled, shifted, salted_otherwise])
def test_other_samples_than_the_committed_ones_are_found(
    owner: Owner, change: Callable[[Disclosure], Disclosure]
) -> None:
    refused(owner, owner.train(owner.kept()), beacons(0), "is not the committed one", change)


def test_leaves_in_another_order_are_found(owner: Owner) -> None:
    refused(
        owner,
        owner.train(owner.kept()),
        beacons(0),
        "differ from the owner's commitment",
        lambda disclosure: replace(disclosure, leaves=disclosure.leaves.flip(0)),
    )


def test_an_opening_for_other_intervals_is_found(owner: Owner) -> None:
    result = owner.train(owner.kept())
    other = tuple((i + 1) % STEPS for i in drawn(beacons(0)))
    refused(
        owner,
        result,
        beacons(0),
        "are needed",
        lambda _: owner.disclosure(owner.kept(), sorted(other)),
    )


def test_another_state_than_the_committed_one_is_found(owner: Owner) -> None:
    result = owner.train(owner.kept())

    def change(disclosure: Disclosure) -> Disclosure:
        states = {i: State(each.weights, each.velocity + 1) for i, each in disclosure.states.items()}
        return replace(disclosure, states=states)

    refused(owner, result, beacons(0), "the state before interval 0 is not the committed one", change)


def test_a_state_of_another_network_is_found(owner: Owner) -> None:
    result = owner.train(owner.kept())
    beacon = beacons(0)
    shown = owner.disclosure(owner.kept(), drawn(beacon))
    wide = {name: tensor.double() for name, tensor in shown.states[0].weights.items()}
    states = {**shown.states, 0: State(wide, shown.states[0].velocity)}
    claim, trace = owner.claim(result), owner.trace(owner.kept())
    with pytest.raises(LearningError, match="different architectures"):
        check_disclosure(claim, replace(shown, states=states), trace, drawn(beacon))


def broken(disclosure: Disclosure) -> Iterator[tuple[str, Weights]]:
    tensors = dict(disclosure.tensors())
    yield "part missing", {name: each for name, each in tensors.items() if name != "salts"}
    yield "strange part", {**tensors, "more": tensors["y"]}
    yield "wrong type", {**tensors, "y": tensors["y"].to(torch.int32)}
    yield "salts too few", {**tensors, "salts": tensors["salts"][1:]}
    yield "rows unordered", {**tensors, "rows": tensors["rows"].flip(0)}
    yield "leaves ragged", {**tensors, "leaves": tensors["leaves"].flatten()[1:]}
    yield "no velocity", {**tensors, "state/40/conv1.weight": torch.zeros(1)}
    yield "velocity of another type", {**tensors, "state/0/sgd/velocity": torch.zeros(3).bfloat16()}
    yield "no number", {**tensors, "state/-1/sgd/velocity": torch.zeros(1)}
    yield "scalar labels", {**tensors, "y": torch.tensor(3)}


def test_tensors_that_are_no_disclosure_are_refused(owner: Owner) -> None:
    owner.train(owner.kept())
    disclosure = owner.disclosure(owner.kept(), (0, 5))
    for _, tensors in broken(disclosure):
        with pytest.raises(FormatError):
            Disclosure.of(tensors)


def test_only_trainings_whose_bits_are_the_same_everywhere_can_be_replayed(cnn: Architecture) -> None:
    assert can_be_replayed(cnn, TRAINING) and can_be_replayed(replace(cnn, name="merged"), TRAINING)
    assert not can_be_replayed(cnn, replace(TRAINING, together="loop"))
    assert not can_be_replayed(cnn, replace(TRAINING, precision="bfloat16"))
    assert not can_be_replayed(replace(cnn, name="resnet18"), TRAINING)
    assert not can_be_replayed(cnn, replace(TRAINING, trainer="some:thing"))
