# SPDX-License-Identifier: Apache-2.0
"""Alarms, which the appointed and the elected committee record alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from blockful_py.crypto.eip712 import Domain
from tests.contracts.refusal import refusal
from tests.contracts.scene import Panel
from tests.contracts.sortition import Candidate, Elections

PROPOSAL = b"\5" * 32
REASON = "model a: AD_f 0.31 above 0.05"


@dataclass
class Book:
    """A committee of four in epoch 1, its domain and its members."""

    contract: Any
    domain: Domain
    panel: Panel

    def signed(self, index: int, reason: str = REASON, epoch: int = 1) -> bytes:
        return self.panel.alarm(self.domain, epoch, PROPOSAL, reason, index)

    def refused(self, *arguments: Any) -> tuple[Any, ...]:
        return refusal(self.contract, "alarm", *arguments)


@pytest.fixture(params=["appointed", "elected"])
def book(request: pytest.FixtureRequest) -> Book:
    if request.param == "appointed":
        world = request.getfixturevalue("world")
        return Book(world.committee, world.decider.domain, world.decider.panel)
    standing: tuple[Elections, list[Candidate]] = request.getfixturevalue("standing")
    panel, _ = standing[0].epoch(standing[1], "first")
    return Book(standing[0].contract, standing[0].domain, panel)


def test_alarms_are_recorded_with_their_reason(book: Book) -> None:
    event = book.contract.alarm(1, PROPOSAL, REASON, 2, book.signed(2)).events["AlarmRaised"]
    assert (event["epoch"], bytes(event["proposal"]), event["reason"]) == (1, PROPOSAL, REASON)
    assert bytes.fromhex(event["member"][2:]) == book.panel.addresses[2]
    assert book.contract.alarms(1, PROPOSAL) == 0b100
    book.contract.alarm(1, PROPOSAL, "another reason", 0, book.signed(0, "another reason"))
    assert book.contract.alarms(1, PROPOSAL) == 0b101
    assert book.refused(1, PROPOSAL, REASON, 2, book.signed(2)) == ("AlarmRepeated", PROPOSAL, 2)


def test_alarms_that_are_not_recorded(book: Book) -> None:
    signature = book.signed(2)
    assert book.refused(1, PROPOSAL, "yes", 2, signature)[0] == "InvalidAlarm"
    assert book.refused(1, PROPOSAL, REASON, 1, signature)[0] == "InvalidAlarm"
    assert book.refused(1, bytes(32), REASON, 2, signature)[0] == "InvalidAlarm"
    assert book.refused(1, PROPOSAL, REASON, 9, bytes(64))[0] == "InvalidAlarm"
    assert book.refused(2, PROPOSAL, REASON, 2, book.signed(2, epoch=2)) == ("AlarmOutOfEpoch", 2, 1)
    assert book.refused(1, PROPOSAL, "", 2, signature) == ("ReasonLength", 0)
    assert book.refused(1, PROPOSAL, "x" * 257, 2, signature) == ("ReasonLength", 257)


def test_a_reason_of_256_bytes_is_recorded(book: Book) -> None:
    book.contract.alarm(1, PROPOSAL, "x" * 256, 3, book.signed(3, "x" * 256))
    assert book.contract.alarms(1, PROPOSAL) == 0b1000


def test_an_epoch_that_is_over_has_no_more_alarms(world: Any) -> None:
    panel = world.decider.panel
    late = panel.alarm(world.decider.domain, 1, PROPOSAL, REASON, 0)
    world.committee.appoint(Panel.seeded(4, "second").roster())
    assert refusal(world.committee, "alarm", 1, PROPOSAL, REASON, 0, late) == ("AlarmOutOfEpoch", 1, 2)
