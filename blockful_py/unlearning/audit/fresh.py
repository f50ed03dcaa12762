# SPDX-License-Identifier: Apache-2.0
"""Runs a method in a process that knows its task, and nothing of earlier runs.

A server process imports what methods need and then forks once for each run.  It never sees a task: the fork
reads its own.  While the method runs, the fork may open code and a frozen network's weights, which have the
same CID in all worlds, but no other file, and no connection, program or library, and it can write nothing to
a file.  This stops Python code, and native code that saves data.  It
is no prison for code that attacks the interpreter.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, cast

import torch

from blockful_py.errors import LearningError, UnlearningError
from blockful_py.learning.intervals import weights_digest
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.task import UnlearningTask

LENGTH = struct.Struct(">Q")
AT_THE_END = 3
"""Exit status of a fork that found no further task."""
CODE = (".py", ".pyc", ".so", "entry_points.txt")
"""Endings of the files that may be read."""
REFUSED = (
    "ctypes.", "mmap.", "os.exec", "os.fork", "os.link", "os.mkdir", "os.posix_spawn", "os.remove",
    "os.rename", "os.spawn", "os.symlink", "os.system", "os.truncate", "shutil.", "socket.", "subprocess.",
)  # fmt: skip
"""Beginnings of the audit events that a method may not cause."""


def digests_of(method: Method, task: UnlearningTask) -> dict[str, str] | None:
    """SHA-256, hex, of the models that a method makes in a fresh process; None if training diverges.

    Raises:
        UnlearningError: the method cannot be sent to another process, or ends in an error there.
    """
    try:
        weights = dict(task.architecture.options).get("weights") if task.architecture.is_sums else None
        sent = json.dumps(weights).encode() + b"\n" + pickle.dumps((method, task, torch.get_num_threads()))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UnlearningError(
            f"this method cannot be sent to another process: {error}. Define its class in a module that can "
            "be imported, and keep in it what pickle takes."
        ) from None
    server = _server()
    to, back = cast("IO[bytes]", server.stdin), cast("IO[bytes]", server.stdout)
    with suppress(BrokenPipeError):  # the answer is then missing, too
        to.write(LENGTH.pack(len(sent)) + sent)
        to.flush()
    header = back.read(LENGTH.size)
    if len(header) < LENGTH.size:
        _server.cache_clear()
        raise UnlearningError("the process that runs the method has ended: look at what it wrote above.")
    answer = json.loads(back.read(LENGTH.unpack(header)[0]))
    if "error" in answer:
        raise UnlearningError(f"the method failed in a fresh process: {answer['error']}")
    return cast("dict[str, str] | None", answer["digests"])


@cache
def _server() -> subprocess.Popen[bytes]:
    """The server of this process; it ends when its input does."""
    path = os.pathsep.join(each or str(Path.cwd()) for each in sys.path)
    server = subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[bytes]) -> None:
    with suppress(BrokenPipeError):
        cast("IO[bytes]", server.stdin).close()
    server.wait()


def serve() -> None:
    """Forks for each task on standard input, until it ends."""
    torch.optim.SGD([torch.zeros(1)])  # the first optimiser imports what may want a folder for its files
    tempfile.gettempdir()  # tries a folder by writing to it, once
    while True:
        select.select([0], [], [])
        child = os.fork()
        if not child:
            os._exit(_answer())
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            return


def _answer() -> int:
    """Runs the task on standard input, and writes the answer to standard output."""
    header = _read(LENGTH.size)
    if len(header) < LENGTH.size:
        return AT_THE_END
    sent = _read(LENGTH.unpack(header)[0])
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    weights, _, pickled = sent.partition(b"\n")
    sys.addaudithook(partial(_refuse, json.loads(weights)))
    try:
        method, task, threads = pickle.load(BytesIO(pickled))  # noqa: S301 - from the parent
        torch.set_num_threads(threads)
        answer: dict[str, Any] = {"digests": _digests(method.unlearn(task).weights)}
    except LearningError:
        answer = {"digests": None}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    told = json.dumps(answer).encode()
    left = memoryview(LENGTH.pack(len(told)) + told)
    while left:
        left = left[os.write(out, left) :]
    return 0


def _digests(weights: Mapping[str, Weights]) -> dict[str, str]:
    return {name: weights_digest(weights[name]) for name in weights}


def _read(count: int) -> bytes:
    """Reads from standard input without a buffer, which the next fork would inherit."""
    parts = []
    while count and (part := os.read(0, min(count, 1 << 20))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _refuse(readable: str | None, event: str, values: tuple[Any, ...]) -> None:
    """An audit hook: raises PermissionError where a method reaches out of its process.

    Args:
        readable: path of the one file that may be read besides code.
    """
    if event == "open":
        path, mode, flags = values
        writes = bool(set(str(mode or "r")) & set("wax+")) or bool((flags or 0) & (os.O_WRONLY | os.O_RDWR))
        named = "" if isinstance(path, int) else str(os.fsdecode(path))
        if not writes and (isinstance(path, int) or named.endswith(CODE) or named == readable):
            return
        raise PermissionError(f"a method may read code alone while its exactness is tested, not {path!r}.")
    if event.startswith(REFUSED):
        raise PermissionError(f"a method may not use {event} while its exactness is tested.")
