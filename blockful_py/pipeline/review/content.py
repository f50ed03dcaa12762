# SPDX-License-Identifier: Apache-2.0
"""Reviews a proposal's content before a committee member signs.

Publications are reviewed in `publications`.

A redaction: the owners of its starts have signed the request; its models descend from the starts, and in the
parallel paradigm none of the descendants is missing; every old version is in the archive; the new weights
equal the member's own computation (for methods that pass changes on), and the claimed accuracies equal its
own measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from blockful_py.chain.quorum import AppointedCommitteeContract
from blockful_py.committee.motions import Motion
from blockful_py.committee.proposals import PublicationProposal, RedactionDraft, Target
from blockful_py.errors import (
    BlockfulError,
    EarlyError,
    InvalidSignatureError,
    RefusedError,
)
from blockful_py.keys.sealing import FoundKeys, SealedWeights, is_sealed
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import OnDemand, batches
from blockful_py.pipeline.coordination.motions import OwnMotions
from blockful_py.pipeline.review.claims import agree, measure
from blockful_py.pipeline.review.erasure import review_erasure
from blockful_py.pipeline.review.fetched import FetchedWeights
from blockful_py.pipeline.review.methods import parse_method, require_paradigm, require_review
from blockful_py.pipeline.review.new_statements import NewStatements, Proposed, require_order
from blockful_py.pipeline.review.proposals import (
    find_keys,
    read_node,
    require_finished,
    require_in_time,
    require_unnamed,
)
from blockful_py.pipeline.review.publications import PublicationReviewer
from blockful_py.pipeline.review.recipients_seen import recipients_seen
from blockful_py.pipeline.review.refusing import refusing, require
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.review.spot_checks import SpotChecks
from blockful_py.pipeline.review.sums import opened_heads, recomputed_sums
from blockful_py.pipeline.review.times import review_withdrawal, review_withdrawal_of_adopted
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.verifying import Chains
from blockful_py.record.parts import announced as announced_starts
from blockful_py.record.parts import is_replaced
from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStage, RequestStanding
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Paradigm, Position, Uri
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.recompute import is_recomputable, recompute
from blockful_py.unlearning.subtract import Subtract, require_kind
from blockful_py.unlearning.withdraw import require_origin

BEFORE = ("before", "samples", "ad_f_before", "logit_auc_before")
"""Claims about the version before."""


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
        self._publications = PublicationReviewer(sources, self._weights)
        self._statements = NewStatements(self._live, sources.setup)
        self._reviewed: set[ReviewedContent] = set()

    def review_publication(self, proposal: PublicationProposal) -> None:
        self._publications.review(proposal)

    def review_redaction(self, draft: RedactionDraft) -> None:
        proposed = [self._proposed(target) for chunk in draft.chunks for target in chunk.targets]
        request = proposed[0].redaction.request
        require(
            all(each.redaction.request == request for each in proposed),
            "the models of one proposal come from different requests",
        )
        require_in_time(self._sources, draft.archive)
        require_finished(self._sources)
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
        require_unnamed(self._sources, [each.node for each in proposed])
        for each in proposed:
            self._statements.review(each, catalogue, affected)
        current = [placed.node for name, placed in catalogue.models.items() if name in affected]
        nodes = (*current, *(each.node for each in proposed))
        find_keys(self._sources, [node.weights for node in nodes if not node.is_withdrawn])
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
        node = read_node(self._sources, target.uri)
        if node.redaction is None:
            raise RefusedError(f"model {node.name} carries no request")
        return Proposed(target, node, node.redaction)
