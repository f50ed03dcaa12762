# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a job (`blockful jobs --follow`)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from blockful_py.cli.console import Output

LOOK_SECONDS = 0.5
FAILED = 1


def follow(run: Path, out: Output) -> int:
    """Shows the job until it ends; returns the exit status, 0 if the job is done.

    Raises as `job_events.follow`.
    """
    from blockful_py.explorer import job_events

    state = ""
    for event in job_events.follow(run, lambda: time.sleep(LOOK_SECONDS)):
        out.line(event)
        out.plain(_line(event))
        state = event.get("state", "") if event["event"] == "end" else state
    return 0 if state == "done" else FAILED


def _line(event: dict[str, Any]) -> str:
    if event["event"] == "job":
        return f"job {event['job']}, {event['kind']}, begun at {_time(event['begun'])} UTC"
    if event["event"] == "step":
        return f"{_time(event['at'])}  {event['state']:8} {event['act']:8} {event['subject']}"
    if event["event"] == "progress":
        rate = f", {event['rate']:.2g} a second" if event["rate"] else ""
        left = f", {event['remaining']:.0f} s remain" if event["remaining"] is not None else ""
        return f"          {event['done']} of {event['steps']} steps{rate}{left}"
    if event["event"] == "idle":
        return "          no process executes it: `blockful resume` finishes it, unless a member takes over"
    if event["event"] == "log":
        return f"          | {event['line']}"
    took = "" if event["seconds"] is None else f" after {event['seconds']:.1f} s"
    why = f": {event['outcome']}" if event["outcome"] else ""
    return f"job {event['job']} is {event['state']}{took}{why}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")
