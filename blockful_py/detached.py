# SPDX-License-Identifier: Apache-2.0
"""Processes that outlive the command that started them, identified by a mark on their command line."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

STOP_SECONDS = 10.0
_POLL = 0.05  # seconds


def start_detached(command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> int:
    """Starts a detached process with its output in `log`; returns its id.  Raises OSError."""
    script = '"$@" </dev/null >>"$0" 2>&1 & echo $!'
    done = subprocess.run(
        ["/bin/sh", "-c", script, str(log), *command],
        check=True,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "NODE_NO_WARNINGS": "1", **(environment or {})},
    )
    return int(done.stdout)


def is_running(pid: int, mark: str) -> bool:
    """Whether the process is alive and its command line still has `mark`."""
    return mark in command_line(pid) and not has_ended(pid)


def end(pid: int, mark: str) -> bool:
    """Ends the process if its command line still has `mark`; returns whether it was running."""
    if not is_running(pid, mark):
        return False
    os.kill(pid, signal.SIGTERM)
    if not _wait(lambda: not is_running(pid, mark), STOP_SECONDS):
        os.kill(pid, signal.SIGKILL)
        _wait(lambda: not is_running(pid, mark), STOP_SECONDS)
    return True


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(_POLL)
    return True


def has_ended(pid: int) -> bool:
    """Whether the process has exited; a zombie counts as exited.

    The command line cannot tell: it is empty for a moment while a process starts its program.
    """
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] == "Z"


def command_line(pid: int) -> str:
    """Command line of a running process; empty if no process has this id."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        if Path("/proc/self").exists():
            return ""
    done = subprocess.run(  # systems without /proc
        ["/bin/ps", "-ww", "-p", str(pid), "-o", "args="], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
