# SPDX-License-Identifier: Apache-2.0
"""Clients and samples forgotten among machines under one certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from blockful_py.child_process import ChildProcesses
from blockful_py.errors import BlockfulError
from blockful_py.forget import Forget
from blockful_py.learning.scenario import ModelSpec
from blockful_py.learning.weights import aggregate, equal
from blockful_py.participant import serving
from blockful_py.participant.serving import ParticipantService
from blockful_py.pipeline.jobs.parts import OwnParts
from blockful_py.pipeline.party import PartyRun
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.request_stage import RequestStage
from blockful_py.record.shown import checked_in, shown
from blockful_py.types import Checked, Paradigm
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_clients import user, weights
from tests.participant.test_lying import hand_in


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"parallel": "auto", "sequential": "auto", "blocks": 100_000}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    """Only t lets members check its trainings."""
    machines.participants["t"].disclose(0.5)
    return machines.publish()


def request(machines: Machines, name: str, forget: Forget | None = None) -> int:
    with machines.participants[name].run() as party:
        return party.request((), forget or Forget.of_clients([user(party)]), Paradigm.PARALLEL, None)


def is_carried_out(party: PartyRun, number: int) -> bool:
    return party.stage(number) is RequestStage.CARRIED_OUT


def is_to_train(machines: Machines, name: str) -> bool:
    """Whether an owner would train another model if its plan had one."""
    participant = machines.participants[name]
    with (
        ChildProcesses("unused") as processes,
        ParticipantService(participant.folder, participant.keys, processes) as service,
    ):
        return service.next_model(service.catalogue()) is not None


@pytest.mark.slow
def test_a_client_leaves_under_one_certificate_that_is_exact_and_checked(
    published: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = request(published, "b")
    with monkeypatch.context() as patch:
        patch.setattr(serving, "next_of", lambda user, *_: ModelSpec("more", user, 1, ()))
        assert not is_to_train(published, "b") and is_to_train(published, "t")
    with published.participants["b"].run() as party:
        assert party.filed(number).method == "retrain_ahead {}"
        assert party.federation.context.docket[number].auxiliary == ()
        assert party.federation.advice(party.filed(number)).loss
        until(lambda: party.federation.catalogue()["b"].node.is_withdrawn)
        assert party.take_part(number) == ()
    for name in ("t", "z", "y"):
        assert published.take(name, number).redaction
    with published.participants["a"].run() as party:
        until(lambda: is_carried_out(party, number))
        catalogue = party.federation.catalogue()
        assert equal(weights(party, "z"), weights(party, "a"))
        assert equal(weights(party, "y"), aggregate([weights(party, "t"), weights(party, "x")]))
        redactions = {name: catalogue[name].node.redaction for name in "tzy"}
        assert [name for name, each in redactions.items() if each and each.untrained] == ["z", "y"]
        assert redactions["t"] and redactions["t"].spot_check
        certificate = party.certificate(number)
        assert party.federation.verify().passed and party.federation.audit().passed
    record = check_certificate(certificate).record
    assert checked_in(certificate.statement.request, record.nodes.values()) is Checked.SPOT_CHECKED
    kind = shown(certificate.statement).kind
    assert kind.startswith("Exact given the graph, spot-checked") and "the 2 that nobody trained" in kind
    assert catalogue["b"].node.is_withdrawn


@pytest.mark.processes
def test_a_false_mean_serves_nobody_and_is_made_again_after_a_newer_part(
    published: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x hands in its published model as the mean: y's owner gets no key of it."""
    with published.participants["s"].run() as party:
        number = request(published, "s", Forget.of_samples([(user(party), 1)]))
    published.take("s", number)
    with published.participants["x"].run() as party:
        published_weights = weights(party, "x")
    with monkeypatch.context() as patch:
        patch.setattr(OwnParts, "_mean", lambda *_: published_weights)
        published.take("x", number)
    with pytest.raises(BlockfulError, match="x is not the mean of its references' new weights"):
        published.take("y", number)
    with published.participants["s"].run() as party:
        hand_in(party, number, "s")
        assert party.federation.context.docket[number].newest_parts.keys() == {"s"}
    for name in ("x", "y"):
        published.take(name, number)
    with published.participants["a"].run() as party:
        until(lambda: is_carried_out(party, number))
        assert equal(weights(party, "y"), aggregate([weights(party, "t"), weights(party, "x")]))
        certificate = party.certificate(number)
    record = check_certificate(certificate).record
    assert checked_in(certificate.statement.request, record.nodes.values()) is Checked.EXACT
    assert shown(certificate.statement).kind.startswith("Exact given the graph, recomputed")
