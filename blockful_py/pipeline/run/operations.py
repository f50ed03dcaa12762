# SPDX-License-Identifier: Apache-2.0
"""Counts the operations of the cost model as they happen."""

from __future__ import annotations

from dataclasses import replace

from blockful_py.committee.proposals import RedactionDraft
from blockful_py.costs import Operations


class Counter:
    """Adds up operations; `total` is the count so far.

    Transfers are models sent to or fetched from storage, as the paper counts them: one upload by the maker of
    the new weights, one download by the committee, and the downloads of references that re-aggregation needs.
    Reads that only check an earlier download are not transfers.  Members that fetch the same model at the
    same time count once.
    """

    def __init__(self) -> None:
        self.total = Operations()

    def uploaded(self) -> None:
        self.total = replace(self.total, uploads=self.total.uploads + 1)

    def downloaded(self, models: int = 1) -> None:
        self.total = replace(self.total, downloads=self.total.downloads + models)

    def certified(self, draft: RedactionDraft) -> None:
        """Counts one consensus and its collisions."""
        self.total = replace(
            self.total,
            consensus=self.total.consensus + 1,
            ch_transactions=self.total.ch_transactions + sum(len(chunk.targets) for chunk in draft.chunks),
            ch_blocks=self.total.ch_blocks + sum(len(chunk.headers) for chunk in draft.chunks),
        )
