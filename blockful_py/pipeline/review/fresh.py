# SPDX-License-Identifier: Apache-2.0
"""Reviews of a member that serves for long: each with a fresh look at everything."""

from __future__ import annotations

from blockful_py.committee.motions import Motion
from blockful_py.committee.proposals import PublicationProposal, RedactionDraft
from blockful_py.keys.sealing import Keyring
from blockful_py.learning.training_setup import Laboratory
from blockful_py.pipeline.coordination.motions import AgreedMotions
from blockful_py.pipeline.review.content import StoreReviewer
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.catalogue import ArchiveReader, CatalogueReader
from blockful_py.storage.interface import FileStore


class FreshReviewer:
    """A reviewer that keeps nothing from one review to the next; `counter` goes on."""

    def __init__(
        self,
        contracts: Contracts,
        store: FileStore,
        keyring: Keyring,
        laboratory: Laboratory,
        motions: AgreedMotions,
        attested: bool,
    ) -> None:
        self._motions = motions
        self._attested = attested
        self._contracts = contracts
        self._store = store
        self._keyring = keyring
        self._laboratory = laboratory
        self._catalogue = CatalogueReader(contracts.live, store)
        self._archive = ArchiveReader(contracts.archive)
        self.counter = Counter()

    def downloads(self) -> int:
        return self.counter.total.downloads

    def review_publication(self, proposal: PublicationProposal) -> None:
        self._reviewer().review_publication(proposal)

    def review_redaction(self, draft: RedactionDraft) -> None:
        self._reviewer().review_redaction(draft)

    def review_erasure(self, statement: bytes) -> None:
        self._reviewer().review_erasure(statement)

    def review_motion(self, motion: Motion) -> bytes:
        return self._motions.review(motion)

    def _reviewer(self) -> StoreReviewer:
        return StoreReviewer(
            self._contracts.live,
            self._catalogue,
            self._archive,
            self._store,
            self._keyring,
            self._laboratory,
            self.counter,
            self._motions,
            self._attested,
        )
