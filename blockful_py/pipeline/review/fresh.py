# SPDX-License-Identifier: Apache-2.0
"""The reviewer of a member in a process of its own."""

from __future__ import annotations

from blockful_py.committee.motions import Motion
from blockful_py.committee.proposals import PublicationProposal, RedactionDraft
from blockful_py.pipeline.coordination.motions import AgreedMotions
from blockful_py.pipeline.review.content import ContentReviewer
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.run.operations import Counter
from blockful_py.types import Position


class FreshReviewer:
    """A reviewer that keeps no weights between reviews; `counter` counts over all reviews."""

    def __init__(self, sources: ReviewSources, motions: AgreedMotions) -> None:
        self._sources = sources
        self._motions = motions
        self.counter = Counter()

    def downloads(self) -> int:
        """Models fetched so far."""
        return self.counter.total.downloads

    def review_publication(self, proposal: PublicationProposal) -> None:
        self._reviewer().review_publication(proposal)

    def review_redaction(self, draft: RedactionDraft) -> None:
        self._reviewer().review_redaction(draft)

    def review_part(self, request: int, position: Position) -> None:
        """Does as `ContentReviewer.review_part`."""
        self._reviewer().review_part(request, position)

    def review_erasure(self, statement: bytes) -> None:
        self._reviewer().review_erasure(statement)

    def review_motion(self, motion: Motion) -> bytes:
        return self._motions.review(motion)

    def _reviewer(self) -> ContentReviewer:
        return ContentReviewer(self._sources, self._motions, self.counter)
