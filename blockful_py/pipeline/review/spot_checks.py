# SPDX-License-Identifier: Apache-2.0
"""Reviews the spot check of a training: its commitment on the chain and the owner's disclosure."""

from __future__ import annotations

from dataclasses import replace

from pydantic import ValidationError

from blockful_py.chain.participant_registry import FiledRequest, HandIn, ParticipantRegistryContract
from blockful_py.errors import RefusedError, StorageError
from blockful_py.forget import Level
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.disclosure import Disclosure
from blockful_py.learning.federation import initial_weights
from blockful_py.learning.intervals import can_be_replayed
from blockful_py.learning.spot_check import ClaimedTraining, check_disclosure
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, aggregate, equal
from blockful_py.ledger.protocols import LiveLedger, Store
from blockful_py.pipeline.review.clean_references import CleanReferences
from blockful_py.pipeline.review.fetched import refusing, require
from blockful_py.pipeline.review.methods import named_method
from blockful_py.pipeline.review.statements import training_of
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, PlacedNode, Request
from blockful_py.record.parts import MAX_REQUEST_BYTES
from blockful_py.record.request_state import RequestStanding, first_commitment
from blockful_py.record.shown import by_waves
from blockful_py.record.training_trace import parse_trace, schedule_seed
from blockful_py.settings import TrainingSettings
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.retraining import RETRAIN
from blockful_py.unlearning.stored_increments import CLEAN

CHECKED_METHODS = {Retrain.name: RETRAIN, RetrainAhead.name: CLEAN}
"""Methods whose trainings are checked in parts, with the purpose of their streams."""


class Commitments:
    """Commitments to trainings, as owners handed them in on the chain."""

    def __init__(self, participants: ParticipantRegistryContract, store: Store) -> None:
        """Reads the chain; `store` has the filed requests."""
        self._participants = participants
        self._store = store

    def first(self, catalogue: Catalogue, name: str) -> HandIn | None:
        """The first commitment to the model's next version (see `first_commitment`)."""
        listed = [
            each
            for filed in self._participants.filed_requests()
            if filed.is_admitted
            for each in self._of(filed, catalogue, name)
        ]
        return first_commitment(catalogue, name, listed)

    def _of(self, filed: FiledRequest, catalogue: Catalogue, name: str) -> list[HandIn]:
        """Hand-ins for a model, unless they are known to be parts."""
        handed_in = self._participants.hand_ins(filed.number)
        listed = [each for each in handed_in if each.position == catalogue[name].position]
        return listed if listed and not self._are_parts(filed, catalogue, name) else []

    def _are_parts(self, filed: FiledRequest, catalogue: Catalogue, name: str) -> bool:
        """Whether hand-ins for a model are parts: of a parallel request, or clean models of an ancestor.

        False for an unreadable request, so that it cannot hide a commitment.
        """
        try:
            data = self._store.read(filed.uri, MAX_REQUEST_BYTES)
            request = Request.model_validate_json(data)
        except (StorageError, ValidationError):
            return False
        starts = [start.name for start in request.starts if start.name in catalogue.models]
        affected = {*starts, *catalogue.graph.descendants(starts)}
        return request.paradigm == Paradigm.PARALLEL or (by_waves(request) and name not in affected)


def is_checkable(setup: TrainingSetup, training: TrainingSettings) -> bool:
    """Whether members can repeat a training bit for bit, with the federation's settings."""
    spec = setup.federation
    recipe = replace(training, epochs=spec.training.epochs) == spec.training
    lengths = (spec.training.epochs, spec.training.epochs * spec.root_factor)
    return recipe and training.epochs in lengths and can_be_replayed(setup.architecture, training)


class SpotChecks:
    """Reviews spot checks on a member's own view of the chain."""

    def __init__(
        self,
        participants: ParticipantRegistryContract,
        store: Store,
        setup: TrainingSetup,
        weights: SealedWeights,
        live: LiveLedger,
        attested: bool,
    ) -> None:
        """Takes the store of filed requests, parts and weights, and the contract of the live chain.

        `attested`: the member also signs results that only owners attest.
        """
        self._commitments = Commitments(participants, store)
        self._node = participants.node
        self._setup = setup
        self._weights = weights
        self._store = store
        self._live = live
        self._attested = attested

    def review(
        self,
        node: ModelNode,
        result: Weights,
        request: Request,
        catalogue: Catalogue,
        status: RequestStanding | None,
    ) -> None:
        """Checks the spot check of a proposed version with these weights.  Raises RefusedError if it fails.

        `status`: state of the admitted request; None in a laboratory, where nobody commits.

        A committed training must be disclosed: otherwise an owner that dislikes the drawn intervals could
        fall back to a result that is only measured.  For a client or samples, a version without a checked
        training must be the mean of its references' new weights.
        """
        placed, said = catalogue[node.name], node.spot_check
        committed = None
        if request.paradigm == Paradigm.SEQUENTIAL:
            committed = self._commitments.first(catalogue, node.name)
        if said is None:
            reason = f"the owner of {node.name} discloses nothing of the training that it committed to"
            require(committed is None, reason)
            self._review_without(node, result, request, status)
            return
        samples, method = placed.node.statement.samples, named_method(request.method)[0]
        require(method in CHECKED_METHODS, f"no training by {method} is checked in parts")
        if committed is None or samples is None or status is None:
            raise RefusedError(f"the owner of {node.name} committed to no training, or to no samples")
        with refusing(f"model {node.name}"):
            training = training_of(placed.node.statement)
            require(is_checkable(self._setup, training), "nobody else could compute its training again")
            disclosure = Disclosure.of(self._weights.read_disclosure(parse_cid(said.disclosure)))
            trace = parse_trace(disclosure.trace)
            require(file_uri(disclosure.trace) == committed.uri, "its trace is not the committed one")
            require(
                (said.intervals, said.challenged) == (trace.intervals, trace.challenged),
                f"{trace.challenged} of {trace.intervals} intervals are challenged",
            )
            claim = self._claim(placed, training, samples, status, result, CHECKED_METHODS[method])
            beacon = self._node.block_hash(committed.block_number)
            check_disclosure(claim, disclosure, trace, committed.uri.digest, beacon)

    def _review_without(
        self, node: ModelNode, result: Weights, request: Request, status: RequestStanding | None
    ) -> None:
        """Checks a version whose training is not checked.

        The mean of references shows only that data was forgotten which no reference knows any more.
        """
        untrained = node.redaction is not None and node.redaction.untrained
        by_owner = status is not None and request.forget.level is not Level.CLASS
        require(
            not untrained or by_owner,
            f"the mean of its references does not show that {node.name} has forgotten {request.forget}",
        )
        if status is not None and untrained:
            with refusing(f"the references of {node.name}"):
                mean = self._start(status, node.name)
            require(equal(result, mean), f"{node.name} is not the mean of its references' new weights")
            return
        if by_owner and not self._attested:
            raise RefusedError(
                f"nothing shows what {node.name} has forgotten: its owner lets members check its training, "
                "or takes the mean of its references' new weights"
            )

    def _start(self, status: RequestStanding, name: str) -> Weights:
        """The mean of a model's clean references; the initial weights without any."""
        references = CleanReferences.of(status, name, self._weights, self._store, self._live, False)
        weights = list(references.weights.values())
        return aggregate(weights) if weights else initial_weights(self._setup.federation)

    def _claim(
        self,
        placed: PlacedNode,
        training: TrainingSettings,
        samples: str,
        status: RequestStanding,
        result: Weights,
        purpose: str,
    ) -> ClaimedTraining:
        statement, request = placed.node.statement, status.request
        earlier = [each.request for each in placed.answers]
        return ClaimedTraining(
            architecture=self._setup.architecture,
            training=training,
            user=statement.user,
            round=statement.round,
            samples=samples,
            seed=schedule_seed(samples, request),
            purpose=purpose,
            forgets=tuple(each.forget for each in (request, *earlier)),
            start=self._start(status, statement.name),
            result=result,
        )
