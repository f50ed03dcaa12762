# SPDX-License-Identifier: Apache-2.0
"""Checks a proposal's times against the chains, since its leader's clock may be wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from blockful_py.committee.proposals import ArchiveChunk
from blockful_py.errors import EarlyError

MAX_DRIFT = 15 * 60
"""Seconds by which the contracts accept a time ahead of the chain's (MAX_DRIFT there)."""


def require_timely(archive: Sequence[ArchiveChunk], newest: int) -> None:
    """Checks the archive records' times.

    Raises EarlyError for a time that the contracts would refuse, or that is so old that the decision would
    soon be given up.

    `newest`: time of the chains' newest block, which may be old if blocks come only with transactions; then
    the member's own clock counts.
    """
    latest = max(newest, int(time.time())) + MAX_DRIFT
    for chunk in archive:
        if not newest - MAX_DRIFT <= chunk.timestamp <= latest:
            raise EarlyError(
                f"the proposal's time is {_shown(chunk.timestamp)}, the chains' is {_shown(newest)}: set the "
                "clock of the machine that leads"
            )


def _shown(seconds: int) -> str:
    """A time of any size, even one that no date can represent."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s"
