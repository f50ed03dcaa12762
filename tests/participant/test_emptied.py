# SPDX-License-Identifier: Apache-2.0
"""Samples of a root whose owner lets nobody check its trainings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from blockful_py.errors import QuorumError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.weights import equal
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.shown import shown
from blockful_py.types import Paradigm
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_clients import user, weights

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"sequential": "auto", "blocks": 100_000}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    """y lets members check its trainings; b committed to its samples, and lets nobody check any more."""
    for name in ("y", "b"):
        machines.participants[name].disclose(0.5)
    machines.publish().participants["b"].disclose(0.0)
    return machines


def test_roots_that_nobody_can_check_are_withdrawn_and_others_go_on(published: Machines) -> None:
    """They became untrained, and spoiled the means of models that inherit from others too."""
    with published.participants["a"].run() as party:
        before = weights(party, "b")
        number = party.request((), Forget.of_samples([(user(party), 1)]), Paradigm.SEQUENTIAL, None)
        until(lambda: all(party.federation.catalogue()[name].node.is_withdrawn for name in "asx"))
    published.take("z", number)
    assert published.take("y", number).spot_check
    with published.participants["b"].run() as party:
        assert equal(weights(party, "z"), before)
        certificate = party.certificate(number)
    assert shown(certificate.statement).kind.startswith("Exact given the graph, spot-checked")


def test_no_root_is_left_at_its_initial_weights(published: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner waits for members to withdraw it, and members refuse the initial weights."""
    monkeypatch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
    with published.participants["b"].run() as party:
        number = party.request((), Forget.of_samples([(user(party), 1)]), Paradigm.SEQUENTIAL, None)
    with pytest.raises(UnlearningError, match="nobody can check a training of b, and it has no reference"):
        published.take("b", number)
    with monkeypatch.context() as patch:
        patch.setattr(RequestStanding, "withdraws", False)
        with pytest.raises(QuorumError, match="only the initial weights would be left of b"):
            published.take("b", number)
    published.participants["b"].disclose(0.5)
    assert published.take("b", number).spot_check
