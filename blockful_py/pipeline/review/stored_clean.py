# SPDX-License-Identifier: Apache-2.0
"""Reviews the clean models that a published model's statement names, among machines."""

from __future__ import annotations

from blockful_py.errors import EarlyError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, aggregate, equal
from blockful_py.pipeline.review.claims import agree, measure
from blockful_py.pipeline.review.refusing import refusing, require
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode
from blockful_py.record.statement_parts import Increment
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Uri
from blockful_py.unlearning.stored_increments import base_of


class StoredCleanModels:
    """Requires the clean models that the federation file asks for, and their bases.

    How an owner trained them from there is its word; the record has their AD_f and AD_r, measured here.
    """

    def __init__(self, setup: TrainingSetup, weights: SealedWeights) -> None:
        self._setup = setup
        self._weights = weights

    def review(self, node: ModelNode, catalogue: Catalogue) -> None:
        """Checks the clean models of a node that is to be published, with references in these versions.

        Raises RefusedError for a class that is not at risk, another base, other accuracies, or the published
        weights themselves; EarlyError if a reference has a clean model and the node names none.
        """
        at_risk = self._setup.increments if self._setup.clean_references else ()
        others = sorted({each.label for each in node.increments} - set(at_risk))
        require(not others, f"model {node.name} names clean models of classes not at risk: {others}")
        for label in at_risk:
            self._review_class(node, label, node.increment(label), catalogue)

    def _review_class(
        self, node: ModelNode, label: int, entry: Increment | None, catalogue: Catalogue
    ) -> None:
        what = f"the clean model of {node.name} for class {label}"
        references = sorted(node.statement.references, key=lambda each: each.place())
        names = [each.name for each in references]
        changed = [name for name in names if name in catalogue.changed]
        stored = {name: catalogue[name].node.increment(label) for name in names}
        clean = {name: parse_cid(each.weights) for name, each in stored.items() if each is not None}
        if entry is None:
            if clean and not changed:
                raise EarlyError(f"{what} is missing, although {', '.join(clean)} has one: train it too")
            return
        require(not changed, f"{what} has no base: requests have changed {', '.join(changed)}")
        with refusing(what):
            start = self._mean([clean.get(name, catalogue[name].node.weights) for name in names])
            published, weights = self._weights.read_each((node.weights, parse_cid(entry.weights)))
        require(
            entry.base == base_of(start, published).hex(),
            f"{what} is not based on the mean of its references' clean models",
        )
        require(not equal(weights, published), f"{what} is the published model itself")
        claims = measure(self._setup, {node.name: weights}, (label,))[node.name]
        require(agree(entry.claims, claims), f"{what} claims {entry.claims}, held-out data give {claims}")

    def _mean(self, uris: list[Uri]) -> Weights:
        """Mean of the references; the shared initialisation for a root."""
        weights = list(self._weights.read_each(uris))
        return aggregate(weights) if weights else initial_weights(self._setup.federation)
