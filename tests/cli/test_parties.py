# SPDX-License-Identifier: Apache-2.0
"""Services that start while no node answers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from blockful_py.cli import parties
from blockful_py.cli.console import Output
from blockful_py.cli.parties import once_reached
from blockful_py.errors import NodeError, SettingsError

STOPPING = {signal.SIGTERM}


@pytest.fixture(autouse=True)
def held_back(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(parties, "WAIT_SECONDS", 0.01)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_a_service_waits_for_its_nodes_and_says_so_once(capfd: pytest.CaptureFixture[str]) -> None:
    answers = iter([NodeError("no node answers"), NodeError("no node answers"), "opened"])

    def opened() -> str:
        answer = next(answers)
        if isinstance(answer, NodeError):
            raise answer
        return answer

    assert once_reached(opened, Output(False), STOPPING) == "opened"
    assert capfd.readouterr().err == "waiting: no node answers\n"


def test_a_service_that_waits_is_stopped() -> None:
    def opened() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # where it is held back
        raise NodeError("no node answers")

    with pytest.raises(KeyboardInterrupt):
        once_reached(opened, Output(False), STOPPING)


def test_other_errors_end_a_service() -> None:
    def opened() -> None:
        raise SettingsError("a file is missing")

    with pytest.raises(SettingsError):
        once_reached(opened, Output(False), STOPPING)
