# SPDX-License-Identifier: Apache-2.0
"""Clients and samples forgotten among machines under one certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from blockful_py.forget import Forget
from blockful_py.learning.weights import aggregate, equal
from blockful_py.pipeline.jobs.parts import OwnParts
from blockful_py.pipeline.party import PartyRun
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.request_state import RequestStage
from blockful_py.record.shown import checked_in, shown
from blockful_py.types import Checked, Paradigm
from tests.federations import GRAPH
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_clients import take, user, weights
from tests.participant.test_lying import hand_in


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"parallel": "auto", "sequential": "auto", "blocks": 100_000}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    for name in GRAPH:
        with machines.participants[name].run() as party:
            party.train_next()
    return machines


def request(machines: Machines, name: str, forget: Forget | None = None) -> int:
    with machines.participants[name].run() as party:
        return party.request((), forget or Forget.of_clients([user(party)]), Paradigm.PARALLEL, None)


def is_carried_out(party: PartyRun, number: int) -> bool:
    return party.stage(number) is RequestStage.CARRIED_OUT


def test_a_client_leaves_under_one_certificate_that_is_exact(published: Machines) -> None:
    """Nobody may check a training, so each model is the mean of its references' new versions."""
    number = request(published, "b")
    with published.participants["b"].run() as party:
        assert party.filed(number).method == "retrain_ahead {}"
        assert party.federation.context.docket[number].auxiliary == ()
        assert party.federation.advice(party.filed(number)).loss
        until(lambda: party.federation.catalogue()["b"].node.is_withdrawn)
        assert party.take_part(number) == ()
    for name in ("t", "z", "y"):
        assert take(published, name, number).redaction
    with published.participants["a"].run() as party:
        until(lambda: is_carried_out(party, number))
        catalogue = party.federation.catalogue()
        assert equal(weights(party, "z"), weights(party, "a"))
        assert equal(weights(party, "y"), aggregate([weights(party, "t"), weights(party, "x")]))
        assert all(node.redaction and node.redaction.untrained for node in nodes_of(party, "tzy"))
        certificate = party.certificate(number)
        assert party.federation.verify().passed and party.federation.audit().passed
    record = check_certificate(certificate).record
    assert checked_in(certificate.statement.request, record.nodes.values()) is Checked.EXACT
    assert shown(certificate.statement).kind.startswith("Exact given the graph, recomputed")
    assert catalogue["b"].node.is_withdrawn


def nodes_of(party: PartyRun, names: str) -> list[Any]:
    return [party.federation.catalogue()[name].node for name in names]


def test_members_refuse_what_is_not_the_mean_of_the_newest_parts(
    published: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once s hands in anew, the parts of x, a published model in place of the mean, and y are due again."""
    with published.participants["s"].run() as party:
        number = request(published, "s", Forget.of_samples([(user(party), 1)]))
    take(published, "s", number)
    with published.participants["x"].run() as party:
        published_weights = weights(party, "x")
    with monkeypatch.context() as patch:
        patch.setattr(OwnParts, "_mean", lambda *_: published_weights)
        take(published, "x", number)
    take(published, "y", number)
    with published.participants["x"].run() as party:
        until(lambda: any("x is not the mean of" in alarm.reason for alarm in party.federation.alarms()))
        assert not is_carried_out(party, number)
    with published.participants["s"].run() as party:
        hand_in(party, number, "s")
        assert party.federation.context.docket[number].newest_parts.keys() == {"s"}
    for name in ("x", "y"):
        take(published, name, number)
    with published.participants["a"].run() as party:
        until(lambda: is_carried_out(party, number))
        mean = aggregate([weights(party, "t"), weights(party, "x")])
        assert equal(weights(party, "y"), mean)
