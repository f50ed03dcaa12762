# SPDX-License-Identifier: Apache-2.0
"""Requires published weights, among machines, to come from no model that their owner did not declare."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

from blockful_py.errors import BlockfulError, RefusedError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.fingerprint import WeightsFingerprint, fingerprint
from blockful_py.learning.parents import DeclaredModel, undeclared_parent
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, digest_of
from blockful_py.pipeline.review.refusing import refusing, require
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode
from blockful_py.types import Bytes32, Uri

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadWeights:
    """SHA-256 and fingerprint of plain weights."""

    digest: Bytes32
    fingerprint: WeightsFingerprint


class KnownWeights:
    """Digests and fingerprints of the weights that a member has read, by sealed file; in memory only.

    The fingerprints' key is the member's own, so that nobody can make weights that they do not show.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._known: dict[Uri, ReadWeights] = {}

    def of(self, uri: Uri, weights: SealedWeights) -> ReadWeights:
        """Of the weights in a sealed file, which is read only once.  Raises as `read`."""
        if uri not in self._known:
            self._known[uri] = self.of_weights(weights.read(uri))
        return self._known[uri]

    def of_weights(self, weights: Weights) -> ReadWeights:
        return ReadWeights(digest_of(weights), fingerprint(weights, self._key))

    def keep(self, uris: set[Uri]) -> None:
        """Forgets all other files, among them replaced versions."""
        self._known = {uri: known for uri, known in self._known.items() if uri in uris}


class OwnWeights:
    """Compares weights with all current models' weights (docs/explanation/descent.md)."""

    def __init__(self, setup: TrainingSetup, known: KnownWeights, weights: SealedWeights) -> None:
        self._setup = setup
        self._known = known
        self._weights = weights

    def review(self, node: ModelNode, catalogue: Catalogue) -> None:
        """Refuses a copy, also with little noise, of a model that is no reference and another user's.

        Logs a warning of other models that have most of an undeclared one's change in them.
        Models of sums are compared for equality alone: sums over similar samples are similar.

        Raises RefusedError.
        """
        if self._setup.architecture.is_shared:
            return  # members opened its head
        self._known.keep({node.weights, *(placed.node.weights for placed in catalogue.models.values())})
        published = self._known.of(node.weights, self._weights)
        references = tuple(each.name for each in node.statement.in_use)
        others = self._others(catalogue, references)
        for name, known in others.items():
            require(published.digest != known.digest, f"model {node.name} has the weights of {name}")
        if not self._setup.architecture.is_sums:
            self._require_declared(node, DeclaredModel(published.fingerprint, references), others, catalogue)

    def _others(self, catalogue: Catalogue, references: Collection[str]) -> dict[str, ReadWeights]:
        """The current models' weights.  Unreadable references are this proposal's fault, others are not."""
        others = {}
        for name, placed in catalogue.models.items():
            with refusing(f"reference {name}") if name in references else suppress(BlockfulError):
                others[name] = self._known.of(placed.node.weights, self._weights)
        return others

    def _require_declared(
        self,
        node: ModelNode,
        published: DeclaredModel,
        others: Mapping[str, ReadWeights],
        catalogue: Catalogue,
    ) -> None:
        initial = self._known.of_weights(initial_weights(self._setup.federation)).fingerprint
        user = node.statement.user
        parent = undeclared_parent(
            published,
            initial,
            {name: _published(catalogue[name].node, known) for name, known in others.items()},
            {name for name in others if catalogue[name].node.statement.user == user},
        )
        if parent is None:
            return
        found = f"model {node.name} comes from {parent.name} (share {parent.share:.2f} of its change), which "
        found += "is not among its references"
        if parent.is_near:
            raise RefusedError(f"{found}: train it from these, or declare {parent.name}")
        _log.warning("it seems that %s; honest models rarely look like that: ask their owners", found)


def _published(node: ModelNode, known: ReadWeights) -> DeclaredModel:
    return DeclaredModel(known.fingerprint, tuple(each.name for each in node.statement.in_use))
