# SPDX-License-Identifier: Apache-2.0
"""Runs `blockful` commands in forks of a process that has imported the package, because imports cost seconds.

`python -m tests.walkthroughs.server SOCKET` answers the programs that `client` writes.  Each asks with its
arguments, folder, environment and standard streams; a fork runs the command with them.  The server leads a
process group, and ends it when its standard input closes, as it does when the tests are killed.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import select
import signal
import socket
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from blockful_py.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "chain",
    "chain.embedded",
    "cli",
    "committee",
    "engine",
    "explorer",
    "pipeline",
    "report",
    "storage",
)
LONGEST = 1 << 20
"""Bytes of a question: arguments and environment."""

CLIENT = """#!{python} -IS
import json, os, signal, socket, sys

if os.environ.get("PYTHONPATH") != {root!r}:  # modules of the reader's own: in a process of its own
    os.environ["PYTHONPATH"] += ":" + {root!r}
    os.execv({python!r}, [{python!r}, "-P", "-m", "blockful_py.cli.main", *sys.argv[1:]])
asked = socket.socket(socket.AF_UNIX)
asked.connect({path!r})
question = dict(arguments=sys.argv[1:], folder=os.getcwd(), environment=dict(os.environ))
data = json.dumps(question).encode()
socket.send_fds(asked, [len(data).to_bytes(4, "big")], [0, 1, 2])
asked.sendall(data)
answers = asked.makefile()
process = int(answers.readline())
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.kill(process, number))
sys.exit(int(answers.readline()))
"""


def client(path: str) -> str:
    """A program that has the server at a socket run `blockful`; it ends as the command does."""
    return CLIENT.format(python=sys.executable, path=path, root=str(ROOT))


def serve(path: str) -> None:
    for package in PACKAGES:
        found = import_module(f"blockful_py.{package}")
        for module in pkgutil.iter_modules(found.__path__, found.__name__ + "."):
            import_module(module.name)
    gc.freeze()  # forks that end would look through all that was imported, for a second each
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            asked, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(asked)
            asked.close()
    os.killpg(0, signal.SIGTERM)


def _answer(asked: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(asked, 4, 3)
    data = b""
    while len(data) < int.from_bytes(size, "big"):
        data += asked.recv(LONGEST)
    process = os.fork()
    if process == 0:
        asked.close()
        _run(json.loads(data), streams)
    for each in streams:
        os.close(each)
    asked.sendall(f"{process}\n".encode())
    _, status = os.waitpid(process, 0)
    asked.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _run(question: dict[str, Any], streams: list[int]) -> NoReturn:
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    os.chdir(question["folder"])
    os.environ.clear()
    os.environ.update(question["environment"])
    try:
        main(question["arguments"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
