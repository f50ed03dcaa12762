# SPDX-License-Identifier: Apache-2.0
"""Development nodes that outlive the command that started them.

<directory>/<chain id>.json   the running node: pid, port, url, chain id, start time
<directory>/<chain id>.port   its port; the next start reuses it, as runs store its URL
<directory>/<chain id>.log    its output
<directory>/<chain id>/       its chain, which the next start continues
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from blockful_py.chain.devnet import NodeOptions
from blockful_py.chain.processes import HOST, Port, take_port, wait_for
from blockful_py.detached import end, has_ended, is_running, start_detached
from blockful_py.errors import NodeError
from blockful_py.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class DevnetState:
    """A persistent node; `started` in seconds since the epoch."""

    chain_id: int
    pid: int
    port: int
    url: str
    started: int
    database: str

    def is_running(self) -> bool:
        """Whether the process is alive and still the node that we started."""
        return is_running(self.pid, self._mark)

    @property
    def _mark(self) -> str:
        return f"--database.dbPath={self.database}"

    def end(self) -> bool:
        """Ends the node; returns whether it was running."""
        return end(self.pid, self._mark)


def up(directory: Path, chain_id: int, port: int | None = None) -> DevnetState:
    """Starts the node of a chain in the background, or returns the running one.

    `port` defaults to the port of the last start, else to a free one.

    Raises NodeError if the port is taken, the node does not start or `directory` is not writable, and
    ToolchainError if Node.js or Ganache is missing.
    """
    directory = directory.resolve()
    state = _read(directory / f"{chain_id}.json")
    if state is not None and state.is_running():
        return state
    database, log = directory / str(chain_id), directory / f"{chain_id}.log"
    with _take_port(directory, chain_id, port) as chosen:
        number = chosen.number
        command = NodeOptions(chain_id, number, database=database).command(number, end_with_parent=False)
        try:
            database.mkdir(parents=True, exist_ok=True)
            pid = start_detached(command, log)
        except OSError as error:
            raise NodeError(
                f"{directory} cannot be used ({error.strerror}): choose another folder."
            ) from error
        url = f"http://{HOST}:{number}"
        state = DevnetState(chain_id, pid, number, url, int(time.time()), str(database))
        try:
            wait_for(number, chain_id, log, lambda: has_ended(pid)).close()
            write_whole(_port_file(directory, chain_id), f"{number}\n", NodeError)
            document = json.dumps(asdict(state), indent=2) + "\n"
            write_whole(directory / f"{chain_id}.json", document, NodeError)
        except BaseException:
            state.end()
            raise
        return state


def status(directory: Path) -> tuple[DevnetState, ...]:
    """Nodes started from `directory`, by chain id, running or not."""
    states = (_read(path) for path in sorted(directory.resolve().glob("*.json")))
    return tuple(sorted((each for each in states if each is not None), key=lambda each: each.chain_id))


def down(directory: Path) -> tuple[DevnetState, ...]:
    """Ends the running nodes of `directory` and returns them; keeps their chains.

    Leaves a process alone if it is no longer the node that we started.
    """
    ended = tuple(state for state in status(directory) if state.end())
    for state in status(directory):
        (directory.resolve() / f"{state.chain_id}.json").unlink(missing_ok=True)
    return ended


def _port_file(directory: Path, chain_id: int) -> Path:
    return directory / f"{chain_id}.port"


def _take_port(directory: Path, chain_id: int, wanted: int | None) -> Port:
    """The wanted port, else the port of the last start, else a free one.

    Raises NodeError if it is taken.
    """
    path = _port_file(directory, chain_id)
    if wanted is not None or not path.exists():
        return take_port(wanted)
    try:
        last = int(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        raise NodeError(f"{path} is not the port of a development node ({error}): remove it.") from None
    try:
        return take_port(last)
    except NodeError:
        raise NodeError(
            f"port {last}, where runs look for chain {chain_id}, is taken by another program: stop it, "
            "or choose another port for new runs."
        ) from None


def _read(path: Path) -> DevnetState | None:
    try:
        return DevnetState(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise NodeError(f"{path} is not the state of a development node ({error}): remove it.") from error
