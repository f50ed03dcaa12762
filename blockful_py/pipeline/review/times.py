# SPDX-License-Identifier: Apache-2.0
"""Whether a proposal's time is that of the chain: its leader's clock may be wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from blockful_py.committee.proposals import ArchiveChunk
from blockful_py.errors import EarlyError

MAX_DRIFT = 15 * 60
"""Seconds that the contracts take a time ahead of the chain's (MAX_DRIFT there)."""


def require_timely(archive: Sequence[ArchiveChunk], newest: int) -> None:
    """Raises EarlyError for a time that the contracts would refuse, or that would give up on it early.

    `newest`: time of the chains' newest block, which may be old where blocks come with transactions only;
    the member's own clock counts then.
    """
    latest = max(newest, int(time.time())) + MAX_DRIFT
    for chunk in archive:
        if not newest - MAX_DRIFT <= chunk.timestamp <= latest:
            raise EarlyError(
                f"the proposal's time is {_shown(chunk.timestamp)}, the chains' is {_shown(newest)}: set the "
                "clock of the machine that leads"
            )


def _shown(seconds: int) -> str:
    """A time of any size, as it may be a stranger's."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s"
