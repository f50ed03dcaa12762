# SPDX-License-Identifier: Apache-2.0
"""Owners that let members recompute a part of their trainings: accepted and refused ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from blockful_py.errors import KeyDestroyedError, QuorumError, RefusedError, RunError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.intervals import Recorder, weights_digest
from blockful_py.learning.models import Architecture
from blockful_py.learning.together import TrainingJob
from blockful_py.learning.training import Fitted
from blockful_py.pipeline.jobs.redaction import Redactor
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.commitments import commitment_to
from blockful_py.record.model_node import ModelNode, sign_statement
from blockful_py.record.request_stage import RequestStage
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.shown import checked_in, shown
from blockful_py.report.runs.certificate_page import page_of
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Checked, Paradigm
from tests.federations import promised
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_lying import hand_in
from tests.participant.test_waves import is_carried_out

pytestmark = pytest.mark.processes

SHARES = {"b": 0.2, "t": 0.5, "y": 1.0, "z": 1.0}
"""Owners' disclosures."""


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"starts": ["s", "t"], "blocks": 100_000}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    for name, share in SHARES.items():
        machines.participants[name].disclose(share)
    return machines.publish()


def test_members_compute_the_drawn_part_again_and_the_certificate_says_so(published: Machines) -> None:
    number = published.ask("t", 5)
    nodes = [published.take(name, number) for name in ("t", "y")]
    checks = [node.spot_check for node in nodes]
    assert all(check is not None for check in checks)
    shares = [check.challenged / check.intervals for check in checks if check]
    assert 0.5 <= shares[0] < shares[1] == 1
    with published.participants["t"].run() as party:
        certificate = party.certificate(number)
        assert party.federation.verify().passed
        assert party.federation.audit().passed
    checked = check_certificate(certificate)
    assert checked_in(certificate.statement.request, checked.record.nodes.values()) is Checked.SPOT_CHECKED
    page = page_of(certificate, checked, "erasure.json")
    assert [name for name, _ in page.spot_checks] == ["t", "y"]
    least = checks[0]
    assert least is not None
    assert f"{least.challenged} of {least.intervals} intervals of the least checked new training" in page.kind
    assert f"a probability of {int(100 * shares[0])} % or more" in dict(page.spot_checks)["t"]
    promised(published.contracts)


def crash(*arguments: Any, **options: Any) -> None:
    raise RunError("a crash after the commitment")


def test_the_next_request_destroys_the_disclosure_of_the_one_before(published: Machines) -> None:
    number = published.ask("b", 6)
    with published.participants["t"].run() as party:
        before = [party.federation.catalogue()[name].node.spot_check for name in ("t", "y")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Redactor, "replace", crash)
        with pytest.raises(RunError, match="a crash after the commitment"):
            published.take("b", number)
    assert all(published.take(name, number).spot_check for name in ("b", "t", "z", "y"))
    with published.participants["t"].run() as party:
        certificate = party.certificate(number)
    destroyed = certificate.statement.erasure.keys_destroyed
    assert {check.disclosure for check in before if check} <= set(destroyed)


def test_trainings_by_waves_are_checked_from_the_clean_references_on(published: Machines) -> None:
    """What b's owner hands in as an ancestor's is no commitment to the model's next version."""
    number = published.ask("t", 8, "retrain_ahead")
    parts = [published.take(name, number) for name in ("a", "b", "s", "x", "t", "y")]
    checks = {node.name: node.spot_check.from_initial for node in parts if node.spot_check}
    assert checks == {"b": True, "t": True, "y": False}
    number = published.ask("b", 8)
    assert all(published.take(name, number).spot_check for name in ("b", "t", "z", "y"))


def test_nobody_but_members_reads_a_disclosure(published: Machines) -> None:
    with published.participants["a"].run() as party:
        spot_check = party.federation.catalogue()["t"].node.spot_check
        assert spot_check is not None
        with pytest.raises((KeyDestroyedError, RefusedError)):
            party.federation.weights.read(parse_cid(spot_check.disclosure))


def test_an_owner_that_discloses_nothing_is_measured(published: Machines) -> None:
    number = published.ask("s", 6)
    assert published.take("s", number).spot_check is None


def test_no_model_is_replaced_before_its_references(
    published: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its start would still know the data, however well its training is checked."""
    monkeypatch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
    with published.participants["s"].run() as party:
        (status,) = (each for each in party.federation.context.docket.admitted() if "x" in each.missing)
    with monkeypatch.context() as patch:
        patch.setattr(RequestStanding, "due", lambda status, account: ("y",))
        with pytest.raises(QuorumError, match="references of y are still to answer the request"):
            published.take("y", status.number)
    assert [published.take(name, status.number).name for name in ("x", "y")] == ["x", "y"]


def test_an_owner_commits_to_samples_before_anybody_asks(
    published: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commitment does not come with the version that a request produces."""
    number, resigned = published.ask("a", 7), Redactor._resigned
    secret = published.participants["a"].keys.account_secret
    live = published.contracts.live

    def lying(*arguments: Any) -> ModelNode:
        statement = resigned(*arguments).statement.model_copy(update={"samples": "0" * 64})
        return sign_statement(statement, secret, live.chain_id, live.address)

    monkeypatch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
    monkeypatch.setattr(Redactor, "_resigned", lying)
    with pytest.raises(QuorumError, match="states another recipe of training, or other samples"):
        published.take("a", number)


def passing(machines: Machines, name: str, label: int) -> int:
    """A parallel request whose other models members recompute from the start's new weights."""
    with machines.participants[name].run() as party:
        return party.request((name,), Forget.of_classes([label]), Paradigm.PARALLEL, "gradient_ascent")


def test_a_starts_own_training_is_checked_and_passing_still_shows_nothing(published: Machines) -> None:
    number = passing(published, "t", 4)
    check = published.take("t", number).spot_check
    assert check is not None and 0.5 <= check.challenged / check.intervals < 1
    with published.participants["t"].run() as party:
        until(lambda: is_carried_out(party, number))
        certificate = party.certificate(number)
        assert party.federation.verify().passed
    checked = check_certificate(certificate)
    told = shown(certificate.statement)
    assert told.review is Checked.RECOMPUTED
    least = f"{check.challenged} of {check.intervals} intervals of the least checked one"
    assert f"Of the starts, 1 of 1 showed a training without the data: {least}" in told.kind
    assert [name for name, _ in page_of(certificate, checked, "erasure.json").spot_checks] == ["t"]


class Forger(Recorder):
    """Commits to other weights than the last interval's result."""

    def __call__(self, architecture: Architecture, jobs: Sequence[TrainingJob]) -> tuple[Fitted, ...]:
        (fitted,) = super().__call__(architecture, jobs)
        forged = {name: tensor + 1 for name, tensor in fitted.weights.items()}
        self.states[-1] = weights_digest(forged) + self.states[-1][64:]
        return (Fitted(forged, fitted.curve),)


def test_an_owner_that_forged_is_refused_and_cannot_take_its_commitment_back(
    published: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
    number = published.ask("z", 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.spot_check.Recorder", Forger)
        with pytest.raises(QuorumError, match="does not lead to the committed state"):
            published.take("z", number)
    another = published.ask("b", 9)
    with published.participants["z"].run() as party:
        registry = party.federation.context.contracts.participants
        for each in (number, another):
            position = party.federation.catalogue()["z"].position
            registry.hand_in(each, position, commitment_to(b"another"))
    with pytest.raises(
        UnlearningError, match="has committed to another training for this request or its next"
    ):
        published.take("z", number)
    published.participants["z"].disclose(0.0)
    with pytest.raises(QuorumError, match="discloses nothing of the training that it committed to"):
        published.take("z", number)


def test_a_forged_start_is_refused_and_so_is_one_that_is_not_shown_after_all(published: Machines) -> None:
    """Members lead, since they alone read the start's new weights before the decision."""
    number = passing(published, "y", 5)

    def refused(reason: str) -> bool:
        with published.participants["a"].run() as party:
            assert party.stage(number) is RequestStage.OPEN
            return any(reason in alarm.reason for alarm in party.federation.alarms())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.spot_check.Recorder", Forger)
        published.take("y", number)
    until(lambda: refused("the spot check fails: interval"))
    published.participants["y"].disclose(0.0)
    with published.participants["y"].run() as party:
        assert hand_in(party, number, "y").spot_check is None
    until(lambda: refused("the owner of y discloses nothing of the training that it committed to"))
