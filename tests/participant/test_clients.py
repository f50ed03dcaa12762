# SPDX-License-Identifier: Apache-2.0
"""Clients and samples forgotten among machines, each part recomputed or checked in parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from blockful_py.errors import QuorumError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.weights import Weights, aggregate, equal
from blockful_py.pipeline.jobs.parts import OwnParts
from blockful_py.pipeline.party import PartyRun
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.shown import checked_in, shown
from blockful_py.types import Checked, Paradigm
from tests.member.leaders import until
from tests.participant.conftest import Machines

SHARES = {"t": 0.5, "y": 1.0}
"""Owners' disclosures; nobody checks the trainings of the others."""


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"parallel": "auto", "sequential": "auto", "blocks": 100_000}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    for name, share in SHARES.items():
        machines.participants[name].disclose(share)
    return machines.publish()


def user(party: PartyRun) -> int:
    return party.federation.setup.users[0].index


def leave(machines: Machines, name: str, number: int) -> None:
    """Nothing is left of the model, so members withdraw it at once, and its owner has no part."""
    with machines.participants[name].run() as party:
        assert party.take_part(number) == ()
        until(lambda: party.federation.catalogue()[name].node.is_withdrawn)


def weights(party: PartyRun, name: str) -> Weights:
    return party.federation.weights.read(party.federation.catalogue()[name].node.weights)


@pytest.mark.slow
def test_a_client_leaves_and_members_check_each_part(published: Machines) -> None:
    """Whose training nobody checks becomes the mean of its references: nothing of the client is in it."""
    with published.participants["b"].run() as party:
        number = party.request((), Forget.of_clients([user(party)]), Paradigm.SEQUENTIAL, None)
        request = party.filed(number)
        assert ([start.name for start in request.starts], request.method) == (
            ["b"],
            "retrain {}",
        )
        assert "exact given the graph" in (party.federation.advice(request).reason or "")
        assert party.federation.advice(request).loss == "b was trained on this data alone, and is withdrawn"
    leave(published, "b", number)
    nodes = {name: published.take(name, number) for name in ("t", "z", "y")}
    assert {name for name, node in nodes.items() if node.redaction and node.redaction.untrained} == {"z"}
    assert {name for name, node in nodes.items() if node.spot_check} == {"t", "y"}
    with published.participants["a"].run() as party:
        assert party.federation.catalogue()["b"].node.is_withdrawn
        assert equal(weights(party, "z"), aggregate([weights(party, "a")]))
        certificate = party.certificate(number)
        assert party.federation.verify().passed and party.federation.audit().passed
    record = check_certificate(certificate).record
    assert checked_in(request, record.nodes.values()) is Checked.SPOT_CHECKED
    untrained = [node for node in record.nodes.values() if node.name == "z"]
    assert checked_in(request, untrained) is Checked.EXACT
    kind = shown(certificate.statement).kind
    assert kind.startswith("Exact given the graph, spot-checked: ") and "the 1 that nobody trained" in kind
    assert shown(certificate.statement).warnings == ()


@pytest.mark.processes
def test_samples_are_forgotten_by_whoever_lets_members_check_it(published: Machines) -> None:
    with published.participants["t"].run() as party:
        mine = Forget.of_samples([(user(party), 0), (user(party), 2)])
        number = party.request((), mine, Paradigm.SEQUENTIAL, None)
    assert all(published.take(name, number).spot_check for name in ("t", "y"))


def test_a_training_that_nobody_can_check_is_refused(
    published: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
    with published.participants["s"].run() as party:
        number = party.request((), Forget.of_samples([(user(party), 1)]), Paradigm.SEQUENTIAL, None)
        published_weights = weights(party, "s")
    with monkeypatch.context() as patch:
        patch.setattr(OwnParts, "_must_show", lambda *_: False)
        with pytest.raises(QuorumError, match="nothing shows what s has forgotten"):
            published.take("s", number)
    with monkeypatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.parts.aggregate_of", lambda *_: published_weights)
        with pytest.raises(QuorumError, match="s is not the mean of its references"):
            published.take("s", number)
    assert published.take("s", number).redaction


@pytest.mark.parametrize(
    ("name", "method", "above"), [("x", "retrain", ()), ("z", "retrain_ahead", ("a", "b"))]
)
def test_the_mean_of_references_that_may_know_a_class_is_not_called_exact(
    published: Machines, monkeypatch: pytest.MonkeyPatch, name: str, method: str, above: tuple[str, ...]
) -> None:
    """Nor the mean of clean models of ancestors, which nobody checked."""
    monkeypatch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
    with published.participants[name].run() as party:
        number = party.request((name,), Forget.of_classes([5]), Paradigm.SEQUENTIAL, method)
    for ancestor in above:
        with published.participants[ancestor].run() as party:
            party.take_part(number)
    monkeypatch.setattr(OwnParts, "_must_show", lambda *_: True)
    with pytest.raises(QuorumError, match=f"does not show that {name} has forgotten class 5"):
        published.take(name, number)


@pytest.mark.parametrize(
    ("method", "paradigm"), [("noisy_restart", Paradigm.PARALLEL), ("distill", Paradigm.SEQUENTIAL)]
)
def test_what_owners_cannot_show_is_not_filed(published: Machines, method: str, paradigm: Paradigm) -> None:
    with (
        published.participants["x"].run() as party,
        pytest.raises(UnlearningError, match=r"no public data shows .* choose retrain_ahead, gradient_asc"),
    ):
        party.request((), Forget.of_clients([user(party)]), paradigm, method)
