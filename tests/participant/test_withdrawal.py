# SPDX-License-Identifier: Apache-2.0
"""Models of owners that never answer are withdrawn, and return when their owners do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from blockful_py.errors import KeyDestroyedError, QuorumError, UnlearningError, WithdrawnError
from blockful_py.forget import Forget
from blockful_py.pipeline.run.clock import tick
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.request_state import RequestStanding
from blockful_py.types import Paradigm
from tests.federations import promised
from tests.member.leaders import until
from tests.participant.conftest import Machines

pytestmark = pytest.mark.processes

BLOCKS = 60
CLASS = Forget.of_classes([5])


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"starts": ["s", "t"], "blocks": BLOCKS}}


@pytest.fixture(scope="module")
def asked(machines: Machines) -> int:
    """A sequential request whose owner of t did its part, while the next owner, of y, is away."""
    machines.publish()
    with machines.participants["t"].run() as party:
        number = party.request(("t",), CLASS, Paradigm.SEQUENTIAL, None)
        assert [node.name for node in party.take_part(number)] == ["t"]
    return number


@pytest.fixture(scope="module")
def withdrawn(machines: Machines, asked: int) -> int:
    """The request after a member has led the withdrawal of y."""
    node = machines.contracts.live.node
    for _ in range(BLOCKS):
        tick(node)
    until(lambda: placed(machines, "y").node.is_withdrawn)
    return asked


def catalogue(machines: Machines) -> Catalogue:
    with machines.participants["a"].run() as party:
        return party.federation.catalogue()


def placed(machines: Machines, name: str) -> PlacedNode:
    return catalogue(machines)[name]


def test_members_withdraw_no_model_whose_owner_has_time(
    machines: Machines, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RequestStanding, "unanswered", lambda status: ("y",))
    with (
        machines.participants["t"].run() as party,
        pytest.raises(QuorumError, match="the owner of model y still has time to do its part"),
    ):
        party.lead(asked)
    assert not placed(machines, "y").node.is_withdrawn


def test_the_record_verifies_and_the_certificate_names_what_was_withdrawn(
    machines: Machines, withdrawn: int
) -> None:
    assert placed(machines, "y").version == 1
    with machines.participants["t"].run() as party:
        certificate = party.certificate(withdrawn)
        assert party.federation.verify().passed
        assert party.federation.audit().passed
    check_certificate(certificate)
    entries = {each.name: each for each in certificate.statement.replaced}
    assert entries.keys() == {"t", "y"}
    assert (entries["y"].new_weights, entries["y"].claims) == (None, None)
    assert entries["t"].new_weights is not None
    assert entries["y"].old_weights in certificate.statement.erasure.keys_destroyed
    promised(machines.contracts)


def test_nobody_reads_a_withdrawn_model(machines: Machines, withdrawn: int) -> None:
    with machines.participants["a"].run() as party:
        opened = party.federation.context
        old = opened.history.version(placed(machines, "y").position, 0)
        with pytest.raises(WithdrawnError, match="until its owner publishes it again"):
            opened.weights.read(placed(machines, "y").node.weights)
        with pytest.raises(KeyDestroyedError):
            opened.keys.keyring.find((old.weights,))[old.weights]


def test_what_would_pass_through_a_withdrawn_model_is_refused(machines: Machines, withdrawn: int) -> None:
    filed = len(machines.contracts.participants.filed_requests())
    with (
        machines.participants["s"].run() as party,
        pytest.raises(UnlearningError, match="y is withdrawn and passes no change on"),
    ):
        party.request(("s",), Forget.of_classes([3]), Paradigm.PARALLEL, None)
    with machines.participants["y"].run() as party, pytest.raises(WithdrawnError):
        party.request(("y",), Forget.of_classes([3]), Paradigm.SEQUENTIAL, None)
    assert len(machines.contracts.participants.filed_requests()) == filed


def test_an_owner_who_comes_back_publishes_its_model_again(machines: Machines, withdrawn: int) -> None:
    with machines.participants["y"].run() as party:
        assert [node.name for node in party.take_part(withdrawn)] == ["y"]
        assert party.take_part(withdrawn) == ()
        assert party.federation.verify().passed
        assert party.federation.audit().passed
        assert party.federation.weights.read(party.federation.catalogue()["y"].node.weights)
        check_certificate(party.certificate(withdrawn))
    now = placed(machines, "y")
    assert (now.version, now.node.is_withdrawn) == (2, False)
    assert now.node.signer(machines.contracts.live.chain_id, machines.contracts.live.address) == (
        machines.participants["y"].keys.account
    )
    promised(machines.contracts)
