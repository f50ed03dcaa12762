# SPDX-License-Identifier: Apache-2.0
"""A process that records in a memory, reports it, and waits to be killed before it could answer.

Arguments: path of the memory, owner in hexadecimal, and the kind of record: approval, vote, session or
pledge.
"""

from __future__ import annotations

import sys
from pathlib import Path

from blockful_py.committee.durable import DurableMemory
from blockful_py.committee.memory import Ballot

BALLOT = Ballot(1337, b"\x11" * 20, 4, b"\x22" * 32)
CONTENT = b"\x33" * 32
SESSION = b"\x44" * 32


def main(path: str, owner: str, what: str) -> None:
    memory = DurableMemory(Path(path), bytes.fromhex(owner))
    match what:
        case "approval":
            memory.approve(BALLOT, CONTENT)
        case "vote":
            memory.vote(BALLOT, CONTENT)
        case "session":
            memory.use_session(SESSION)
        case "pledge":
            memory.attest(BALLOT, [(1, 1), (2, 1)], CONTENT)
    sys.stdout.write("recorded\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
