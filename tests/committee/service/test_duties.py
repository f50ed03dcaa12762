# SPDX-License-Identifier: Apache-2.0
"""A member's duties continue despite all errors, and end on request."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from blockful_py.committee.service.duties import Duties
from blockful_py.errors import NodeError

SECONDS = 600.0


class Chore:
    """Calls `act` with the number of the step, and lets others wait for a step."""

    def __init__(self, name: str, act: Callable[[int], None]) -> None:
        self.name = name
        self._act = act
        self._done = threading.Condition()
        self.steps = 0

    def step(self) -> None:
        with self._done:
            self.steps += 1
            self._done.notify_all()
            number = self.steps
        self._act(number)

    def reached(self, number: int) -> bool:
        with self._done:
            return self._done.wait_for(lambda: self.steps >= number, SECONDS)


def _nothing(number: int) -> None:
    """All is well."""


def test_every_duty_is_called_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    chores = [Chore("one", _nothing), Chore("two", _nothing)]
    with Duties(chores, interval=0.001):
        assert all(chore.reached(5) for chore in chores)
    assert caplog.messages == []


def test_an_error_is_logged_once_and_the_duty_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def act(number: int) -> None:
        if number in (1, 2, 4):
            raise NodeError("no node answers")
        if number == 5:
            raise ZeroDivisionError("a slip")

    chore = Chore("chore", act)
    with caplog.at_level(logging.WARNING), Duties([chore], interval=0.001):
        assert chore.reached(8)
    down = "chore: no node answers"
    assert caplog.messages == [down, down, "chore: ZeroDivisionError: a slip"]


def test_a_slow_duty_keeps_no_other_waiting() -> None:
    released = threading.Event()

    def wait(number: int) -> None:
        assert released.wait(SECONDS)

    slow, quick = Chore("slow", wait), Chore("quick", _nothing)
    with Duties([slow, quick], interval=0.001):
        assert slow.reached(1)
        assert quick.reached(20)
        assert slow.steps == 1
        released.set()


def test_closing_waits_for_the_step_that_is_under_way_and_begins_no_other() -> None:
    begun, released, finished = threading.Event(), threading.Event(), threading.Event()

    def act(number: int) -> None:
        begun.set()
        assert released.wait(SECONDS)
        finished.set()

    chore = Chore("chore", act)
    duties = Duties([chore], interval=0.001)
    duties.start()
    assert begun.wait(SECONDS)
    closing = threading.Thread(target=duties.close)
    closing.start()
    released.set()
    closing.join(SECONDS)
    assert finished.is_set()
    steps = chore.steps
    assert not closing.is_alive()
    assert chore.steps == steps
    duties.close()


def test_duties_that_never_began_are_closed() -> None:
    chore = Chore("chore", _nothing)
    Duties([chore]).close()
    assert chore.steps == 0
