# SPDX-License-Identifier: Apache-2.0
"""Files that could not be fetched, so that they are not asked for again at every look."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from blockful_py.errors import BlockNotFoundError, StoreUnreachableError
from blockful_py.types import Uri

FIRST_SECONDS = 1.0
"""Until a file is asked for again, twice as many each time."""
LONGEST_SECONDS = 300.0
"""Where machines said that they do not have it."""
LONGEST_ALONE_SECONDS = 8.0
"""Where no machine was reached: it is the network that is expected back."""
MOST_FILES = 4096
"""Files that are remembered, the latest."""
_BLOCKS = 8
"""Missing blocks of a file that are remembered; when one of them is here, the file is asked for at once."""

Failure = BlockNotFoundError | StoreUnreachableError
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Absent:
    """Why a file could not be fetched, some of what it lacked, and when it is asked for again.

    An error itself would keep what its frames hold: the bytes that a machine sent.
    """

    kind: type[Failure]
    reason: str
    missing: tuple[Uri, ...]
    pause: float
    until: float


class AbsentFiles:
    """Remembers failed fetches; safe for several threads."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._files: OrderedDict[Uri, _Absent] = OrderedDict()

    def require_due(self, uri: Uri, is_here: Callable[[Uri], bool]) -> None:
        """Raises the failure of the last fetch until its time has come, or a block that it lacked is here."""
        absent = self._files.get(uri)
        if absent is None:
            return
        left = absent.until - self._now()
        if left > 0 and not any(is_here(block) for block in absent.missing):
            raise absent.kind(f"{absent.reason} It is asked for again in {left:.0f} s.")

    def note(self, uri: Uri, failure: Failure, missing: tuple[Uri, ...], answered: bool) -> None:
        """Remembers a failed fetch; `answered`: whether any machine said that it does not have the file."""
        before = self._files.pop(uri, None)
        longest = LONGEST_SECONDS if answered else LONGEST_ALONE_SECONDS
        pause = min(FIRST_SECONDS if before is None else 2 * before.pause, longest)
        self._files[uri] = _Absent(type(failure), str(failure), missing[:_BLOCKS], pause, self._now() + pause)
        while len(self._files) > MOST_FILES:
            self._files.popitem(last=False)

    def forget(self, uri: Uri) -> None:
        self._files.pop(uri, None)
