# SPDX-License-Identifier: Apache-2.0
"""Leads a request in a separate process, so that the member that started it can stop at any time.

    python -m blockful_py.member.leader_process

The process reads one line from its standard input, a `LeaderProcess` as JSON, so that no secret is on a
command line or in a file.  It ends when it is done or when its standard input closes, as it does when its
parent exits.  A leader may end at any point: the next one takes up its work (docs/explanation/committee.md).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from blockful_py.chain.signer import Signer
from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError, RunError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import take_up
from blockful_py.pipeline.run.nodes import Nodes, Place

STOPPED = 130
"""Exit status of a leader process whose parent is gone."""


@dataclass(frozen=True, slots=True)
class LeaderProcess:
    """What a leader process is started with; it leads the pending request of `run`.

    Attributes:
        place: URLs of the chains.
        account: private key of the account that pays for transactions.
        leader: secret of a voting key or of a leader's key that the members accept.
    """

    run: Path
    place: Place
    account: int = field(repr=False)
    leader: int = field(repr=False)

    def to_json(self) -> str:
        place, run = self.place.to_json(self.run), str(self.run)
        return json.dumps({"run": run, "place": place, "account": self.account, "leader": self.leader})

    @classmethod
    def from_json(cls, text: str) -> LeaderProcess:
        document = json.loads(text)
        run = Path(document["run"])
        return cls(run, Place.from_json(document["place"], run), document["account"], document["leader"])


class LeaderProcesses(Closable):
    """Runs one leader process at a time; `close`, from any thread, ends the one that is running."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._closed = False
        self._running: subprocess.Popen[str] | None = None

    def run(self, spec: LeaderProcess) -> None:
        """Runs a leader process until it is done, or `close` ends it.

        Raises RunError with the process's reason when the request was not carried out.
        """
        with self._turn:
            if self._closed:
                return
            self._running = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        with self._running as process:
            reason = _output(process, spec)
        with self._turn:
            self._running = None
            if process.returncode and not self._closed:
                raise RunError(reason or f"the leader process ended with exit status {process.returncode}.")

    def close(self) -> None:
        """Kills the running process and starts no other."""
        with self._turn:
            self._closed = True
            if self._running is not None:
                self._running.kill()
                self._running.wait()


def _output(process: subprocess.Popen[str], spec: LeaderProcess) -> str:
    """Standard output of the process, which has ended; its input stays open until then."""
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise RunError("the leader process has no standard input or output.")
    with suppress(BrokenPipeError):
        stdin.write(spec.to_json() + "\n")
        stdin.flush()
    return stdout.read().strip()


def _exit_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(STOPPED)


def main() -> int:
    """Returns exit status 0, or 1 after it wrote the reason to standard output."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    spec = LeaderProcess.from_json(sys.stdin.readline())
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        with (
            Nodes(spec.place, Signer(spec.account.to_bytes(32, "big"))) as nodes,
            Federation.open(spec.run, nodes=nodes, secret=spec.leader) as federation,
        ):
            take_up(federation)
    except BlockfulError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
