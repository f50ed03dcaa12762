# SPDX-License-Identifier: Apache-2.0
"""Weights that members read to review a proposal."""

from __future__ import annotations

from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import Recent
from blockful_py.pipeline.review.refusing import refusing
from blockful_py.pipeline.run.operations import Counter
from blockful_py.storage.cid import cid_string
from blockful_py.types import Uri


class FetchedWeights:
    """Weights that members fetch for a purpose, counted once per purpose; few are kept in memory."""

    def __init__(self, store: SealedWeights, counter: Counter) -> None:
        self._counter = counter
        self._counted: set[tuple[Uri, bytes]] = set()
        self._read = Recent(store.read)

    def weights(self, uri: Uri, purpose: bytes) -> Weights:
        """The weights of a sealed file.  Raises RefusedError when they are unreadable or unusable."""
        with refusing(f"weights {cid_string(uri)}"):
            weights = self._read(uri)
        if (uri, purpose) not in self._counted:
            self._counted.add((uri, purpose))
            self._counter.downloaded()
        return weights
