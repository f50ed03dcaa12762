# SPDX-License-Identifier: Apache-2.0
"""Serialises transactions of several processes to one Ganache.

An auto-mining Ganache 7.9 loses a transaction that arrives while it mines one of another account, and the
sender waits forever.  `tests/chain/test_turn.py` shows that turns prevent it.  Other nodes need no turns.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from blockful_py.chain.node import Node


@contextmanager
def turn(node: Node) -> Iterator[None]:
    """Prevents other processes of this user and machine from sending to the same Ganache meanwhile."""
    if not node.is_ganache:
        yield
        return
    path = Path(tempfile.gettempdir()) / f"blockful-{os.getuid()}-{urlsplit(node.url).port}.lock"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
