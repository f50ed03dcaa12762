# SPDX-License-Identifier: Apache-2.0
"""Recognises weights that are already on the record under another seal."""

from __future__ import annotations

import hashlib

from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.weights import to_bytes
from blockful_py.types import Bytes32, Uri


class KnownWeights:
    """Digests of the plain weights that a member has read, by sealed file; in memory only."""

    def __init__(self) -> None:
        self._digests: dict[Uri, bytes] = {}

    def digest(self, uri: Uri, weights: SealedWeights) -> Bytes32:
        """SHA-256 of the weights in a sealed file, which is read only once.  Raises as `read`."""
        if uri not in self._digests:
            self._digests[uri] = hashlib.sha256(to_bytes(weights.read(uri))).digest()
        return self._digests[uri]
