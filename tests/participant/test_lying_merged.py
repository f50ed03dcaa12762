# SPDX-License-Identifier: Apache-2.0
"""Participants that lie about merged parts: members repeat drawn steps and all sums, and name the lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from blockful_py.errors import QuorumError
from blockful_py.forget import Forget
from blockful_py.learning.forget_sets import retained_after, rows_after
from blockful_py.learning.intervals import Recorder
from blockful_py.learning.models import Architecture
from blockful_py.learning.sums import OWN, aggregate_sums, with_part
from blockful_py.learning.together import TrainingJob
from blockful_py.learning.training import Fitted
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.jobs.sums import new_sums_of_owner
from blockful_py.pipeline.party import PartyRun
from blockful_py.record.commitments import commitment_to
from blockful_py.record.request_stage import RequestStage
from blockful_py.types import Paradigm
from tests.federations import promised
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_lying import hand_in
from tests.participant.test_lying_sums import proposed, weights

pytestmark = pytest.mark.slow

RULES = {
    "learning": {"model": "merged", "epochs": 1, "root_factor": 1},
    "unlearning": {"parallel": "auto", "sequential": "auto", "blocks": 100_000},
}


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return RULES


@pytest.fixture(autouse=True)
def _once() -> Iterator[None]:
    """Proposes only once, without a retry after a refusal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
        yield


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    for participant in machines.participants.values():
        participant.disclose(1.0)
    return machines.publish()


class Scaled(Recorder):
    """Hands in twice the change that it committed to."""

    def __call__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        (fitted,) = super().__call__(architecture, jobs)
        base = jobs[0].weights
        doubled = {name: base[name] + 2 * (each - base[name]) for name, each in fitted.weights.items()}
        return (Fitted(doubled, fitted.curve),)


class OnOtherData(Recorder):
    """Trains on samples of its choice, and shows the committed ones."""

    def __call__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        (job,) = jobs
        samples = replace(job.samples, x=job.samples.x.flip(0))
        done = super().__call__(architecture, [replace(job, samples=samples)])
        self.job = replace(job, samples=samples)
        return done


class FromElsewhere(Recorder):
    """Trains on from another start than the base, such as the weights of its references."""

    start: Weights

    def __call__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        (job,) = jobs
        return super().__call__(architecture, [replace(job, weights=self.start)])


def named(party: PartyRun, *rows: int) -> Forget:
    """Samples of the one participant whose data is here."""
    (user,) = party.federation.setup.users
    return Forget.of_samples((user.index, row) for row in rows)


def ask(machines: Machines, name: str, paradigm: Paradigm) -> int:
    """Files an owner's request for its first two samples; returns its number."""
    with machines.participants[name].run() as party:
        return party.request((), named(party, 0, 1), paradigm, None)


def refused(machines: Machines, name: str, lie: Callable[[pytest.MonkeyPatch], None], reason: str) -> int:
    """A request for an owner's samples, whose part is refused for this reason; the request's number."""
    number = ask(machines, name, Paradigm.SEQUENTIAL)
    with pytest.MonkeyPatch.context() as patch:
        lie(patch)
        with pytest.raises(QuorumError, match=reason):
            machines.take(name, number)
    return number


def recorded_by(kind: type[Recorder]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr("blockful_py.pipeline.jobs.spot_check.Recorder", kind)


SCALED = "the new part is not the change that the training made"


def test_a_scaled_part_is_refused_and_its_commitment_stands(published: Machines) -> None:
    number = refused(published, "z", recorded_by(Scaled), SCALED)
    with published.participants["z"].run() as party:
        position = party.federation.catalogue()["z"].position
        party.federation.context.contracts.participants.hand_in(number, position, commitment_to(b"another"))
    published.participants["z"].disclose(0.0)
    with pytest.raises(QuorumError, match="discloses nothing of the training that it committed to"):
        published.take("z", number)
    published.participants["z"].disclose(1.0)
    assert published.take("z", number).spot_check is not None


def test_a_scaled_part_that_is_handed_in_is_made_again(published: Machines) -> None:
    number = ask(published, "y", Paradigm.PARALLEL)
    with pytest.MonkeyPatch.context() as patch:
        recorded_by(Scaled)(patch)
        published.take("y", number)
    with published.participants["y"].run() as party:
        until(lambda: any(SCALED in alarm.reason for alarm in party.federation.alarms()))
        assert party.stage(number) is RequestStage.OPEN
        hand_in(party, number, "y")
        until(lambda: party.stage(number) is RequestStage.CARRIED_OUT)


def test_a_part_that_is_trained_on_other_data_is_refused(published: Machines) -> None:
    refused(published, "x", recorded_by(OnOtherData), "interval 0 does not lead to the committed state")


def test_a_part_that_is_trained_from_its_references_is_refused(published: Machines) -> None:
    with published.participants["t"].run() as party:
        architecture = party.federation.setup.architecture
        mean = aggregate_sums([weights(party, "b")])
        FromElsewhere.start = architecture.merged(mean).network_weights()
    refused(published, "t", recorded_by(FromElsewhere), "the training does not begin at the base")


def test_a_part_with_a_forgotten_sample_is_refused(published: Machines) -> None:
    with published.participants["s"].run() as party:
        less = (named(party, 1),)

    def keeps_one(patch: pytest.MonkeyPatch) -> None:
        samples, rows = "unlearning.subtract.retained_after", "pipeline.jobs.spot_check.rows_after"
        patch.setattr(f"blockful_py.{samples}", lambda owner, forgets: retained_after(owner, less))
        patch.setattr(f"blockful_py.{rows}", lambda owner, forgets: rows_after(owner, less))

    refused(published, "s", keeps_one, "row 0 is kept, but must be forgotten")


def test_a_leader_that_keeps_or_hides_a_part_is_refused(published: Machines) -> None:
    number = ask(published, "a", Paradigm.SEQUENTIAL)
    with published.participants["a"].run() as party:
        context = party.federation.context
        old = {name: weights(party, name) for name in ("a", "s", "z")}
        a = new_sums_of_owner(context, context.docket[number], "a")
        again = aggregate_sums([a])
        hidden = old["s"][OWN] + (old["a"][OWN] - a[OWN])
        differs = "the new weights of s differ from the result of subtract"
        for new, said in (
            ({"a": a, "s": old["s"]}, differs),
            ({"a": a, "s": {**again, OWN: hidden}}, differs),
            ({"a": a, "s": {**again, OWN: old["s"][OWN] // 2}}, differs),
            ({"s": with_part(again, old["s"][OWN].numpy())}, "a would have to be unlearned before"),
            ({"a": a, "b": weights(party, "b")}, "b descends from no start"),
        ):
            with pytest.raises(QuorumError, match=said):
                proposed(party, number, new, ("a",))
    published.take("a", number)
    with published.participants["a"].run() as party:
        until(lambda: party.stage(number) is RequestStage.CARRIED_OUT)


def test_a_commitment_for_anothers_request_does_not_keep_an_owner_from_leaving(published: Machines) -> None:
    """Its part is dropped, so there is no training to show."""
    with published.participants["b"].run() as party:
        context, (user,) = party.federation.context, party.federation.setup.users
        (open_one, *_) = (each for each in context.docket.admitted() if each.stage is RequestStage.OPEN)
        position = party.federation.catalogue()["b"].position
        context.contracts.participants.hand_in(open_one.number, position, commitment_to(b"another"))
        number = party.request((), Forget.of_clients([user.index]), Paradigm.SEQUENTIAL, None)
        until(lambda: party.stage(number) is RequestStage.CARRIED_OUT)
        assert not weights(party, "b")[OWN].any()


def test_the_record_verifies_after_all_that(published: Machines) -> None:
    with published.participants["y"].run() as party:
        assert party.federation.verify().passed and party.federation.audit().passed
    promised(published.contracts)
