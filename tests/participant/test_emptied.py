# SPDX-License-Identifier: Apache-2.0
"""Samples of a root whose owner lets nobody check its trainings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from blockful_py.forget import Forget
from blockful_py.learning.weights import equal
from blockful_py.record.shown import shown
from blockful_py.types import Paradigm
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_clients import take, user, weights


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"sequential": "auto", "blocks": 100_000}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    """Only y lets members check its trainings."""
    machines.participants["y"].disclose(0.5)
    return machines.publish()


@pytest.mark.processes
def test_roots_that_nobody_can_check_are_withdrawn_and_others_go_on(published: Machines) -> None:
    """They became untrained, and spoiled the means of models that inherit from others too."""
    with published.participants["a"].run() as party:
        before = weights(party, "b")
        number = party.request((), Forget.of_samples([(user(party), 1)]), Paradigm.SEQUENTIAL, None)
        until(lambda: all(party.federation.catalogue()[name].node.is_withdrawn for name in "asx"))
    take(published, "z", number)
    assert take(published, "y", number).spot_check
    with published.participants["b"].run() as party:
        assert equal(weights(party, "z"), before)
        certificate = party.certificate(number)
    assert shown(certificate.statement).kind.startswith("Exact given the graph, spot-checked")
