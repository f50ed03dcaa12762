# SPDX-License-Identifier: Apache-2.0
"""In-memory sessions of auditors; they end with the process, by a click, or after SESSION_SECONDS."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from blockful_py.types import Address

SESSION_SECONDS = 1800
MAX_SESSIONS = 1000
"""Maximum number of sessions; a new one then replaces the oldest."""


@dataclass(frozen=True, slots=True)
class Session:
    """An auditor's account (20 bytes), and the time in seconds at which the session ends."""

    auditor: Address
    until: float


class Sessions:
    """Sessions by the digest of their cookie's token; thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._changing = threading.Lock()
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, auditor: Address) -> str:
        """Begins a session; returns the token for the cookie."""
        token = secrets.token_urlsafe(32)
        with self._changing:
            self._sessions[_digest(token)] = Session(auditor, self._clock() + SESSION_SECONDS)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        return token

    def find(self, token: str) -> Session | None:
        """The session of a token, unless it has ended."""
        with self._changing:
            found = self._sessions.get(_digest(token))
            if found is not None and found.until <= self._clock():
                del self._sessions[_digest(token)]
                return None
            return found

    def end(self, token: str) -> None:
        with self._changing:
            self._sessions.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
