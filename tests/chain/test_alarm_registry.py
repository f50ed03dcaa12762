# SPDX-License-Identifier: Apache-2.0
"""An alarm of a member, through the registry's adapter."""

from __future__ import annotations

import pytest

from blockful_py.crypto import curve, signature
from blockful_py.errors import ContractError
from tests.chain.conftest import Scene

PROPOSAL, REASON = b"\1" * 32, "the update of model a is another than mine"


def test_the_registry_records_alarms(scene: Scene) -> None:
    book, secret = scene.alarms, scene.council.secrets[2]
    assert book.quorum() == scene.committee.address
    signed = signature.sign(secret, book.digest(scene.council.domain, 1, PROPOSAL, REASON))
    book.alarm(1, PROPOSAL, REASON, 2, signed)
    (alarm,) = book.events("AlarmRaised")
    assert (alarm.arguments["epoch"], alarm.arguments["proposal"]) == (1, PROPOSAL)
    assert alarm.arguments["member"] == curve.address(curve.multiply_base(secret))
    assert alarm.arguments["reason"] == REASON
    assert book.alarms(1, PROPOSAL) == 0b100
    with pytest.raises(ContractError) as refused:
        book.alarm(1, PROPOSAL, REASON, 2, signed)
    assert (refused.value.contract, refused.value.name) == ("AlarmRegistry", "AlarmRepeated")
    with pytest.raises(ContractError) as refused:
        book.alarm(1, PROPOSAL, REASON, 1, signed)
    assert refused.value.name == "InvalidAlarm"
