# SPDX-License-Identifier: Apache-2.0
"""Functions that engines execute in tests."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from blockful_py.errors import CycleError, LearningError


def joined(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """The inputs in order, and the seeds; records each call in the file `calls` of the settings."""
    with Path(settings["calls"]).open("a") as calls:
        calls.write(f"{settings['name']}\n")
    return b"".join(inputs) + bytes(seeds)


def refuses(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    raise LearningError("not with this rate.")


def goes_round(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    raise CycleError(["a", "b"])


def is_killed_once(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """Kills its process at the first call, and works at the second."""
    scar = Path(settings["scar"])
    if not scar.exists():
        scar.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return b"alive"


def is_killed(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b"never"


def process_id(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    return str(os.getpid()).encode()


def takes_a_while(settings: Mapping[str, Any], inputs: Sequence[bytes], seeds: Sequence[int]) -> bytes:
    """Notes its start, takes the seconds in a file, and returns a value that its arguments determine."""
    with (Path(settings["folder"]) / "calls").open("a") as calls:
        calls.write(f"{seeds}\n")
    time.sleep(float((Path(settings["folder"]) / "seconds").read_text()))
    return hashlib.sha256(b"".join(inputs) + str(seeds).encode()).digest()
