# SPDX-License-Identifier: Apache-2.0
"""Leading a request in a process of its own, so that whoever sent it there can be stopped at any time.

    python -m blockful_py.member.leader_process

gets one line on its standard input, an `Errand` as JSON: secrets are on no command line and in no file.  It
ends when it is done or when its standard input ends, as it does with the process that holds the other side.
A leader may end at any point: what it leaves is taken up by the next one (docs/explanation/committee.md).
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
from blockful_py.closable import Closing
from blockful_py.errors import BlockfulError, RunError
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import take_up
from blockful_py.pipeline.run.nodes import Nodes, Place

STOPPED = 130
"""Exit status of an errand whose sender is gone."""


@dataclass(frozen=True, slots=True)
class Errand:
    """Lead the request that is pending in `run`.

    Attributes:
        place: where the chains are, by URL.
        account: private key that pays on them.
        leader: secret that members know as a voting key or as a leader's.
    """

    run: Path
    place: Place
    account: int = field(repr=False)
    leader: int = field(repr=False)

    def to_json(self) -> str:
        place, run = self.place.to_json(self.run), str(self.run)
        return json.dumps({"run": run, "place": place, "account": self.account, "leader": self.leader})

    @classmethod
    def from_json(cls, text: str) -> Errand:
        given = json.loads(text)
        run = Path(given["run"])
        return cls(run, Place.from_json(given["place"], run), given["account"], given["leader"])


class Errands(Closing):
    """Sends one process at a time; `close`, from any thread, ends the one that is under way."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._closed = False
        self._sent: subprocess.Popen[str] | None = None

    def send(self, errand: Errand) -> None:
        """Waits until the process is done, or `close` ends it.

        Raises RunError with its reason when the request was not carried out.
        """
        with self._turn:
            if self._closed:
                return
            self._sent = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        with self._sent as process:
            said = _told(process, errand)
        with self._turn:
            self._sent = None
            if process.returncode and not self._closed:
                raise RunError(said or f"the process that led a request ended with {process.returncode}.")

    def close(self) -> None:
        """No process begins after this, and none is there when it returns."""
        with self._turn:
            self._closed = True
            if self._sent is not None:
                self._sent.kill()
                self._sent.wait()


def _told(process: subprocess.Popen[str], errand: Errand) -> str:
    """What the process says at its end; its input stays open until then."""
    given, said = process.stdin, process.stdout
    if given is None or said is None:
        raise RunError("the process that is to lead a request has no standard input or output.")
    with suppress(BrokenPipeError):
        given.write(errand.to_json() + "\n")
        given.flush()
    return said.read().strip()


def _end_with_sender() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(STOPPED)


def main() -> int:
    """Exit status 0, or 1 with the reason on standard output."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    errand = Errand.from_json(sys.stdin.readline())
    threading.Thread(target=_end_with_sender, daemon=True).start()
    try:
        with (
            Nodes(errand.place, Signer(errand.account.to_bytes(32, "big"))) as nodes,
            Federation.open(errand.run, nodes=nodes, secret=errand.leader) as federation,
        ):
            take_up(federation)
    except BlockfulError as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
