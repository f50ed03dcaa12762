# SPDX-License-Identifier: Apache-2.0
"""Development nodes that outlive the command that started them.

<directory>/<chain id>.json   the running node: pid, port, url, chain id, start time
<directory>/<chain id>.log    its output
<directory>/<chain id>/       its chain, which the next start continues
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from blockful_py.chain.devnet import NodeOptions
from blockful_py.chain.processes import HOST, STOP_SECONDS, take_port, wait_for
from blockful_py.errors import NodeError
from blockful_py.whole_file import write_whole

_POLL = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class DevnetState:
    """A persistent node; `started` in seconds of the epoch."""

    chain_id: int
    pid: int
    port: int
    url: str
    started: int
    database: str

    def is_running(self) -> bool:
        """Whether the process is alive and is still the node that we started."""
        return f"--database.dbPath={self.database}" in _command_line(self.pid)


def up(directory: Path, chain_id: int, port: int | None = None) -> DevnetState:
    """Starts the node of a chain in the background, or returns the one that runs already.

    Raises:
        NodeError: the port is taken, the node does not start, or `directory` cannot be written.
        ToolchainError: Node.js or Ganache is missing.
    """
    directory = directory.resolve()
    state = _read(directory / f"{chain_id}.json")
    if state is not None and state.is_running():
        return state
    database, log = directory / str(chain_id), directory / f"{chain_id}.log"
    with take_port(port) as chosen:
        number = chosen.number
        command = NodeOptions(chain_id, number, database=database).command(number, end_with_parent=False)
        try:
            database.mkdir(parents=True, exist_ok=True)
            pid = _start_detached(command, log)
        except OSError as error:
            raise NodeError(
                f"{directory} cannot be used ({error.strerror}): choose another folder."
            ) from error
        url = f"http://{HOST}:{number}"
        state = DevnetState(chain_id, pid, number, url, int(time.time()), str(database))
        try:
            wait_for(number, chain_id, log, lambda: _has_ended(pid)).close()
            _write(directory / f"{chain_id}.json", state)
        except BaseException:
            _end(state)
            raise
        return state


def status(directory: Path) -> tuple[DevnetState, ...]:
    """The nodes that were started from `directory`, by chain id, running or not."""
    states = (_read(path) for path in sorted(directory.resolve().glob("*.json")))
    return tuple(sorted((each for each in states if each is not None), key=lambda each: each.chain_id))


def down(directory: Path) -> tuple[DevnetState, ...]:
    """Ends the nodes of `directory` and returns those that ran; their chains are kept.

    A process that is no longer the node that we started is left alone.
    """
    ended = tuple(state for state in status(directory) if _end(state))
    for state in status(directory):
        (directory.resolve() / f"{state.chain_id}.json").unlink(missing_ok=True)
    return ended


def _start_detached(command: list[str], log: Path) -> int:
    """Starts a detached process, and returns its id."""
    script = '"$@" </dev/null >"$0" 2>&1 & echo $!'
    done = subprocess.run(
        ["/bin/sh", "-c", script, str(log), *command],
        check=True,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "NODE_NO_WARNINGS": "1"},
    )
    return int(done.stdout)


def _end(state: DevnetState) -> bool:
    if not state.is_running():
        return False
    os.kill(state.pid, signal.SIGTERM)
    if not _wait(lambda: not state.is_running(), STOP_SECONDS):
        os.kill(state.pid, signal.SIGKILL)
        _wait(lambda: not state.is_running(), STOP_SECONDS)
    return True


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(_POLL)
    return True


def _has_ended(pid: int) -> bool:
    """Whether no process has this id, or only a zombie has it.

    The command line does not tell, since it is empty for a moment while a process starts its program.
    """
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] == "Z"


def _command_line(pid: int) -> str:
    """Arguments of a running process, empty when there is none of this id."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        if Path("/proc/self").exists():
            return ""
    done = subprocess.run(  # systems without /proc
        ["/bin/ps", "-ww", "-p", str(pid), "-o", "args="], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def _read(path: Path) -> DevnetState | None:
    try:
        return DevnetState(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise NodeError(f"{path} is not the state of a development node ({error}): remove it.") from error


def _write(path: Path, state: DevnetState) -> None:
    write_whole(path, json.dumps(asdict(state), indent=2) + "\n", NodeError)
