# SPDX-License-Identifier: Apache-2.0
"""Remembers files that could not be fetched, to space out further attempts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from blockful_py.errors import BlockNotFoundError, StoreUnreachableError
from blockful_py.types import Uri

FIRST_SECONDS = 1.0
"""Delay before the first retry; each further delay doubles."""
LONGEST_SECONDS = 300.0
"""Maximum delay if machines said that they lack the file."""
LONGEST_ALONE_SECONDS = 8.0
"""Maximum delay if no machine was reached: the network is expected to return."""
MOST_FILES = 4096
"""Maximum number of remembered files; the oldest are dropped."""
_BLOCKS = 8
"""Missing blocks remembered per file; the arrival of one of them allows an immediate retry."""

Failure = BlockNotFoundError | StoreUnreachableError
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Absent:
    """A failed fetch: its reason, some missing blocks, and the time of the next attempt.

    It stores no exception, whose frames would keep the bytes that a machine sent.
    """

    kind: type[Failure]
    reason: str
    missing: tuple[Uri, ...]
    pause: float
    until: float


class AbsentFiles:
    """Remembers failed fetches; thread-safe."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._files: OrderedDict[Uri, _Absent] = OrderedDict()

    def require_due(self, uri: Uri, is_here: Callable[[Uri], bool]) -> None:
        """Repeats the failure of the last fetch until its delay is over or a missing block arrives."""
        absent = self._files.get(uri)
        if absent is None:
            return
        left = absent.until - self._now()
        if left > 0 and not any(is_here(block) for block in absent.missing):
            raise absent.kind(f"{absent.reason} The next attempt is in {left:.0f} s.")

    def note(self, uri: Uri, failure: Failure, missing: tuple[Uri, ...], answered: bool) -> None:
        """Records a failed fetch; `answered` means that a machine said it lacks the file."""
        before = self._files.pop(uri, None)
        longest = LONGEST_SECONDS if answered else LONGEST_ALONE_SECONDS
        pause = min(FIRST_SECONDS if before is None else 2 * before.pause, longest)
        self._files[uri] = _Absent(type(failure), str(failure), missing[:_BLOCKS], pause, self._now() + pause)
        while len(self._files) > MOST_FILES:
            self._files.popitem(last=False)

    def forget(self, uri: Uri) -> None:
        self._files.pop(uri, None)
