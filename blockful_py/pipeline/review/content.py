# SPDX-License-Identifier: Apache-2.0
"""Reviews a proposal's content before a committee member signs.

A publication: every node is signed by its owner and names the references that the block lists; its weights
and stored increments exist and are usable.  Among machines, the weights come from no undeclared model, and
the references' clean models are the base of its own.

A redaction: the owners of its starts have signed the request; its models descend from the starts, and in the
parallel paradigm none of the descendants is missing; every old version is in the archive; the new weights
equal the member's own computation (for methods that pass changes on), and the claimed accuracies equal its
own measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass

from blockful_py.chain.quorum import AppointedCommitteeContract
from blockful_py.committee.motions import Motion
from blockful_py.committee.proposals import ArchiveChunk, PublicationProposal, RedactionDraft, Target
from blockful_py.errors import (
    BlockfulError,
    EarlyError,
    InvalidSignatureError,
    RefusedError,
)
from blockful_py.keys.sealing import FoundKeys, SealedWeights, is_sealed
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.sums import require_base, require_inherited
from blockful_py.learning.weights import Weights, equal
from blockful_py.on_demand import OnDemand, batches
from blockful_py.pipeline.coordination.motions import OwnMotions
from blockful_py.pipeline.review.claims import agree, measure
from blockful_py.pipeline.review.computed import ComputedModels
from blockful_py.pipeline.review.erasure import review_erasure
from blockful_py.pipeline.review.fetched import FetchedWeights
from blockful_py.pipeline.review.methods import parse_method, require_paradigm, require_review
from blockful_py.pipeline.review.new_statements import NewStatements, Proposed, require_order
from blockful_py.pipeline.review.own_weights import OwnWeights
from blockful_py.pipeline.review.recipients_seen import recipients_seen
from blockful_py.pipeline.review.refusing import refusing, require
from blockful_py.pipeline.review.shared_pools import pool_at_publication
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.review.spot_checks import SpotChecks
from blockful_py.pipeline.review.stored_clean import StoredCleanModels
from blockful_py.pipeline.review.sums import opened_heads, recomputed_sums
from blockful_py.pipeline.review.times import require_timely, review_withdrawal, review_withdrawal_of_adopted
from blockful_py.pipeline.run.clock import newest_time
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.verifying import Chains
from blockful_py.record.docket import Docket
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, Request, parse_node
from blockful_py.record.parts import announced as announced_starts
from blockful_py.record.parts import is_replaced
from blockful_py.record.request_state import RequestStage, RequestStanding
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import Address, ArchiveReason, Paradigm, Position, Uri
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.recompute import is_recomputable, recompute
from blockful_py.unlearning.subtract import Subtract, require_kind
from blockful_py.unlearning.withdraw import require_origin

BEFORE = ("before", "samples", "ad_f_before", "logit_auc_before")
"""Claims about the version before."""
GIVEN_UP_SECONDS = 3600
"""Seconds after which reviews no longer wait for a decision that is only on the archive."""


@dataclass(frozen=True, slots=True)
class ReviewedContent:
    """Key of a passed review of a redaction's weights and claims.

    Attributes:
        draft: digest of the draft, which names the new nodes.
        current: URIs of the current nodes of all affected models; each names its references.
    """

    draft: bytes
    current: frozenset[Uri]


class ContentReviewer:
    """Reviews proposals; counts the models that it fetches, and keeps them for later reviews.

    Members of one process share it, so weights and claims of a passed content are computed only once.  All
    checks that depend on the state of the chains are repeated for each member.
    """

    def __init__(self, sources: ReviewSources, motions: OwnMotions, counter: Counter) -> None:
        self._sources = sources
        self._motions = motions
        self._live = sources.contracts.live
        self._architecture = sources.setup.architecture
        self._weights = SealedWeights(sources.store, sources.keyring, sources.setup.form)
        self._fetched = FetchedWeights(self._weights, counter)
        self._spot_checks = SpotChecks(sources, self._weights)
        self._own = OwnWeights(sources.setup, sources.known, self._weights)
        self._stored_clean = StoredCleanModels(sources.setup, self._weights)
        self._statements = NewStatements(self._live, sources.setup)
        self._computed = ComputedModels(sources.store)
        self._reviewed: set[ReviewedContent] = set()

    def review_publication(self, proposal: PublicationProposal) -> None:
        self._require_timely(proposal.archive)
        self._require_finished()
        publications = proposal.block.publications
        nodes = [self._node(publication.uri) for publication in publications]
        for node in nodes:
            self._require_increments(node)
        sealed = [uri for node in nodes for uri in node.models]
        self._require_unnamed(nodes)
        self._have_keys(sealed)
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

    def _require_timely(self, archive: Sequence[ArchiveChunk]) -> None:
        """Checks the proposal's times if several members lead, since one of their clocks may be wrong."""
        if self._sources.docket is not None:
            contracts = self._sources.contracts
            require_timely(archive, newest_time((self._live.node, contracts.archive.node)))

    def _require_finished(self) -> None:
        """Checks, if several members lead, that the last archived decision is also on the live chain.

        A decision left unfinished for GIVEN_UP_SECONDS does not block the others.
        """
        records = self._sources.record.archive.read() if self._sources.docket is not None else ()
        if not records:
            return
        newest = records[-1]
        models = self._sources.record.catalogue.read().models.values()
        versions = {placed.position: placed.version for placed in models}
        least = newest.record.version + (newest.record.reason is ArchiveReason.SUPERSEDED)
        finished = versions.get(newest.record.position, -1) >= least
        now = newest_time((self._live.node, self._sources.contracts.archive.node))
        over = now > newest.timestamp + GIVEN_UP_SECONDS
        if not (finished or over):
            raise EarlyError("the decision before is on the archive, and not yet on the live chain")

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

    def _require_unnamed(self, nodes: Sequence[ModelNode]) -> None:
        """Checks, among machines, that no other model names the sealed files.

        The key of a file that two models name would be destroyed with the wrong version, or outlive its own.
        """
        if self._sources.docket is None:
            return
        models = self._sources.record.catalogue.read().models
        owners = {uri: name for name, placed in models.items() for uri in placed.node.sealed}
        for node in nodes:
            for uri in node.sealed:
                other = owners.setdefault(uri, node.name)
                require(other == node.name, f"model {node.name} names {cid_string(uri)}, a file of {other}")

    def review_redaction(self, draft: RedactionDraft) -> None:
        proposed = [self._proposed(target) for chunk in draft.chunks for target in chunk.targets]
        request = proposed[0].redaction.request
        require(
            all(each.redaction.request == request for each in proposed),
            "the models of one proposal come from different requests",
        )
        self._require_timely(draft.archive)
        self._require_finished()
        method = self._reviewable(request)
        status = self._status(request)
        catalogue = self._sources.record.catalogue.read() if status is None else status.record
        self._check_request(request, catalogue)
        self._check_archived([each.target for each in proposed])
        names = {each.node.name for each in proposed}
        starts = tuple(start.name for start in request.starts)
        affected = {*starts, *catalogue.graph.descendants(starts)}
        require(
            names <= affected,
            f"{', '.join(sorted(names - affected))} descends from no start, or came after the request",
        )
        self._require_unnamed([each.node for each in proposed])
        for each in proposed:
            self._statements.review(each, catalogue, affected)
        current = [placed.node for name, placed in catalogue.models.items() if name in affected]
        nodes = (*current, *(each.node for each in proposed))
        self._have_keys([node.weights for node in nodes if not node.is_withdrawn])
        withdrawn = [each.node for each in proposed if each.node.is_withdrawn]
        if withdrawn:
            require(len(withdrawn) == len(proposed), "withdrawals need a decision of their own")
            if self._sources.setup.is_adopted:
                review_withdrawal_of_adopted(withdrawn, request, affected, catalogue)
            else:
                review_withdrawal(withdrawn, status)
            return
        require(not self._sources.setup.is_adopted, "adopted models are withdrawn, not given new weights")
        content = ReviewedContent(draft.digest(), frozenset(catalogue[name].uri for name in affected))
        if content in self._reviewed:
            return
        self._check_weights(request, method, proposed, catalogue, affected, status, draft.proposal)
        self._reviewed.add(content)

    def _status(self, request: Request) -> RequestStanding | None:
        """The state of an admitted request; None in a laboratory, which files no requests."""
        docket = self._sources.docket
        if docket is None:
            return None
        status = docket.of(request)
        if status is None:
            raise EarlyError("the request was not filed, or the committee has not admitted it")
        require(
            status.stage in (RequestStage.OPEN, RequestStage.PARTLY, RequestStage.CARRIED_OUT),
            f"request {status.number} is {status.stage}",
        )
        return status

    def _check_weights(
        self,
        request: Request,
        method: Method,
        proposed: Sequence[Proposed],
        catalogue: Catalogue,
        affected: AbstractSet[str],
        status: RequestStanding | None,
        purpose: bytes,
    ) -> None:
        """Checks the claims, and the weights if the method can be recomputed."""
        names = {each.node.name for each in proposed}
        withdrawn = affected - catalogue.with_weights.keys()
        left = affected - {name for name in withdrawn if is_replaced(catalogue[name], request)}
        if request.paradigm == Paradigm.PARALLEL:
            gone = sorted(withdrawn & left)
            require(not gone, f"{', '.join(gone)} is withdrawn and passes no change on")
        if is_recomputable(method, Paradigm(request.paradigm)):
            named = announced_starts(request, catalogue) if status is not None else frozenset[str]()
            starts = [each for each in proposed if each.node.name in named and not each.redaction.untrained]
            others = sorted(
                each.node.name for each in proposed if each.redaction.states_review and each not in starts
            )
            require(not others, f"{', '.join(others)} would be recomputed, and states another review")
            self._recompute(method, request, proposed, catalogue)
            for each in starts:
                announced = self._weights.read(each.node.weights)
                self._spot_checks.review(each.node, announced, request, status)
            return
        if request.paradigm == Paradigm.PARALLEL:
            require(names == left, f"{', '.join(sorted(left - names))} would not be unlearned")
        if status is not None:
            require_order(proposed, status)
        for some in batches(proposed, self._sources.setup.form.size):
            weights = {each.node.name: self._fetched.weights(each.node.weights, purpose) for each in some}
            self._measure(some, weights, request, catalogue)
            for each in some:
                self._spot_checks.review(each.node, weights[each.node.name], request, status)

    def review_part(self, request: int, position: Position) -> None:
        """Checks a part by waves before others build on it.  Raises RefusedError if it fails."""
        if self._sources.docket is not None:
            status = self._sources.docket[request]
            for name in status.parts:
                if status.record[name].position == position:
                    self._spot_checks.review_part(status, name)

    def review_erasure(self, statement: bytes) -> None:
        committee = AppointedCommitteeContract(self._live.node, self._live.quorum())
        chains = Chains(self._live, committee, self._sources.contracts.archive)
        store, keyring = self._sources.store, self._sources.keyring
        listing = recipients_seen(self._sources)
        review_erasure(statement, chains, self._reachable, store, keyring, listing)

    def _reachable(self, request: Request) -> Catalogue:
        """The current models that a request can reach."""
        status = self._status(request)
        return self._sources.record.catalogue.read() if status is None else status.record

    def review_motion(self, motion: Motion) -> bytes:
        return self._motions.review(motion)

    def _have_keys(self, uris: Sequence[Uri]) -> None:
        """Has the keyring fetch all missing keys at once; a key still missing is refused on use."""
        with suppress(BlockfulError):
            self._sources.keyring.find(uris)

    def _check_request(self, request: Request, catalogue: Catalogue) -> None:
        try:
            signers = request.signers(self._live.chain_id, self._live.address)
        except InvalidSignatureError as error:
            raise RefusedError(str(error)) from None
        for start, signer in zip(request.starts, signers, strict=True):
            placed = catalogue.models.get(start.name)
            require(
                placed is not None and placed.position == start.place(),
                f"the request names a start {start.name} at {start.position}, which is not there",
            )
            owner = self._live.transaction(start.place()).owner
            require(signer == owner, f"the request is not signed by the owner of {start.name}")
        owners = {catalogue[start.name].node.statement.user for start in request.starts}
        strangers = sorted(set(request.forget.owners()) - owners)
        require(not strangers, f"user {', '.join(map(str, strangers))} owns no start of the request")

    def _reviewable(self, request: Request) -> Method:
        try:
            method = parse_method(request.method, self._sources.methods)
            require_paradigm(method, Paradigm(request.paradigm))
            require_origin(method, self._sources.setup.is_adopted, request.forget)
            require_kind(method, self._architecture.name)
            sources, paradigm = self._sources, Paradigm(request.paradigm)
            require_review(method, request.forget, paradigm, sources.attested, sources.docket is not None)
        except BlockfulError as error:
            raise RefusedError(str(error)) from None
        return method

    def _check_archived(self, targets: Sequence[Target]) -> None:
        """Requires the published versions in the archive; `Member` checks that the draft adds later ones."""
        archived = {
            (r.record.position, r.record.version, r.record.uri) for r in self._sources.record.archive.read()
        }
        for target in targets:
            require(
                target.version > 1 or (target.position, 0, target.old_uri) in archived,
                f"version 0 of the model at {target.position} is not in the archive",
            )

    def _recompute(
        self, method: Method, request: Request, proposed: Sequence[Proposed], catalogue: Catalogue
    ) -> None:
        """Requires each new weight, bit for bit, to follow from the old ones and the announced starts."""
        starts = tuple(start.name for start in request.starts)
        by_owners = announced_starts(request, catalogue)
        announced = self._announced(by_owners, proposed)
        names = {each.node.name for each in proposed}
        if request.paradigm == Paradigm.PARALLEL:
            missing = [name for name in starts if name in by_owners and name not in announced]
            require(not missing, f"{', '.join(missing)} would not be unlearned")
        digest = request.digest(self._live.chain_id, self._live.address)
        current = OnDemand(
            catalogue.models, lambda name: self._fetched.weights(catalogue[name].node.weights, digest)
        )
        if self._architecture.is_shared:
            with refusing("the heads"):
                nodes = {each.node.name: each.node for each in proposed}
                expected = opened_heads(request, nodes, catalogue, self._sources.heads)
        elif isinstance(method, Subtract):
            with refusing("the sums"):
                expected = recomputed_sums(request, names, catalogue, current, announced)
        else:
            expected = recompute(method, catalogue.trained_from, starts, current, announced)
        left_out = sorted(expected.keys() - names)
        require(not left_out, f"{', '.join(left_out)} would not be unlearned")
        too_small = sorted(names - expected.keys())
        require(not too_small, f"the update of {', '.join(too_small)} is at most epsilon")
        with refusing("the keys of the new weights"):
            keys = self._sources.keyring.find([each.node.weights for each in proposed])
        for some in batches(proposed, self._sources.setup.form.size):
            weights = {each.node.name: expected[each.node.name] for each in some}
            for each in some:
                name = each.node.name
                require(
                    self._is_sealed(each, weights[name], keys),
                    f"the new weights of {name} differ from the result of {method.name}",
                )
            self._measure(some, weights, request, catalogue)

    @staticmethod
    def _is_sealed(proposed: Proposed, weights: Weights, keys: FoundKeys) -> bool:
        uri = proposed.node.weights
        with refusing(f"the new weights of {proposed.node.name}"):
            return is_sealed(uri, weights, keys[uri])

    def _announced(self, starts: AbstractSet[str], proposed: Sequence[Proposed]) -> dict[str, Weights]:
        """The new weights of these starts, which their owners sign and announce (Algorithm 1, line 3).

        They are in the live store, under the CIDs of the proposed nodes.  Owners send announcements to the
        committee, so reading them is no transfer (`Counter`).
        """
        announced = {}
        for each in proposed:
            name = each.node.name
            if name in starts:
                signed = parse_cid(each.node.statement.weights) == each.node.weights
                require(signed, f"the new weights of {name} are not the ones that its owner signed")
                with refusing(f"the new weights of {name}"):
                    announced[name] = self._weights.read(each.node.weights)
        return announced

    def _measure(
        self,
        proposed: Sequence[Proposed],
        weights: Mapping[str, Weights],
        request: Request,
        catalogue: Catalogue,
    ) -> None:
        """Requires true claims, also about the version before.

        Accepts the owner's figures for a former version that can no longer be read.
        """
        left_out = {each.node.name: each.redaction.left_out for each in proposed}
        before, unreadable = {}, set[str]()
        for each in proposed:
            current = catalogue[each.node.name].node
            if not current.is_withdrawn:
                try:
                    before[current.name] = self._weights.read(current.weights)
                except BlockfulError:
                    unreadable.add(current.name)
        measured = measure(self._sources.setup, weights, request.classes, left_out, before)
        for each in proposed:
            name, claimed = each.node.name, each.redaction.claims
            if claimed is not None and name in unreadable:
                said = {each: getattr(claimed, each) for each in BEFORE}
                measured[name] = measured[name].model_copy(update=said)
            require(
                agree(claimed, measured[name]),
                f"model {name} claims {claimed}, held-out data give {measured[name]}",
            )

    def _proposed(self, target: Target) -> Proposed:
        node = self._node(target.uri)
        if node.redaction is None:
            raise RefusedError(f"model {node.name} carries no request")
        return Proposed(target, node, node.redaction)

    def _node(self, uri: Uri) -> ModelNode:
        with refusing("a model node cannot be read"):
            return parse_node(self._sources.store.read(uri, MAX_NODE_BYTES))
