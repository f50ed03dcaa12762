# SPDX-License-Identifier: Apache-2.0
"""Duties: background tasks of a member's process, each in its own thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Protocol, Self

from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError

_log = logging.getLogger(__name__)


class Duty(Protocol):
    """A background task."""

    @property
    def name(self) -> str:
        """A short name for logs."""

    def step(self) -> None:
        """Does the pending work and returns; called repeatedly, never concurrently.

        May raise anything: the error is logged and the duty retried.
        """


class Duties(Closable):
    """Calls every duty each `interval` seconds from `start` to `close`; a slow duty delays no other.

    An error is logged once, and again only after the duty has succeeded or failed in another way.
    """

    def __init__(self, duties: Sequence[Duty], interval: float = 1.0) -> None:
        self._interval = interval
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(duty,), name=duty.name, daemon=True) for duty in duties
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Waits for the running steps to end; starts no others."""
        self._over.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def _run(self, duty: Duty) -> None:
        logged = ""
        while not self._over.is_set():
            problem = _problem(duty)
            if problem and problem != logged:
                _log.warning("%s: %s", duty.name, problem, extra={"duty": duty.name})
            logged = problem
            self._over.wait(self._interval)


def _problem(duty: Duty) -> str:
    try:
        duty.step()
    except BlockfulError as error:
        return str(error)
    except Exception as error:  # a fault of one step must not end the duty
        return f"{type(error).__name__}: {error}"
    return ""
