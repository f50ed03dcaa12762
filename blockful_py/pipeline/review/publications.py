# SPDX-License-Identifier: Apache-2.0
"""Reviews a publication before a committee member signs.

Every node is signed by its owner and names the references that the block lists; its weights and stored
increments exist and are usable.  Among machines, the weights come from no undeclared model, and the
references' clean models are the base of its own.
"""

from __future__ import annotations

from blockful_py.committee.proposals import PublicationProposal
from blockful_py.errors import EarlyError, RefusedError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.sums import require_base, require_inherited
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.review.computed import ComputedModels
from blockful_py.pipeline.review.own_weights import OwnWeights
from blockful_py.pipeline.review.proposals import (
    find_keys,
    read_node,
    require_finished,
    require_in_time,
    require_unnamed,
)
from blockful_py.pipeline.review.refusing import refusing, require
from blockful_py.pipeline.review.shared_pools import pool_at_publication
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.review.stored_clean import StoredCleanModels
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.docket import Docket
from blockful_py.record.model_node import ModelNode
from blockful_py.types import Address


class PublicationReviewer:
    """A member's review of proposed publications."""

    def __init__(self, sources: ReviewSources, weights: SealedWeights) -> None:
        self._sources = sources
        self._live = sources.contracts.live
        self._architecture = sources.setup.architecture
        self._weights = weights
        self._own = OwnWeights(sources.setup, sources.known, weights)
        self._stored_clean = StoredCleanModels(sources.setup, weights)
        self._computed = ComputedModels(sources.store)

    def review(self, proposal: PublicationProposal) -> None:
        require_in_time(self._sources, proposal.archive)
        require_finished(self._sources)
        publications = proposal.block.publications
        nodes = [read_node(self._sources, publication.uri) for publication in publications]
        for node in nodes:
            self._require_increments(node)
        sealed = [uri for node in nodes for uri in node.models]
        require_unnamed(self._sources, nodes)
        find_keys(self._sources, sealed)
        weights = self._weights.read_each(sealed)
        catalogue = self._sources.record.catalogue.read()
        for publication, node in zip(publications, nodes, strict=True):
            with refusing(f"model {node.name}"):
                signer = node.signer(self._live.chain_id, self._live.address)
                read = [next(weights) for _ in node.models]
                if self._architecture.is_sums:
                    self._require_added_up(node, read[0], catalogue)
            require(signer == publication.owner, f"model {node.name} is not signed by its owner")
            require(node.redaction is None, f"model {node.name} is published as a redaction")
            require(
                (node.statement.adopted is not None) == self._sources.setup.is_adopted,
                f"model {node.name} is {'not ' * self._sources.setup.is_adopted}adopted, unlike the others",
            )
            self._computed.review(node, read[0], catalogue)
            is_shared = self._architecture.is_shared
            require(
                is_shared or node.shared is None, f"model {node.name} has a part of sums, which it has not"
            )
            if self._sources.docket is not None:
                self._check_registered(node, publication.owner)
                self._check_versions(node, catalogue)
                self._require_not_awaited(node, self._sources.docket)
                self._own.review(node, catalogue)
                self._stored_clean.review(node, catalogue)
            listed = sorted(reference.place() for reference in node.statement.references)
            require(listed == list(publication.references), f"model {node.name} lists other references")

    def _check_registered(self, node: ModelNode, owner: Address) -> None:
        """Checks that the owner is a joined participant and the model is one of its planned models."""
        entry = self._sources.contracts.participants.participant(owner)
        user, names = node.statement.user, self._sources.setup.federation.scenario.names
        require(entry.since > 0, f"the owner of model {node.name} is no participant")
        require(entry.number == user, f"model {node.name} is published for user {user} by {entry.number}")
        require(node.name in names, f"there is no model {node.name} in this federation")
        planned = names.index(node.name) % self._sources.setup.federation.scenario.users + 1
        require(planned == user, f"model {node.name} belongs to user {planned}, not to {user}")

    def _check_versions(self, node: ModelNode, catalogue: Catalogue) -> None:
        """Checks that the model was trained from the current versions of its references."""
        for each in node.statement.references:
            current = catalogue[each.name].version
            if each.version != current:
                raise EarlyError(
                    f"model {node.name} was trained from version {each.version} of {each.name}, which is at "
                    f"version {current}: train it again"
                )

    def _require_not_awaited(self, node: ModelNode, docket: Docket) -> None:
        """Checks that no request is about to replace a reference of the model."""
        references = {each.name for each in node.statement.references}
        for status in docket.admitted():
            if waiting := sorted(references & status.awaited):
                raise EarlyError(
                    f"request {status.number} is about to replace {', '.join(waiting)}, from which model "
                    f"{node.name} was trained: train it once that is done"
                )

    def _require_increments(self, node: ModelNode) -> None:
        """Allows at most one increment for each class, which bounds the files that a node names."""
        labels, classes = [each.label for each in node.increments], self._architecture.class_count
        require(
            len({*labels}) == len(labels) and all(label < classes for label in labels),
            f"model {node.name} names {len(labels)} increments, one for each of {classes} classes is allowed",
        )

    def _require_added_up(self, node: ModelNode, weights: Weights, catalogue: Catalogue) -> None:
        """Requires a model of sums to inherit its references' sums and nothing else; or, of shared sums, that
        this member has opened its head.
        """
        if self._architecture.is_shared:
            part, names = node.statement.shared, tuple(each.name for each in node.statement.in_use)
            if part is None:
                raise RefusedError("its owner dealt no part of its sums")
            head = self._sources.heads.head(pool_at_publication(node.name, names, part, catalogue))
            require(equal(head, weights), "it has another head than this member opened")
            return
        references = [catalogue[each.name].node.weights for each in node.statement.in_use]
        require_inherited(weights, [self._weights.read(uri) for uri in references])
        require_base(weights, initial_weights(self._sources.setup.federation))
