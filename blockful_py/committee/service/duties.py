# SPDX-License-Identifier: Apache-2.0
"""What a member does unasked, beside answering: each duty is looked after by a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol, Self

from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError

Report = Callable[[str, str], None]
"""Told the name of a duty and what went wrong."""


class Duty(Protocol):
    """One thing to look after."""

    @property
    def name(self) -> str:
        """One word or two, for reports."""

    def step(self) -> None:
        """Does what there is to do and returns; is called again and again, never twice at a time.

        May raise anything: it is told and the duty is called again.
        """


class Duties(Closable):
    """Calls every duty each `interval` seconds from `start` to `close`; a slow one keeps no other waiting.

    An error is told once, and again after the duty has succeeded or failed otherwise in between.
    """

    def __init__(self, duties: Sequence[Duty], report: Report, interval: float = 1.0) -> None:
        self._report = report
        self._interval = interval
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._look_after, args=(duty,), name=duty.name, daemon=True)
            for duty in duties
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """No step begins after this, and none is under way when it returns."""
        self._over.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def _look_after(self, duty: Duty) -> None:
        told = ""
        while not self._over.is_set():
            problem = _problem(duty)
            if problem and problem != told:
                self._report(duty.name, problem)
            told = problem
            self._over.wait(self._interval)


def _problem(duty: Duty) -> str:
    try:
        duty.step()
    except BlockfulError as error:
        return str(error)
    except Exception as error:  # a fault of one step must not end the duty
        return f"{type(error).__name__}: {error}"
    return ""
