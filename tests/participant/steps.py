# SPDX-License-Identifier: Apache-2.0
"""Work of a participant or of a leading member that stops at a step chosen by a test.

    python -m tests.participant.steps

It does the task on its standard input.  At the step named in the file `stop-at` beside its run, it removes
that file, writes its process id to `stopped`, and freezes (SIGSTOP).  The test then kills it, or cuts its
host off, and lets it continue.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.member.leaders import until
from tests.participant.clocks import follow

STOP_AT, STOPPED = "stop-at", "stopped"
TRAINING = "training"
DRAFTED = "drafted"
"""The proposal is drafted, and nobody else has seen it."""
VOTED = "voted"
"""A quorum has voted, and nobody has signed the certificate."""
CERTIFIED = "certified"
"""The certificate is in the journal, and no transaction was sent."""
ARCHIVED = "archived"
"""The archive has the decision, the live chain does not."""
LIVE = "live"
"""Both chains have it; the job is open."""
HANDING_IN = "handing in"
"""The members have the part; the chain does not name it."""
HANDED_IN = "handed in"
"""The chain names the part; the job is open."""


class Stop:
    """A stop that a test requests in a party's folder."""

    def __init__(self, folder: Path, step: str) -> None:
        self._folder = folder
        (folder / STOPPED).unlink(missing_ok=True)
        (folder / STOP_AT).write_text(step, encoding="utf-8")

    def reached(self) -> None:
        """Waits until the work has stopped."""
        until(self.is_reached)

    def is_reached(self) -> bool:
        return (self._folder / STOPPED).exists()

    def go_on(self, to: str | None = None) -> None:
        """Lets the work continue, up to another step if one is named."""
        process = self._process()
        if to is not None:
            (self._folder / STOPPED).unlink()
            (self._folder / STOP_AT).write_text(to, encoding="utf-8")
        os.kill(process, signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self._process(), signal.SIGKILL)

    def _process(self) -> int:
        return int((self._folder / STOPPED).read_text(encoding="utf-8"))

    def withdraw(self) -> None:
        """Removes the requested stop."""
        (self._folder / STOP_AT).unlink(missing_ok=True)


def pass_by(folder: Path, step: str) -> None:
    """Stops at this step if the test requests it."""
    try:
        if (folder / STOP_AT).read_text(encoding="utf-8") != step:
            return
        (folder / STOP_AT).unlink()
    except FileNotFoundError:
        return
    partial = folder / f"{STOPPED}-partial"
    partial.write_text(str(os.getpid()), encoding="utf-8")
    partial.rename(folder / STOPPED)
    os.kill(os.getpid(), signal.SIGSTOP)


def _install(folder: Path) -> None:
    from blockful_py.chain.live_chain import LiveChainContract
    from blockful_py.chain.participant_registry import ParticipantRegistryContract
    from blockful_py.committee.coordinator import Coordinator
    from blockful_py.pipeline.jobs import training
    from blockful_py.pipeline.jobs.journaled_sends import JournaledExecutor

    def stepped(owner: Any, name: str, before: str | None, after: str | None = None) -> None:
        honest: Callable[..., Any] = getattr(owner, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            if before is not None:
                pass_by(folder, before)
            result = honest(*arguments, **options)
            if after is not None:
                pass_by(folder, after)
            return result

        setattr(owner, name, wrapped)

    stepped(training, "train_wave", TRAINING)
    stepped(Coordinator, "certify_publication", DRAFTED)
    stepped(Coordinator, "certify_redaction", DRAFTED)
    stepped(Coordinator, "_certify", VOTED)
    stepped(JournaledExecutor, "send", CERTIFIED)
    stepped(LiveChainContract, "send_each", ARCHIVED, LIVE)
    stepped(ParticipantRegistryContract, "hand_in", HANDING_IN, HANDED_IN)


def do(task: str) -> None:
    """Does the task of a participant or of a leading member, in steps."""
    from blockful_py.member.leader_process import lead
    from blockful_py.participant.work import do as take_part

    told = json.loads(task)
    folder = Path(told["run"]).parent
    follow(folder)
    _install(folder)
    (lead if "leader" in told else take_part)(task)


if __name__ == "__main__":
    from blockful_py.child_process import serve_task

    sys.exit(serve_task(do))
