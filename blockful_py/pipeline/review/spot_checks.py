# SPDX-License-Identifier: Apache-2.0
"""Reviews the spot check of a training: its commitment on the chain and the owner's disclosure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from blockful_py.crypto.spot_check import challenged
from blockful_py.errors import RefusedError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.disclosure import Disclosure
from blockful_py.learning.federation import TRAIN, initial_weights
from blockful_py.learning.intervals import can_be_replayed
from blockful_py.learning.spot_check import RequestedTraining
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, aggregate, equal
from blockful_py.pipeline.review.clean_references import NO_REFERENCES, CleanReferences, handed_in
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.methods import named_method
from blockful_py.pipeline.review.refusing import refusing, require
from blockful_py.pipeline.review.replays import Replays
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.review.statements import training_of
from blockful_py.record.commitments import commitment_to
from blockful_py.record.model_node import ModelNode
from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.shown import checked_by_members, needs_parts
from blockful_py.record.training_trace import clean_seed, parse_trace, schedule_seed
from blockful_py.record.waves import PartHandedIn
from blockful_py.settings import TrainingSettings
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Checked, Uri
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.retraining import RETRAIN
from blockful_py.unlearning.stored_increments import CLEAN

CHECKED_METHODS = {Retrain.name: RETRAIN, RetrainAhead.name: CLEAN, GradientAscent.name: RETRAIN}
"""Methods for networks whose trainings are checked in parts, with the purpose of their streams."""


def checked_purpose(request: Request) -> str | None:
    """The purpose of the streams of a request's trainings; None if they are not checked in parts."""
    if request.is_merged:
        return TRAIN if needs_parts(request) else None
    name, settings = named_method(request.method)
    return CHECKED_METHODS.get(name) if settings.get("start", "retrained") == "retrained" else None


def is_checkable(setup: TrainingSetup, training: TrainingSettings) -> bool:
    """Whether members can repeat a training bit for bit, with the federation's settings."""
    spec = setup.federation
    recipe = replace(training, epochs=spec.training.epochs) == spec.training
    lengths = (spec.training.epochs, spec.training.epochs * spec.root_factor)
    return recipe and training.epochs in lengths and can_be_replayed(setup.architecture, training)


class SpotChecks:
    """Reviews spot checks on a member's own view of the chain."""

    def __init__(self, sources: ReviewSources, weights: SealedWeights) -> None:
        """Reads weights and disclosures with `weights`."""
        self._sources = sources
        self._commitments = Commitments(sources.contracts.participants, sources.store)
        self._replays = Replays(sources.contracts)
        self._setup = sources.setup
        self._weights = weights
        self._store = sources.store
        self._live = sources.contracts.live
        self._passed: set[tuple[int, Uri]] = set()

    def review(
        self, node: ModelNode, result: Weights, request: Request, status: RequestStanding | None
    ) -> None:
        """Checks the spot check of a proposed version with these weights.  Raises RefusedError if it fails.

        `status`: state of the admitted request; None in a laboratory, where nobody commits.

        A committed training must be disclosed: otherwise an owner that dislikes the drawn intervals could
        fall back to a result that is only measured.  Where auditors replay it, the owner may once they gave
        it up, and take the mean of its references at any time.  For a client or samples, a version without a
        checked training must be the mean of its references' new weights.  By waves, the start rests on
        ancestors' clean models, which are checked with it.  Where other models are recomputed from it, a
        start without a checked training is the owner's word.  A merged model's part is trained from the base.
        """
        said = node.spot_check
        committed = self._committed(status, node.name)
        if said is None:
            reason = f"the owner of {node.name} discloses nothing of the training that it committed to"
            require(committed is None or self._may_withhold(node, committed, status), reason)
            self._review_without(node, result, request, status)
            return
        if committed is None or status is None:
            raise RefusedError(f"the owner of {node.name} committed to no training, or to no samples")
        with refusing(f"model {node.name}"):
            training = requested_training(self._setup, status, node.name, committed)
            disclosure = Disclosure.of(self._weights.read_disclosure(parse_cid(said.disclosure)))
            trace = parse_trace(disclosure.trace)
            is_committed = commitment_to(disclosure.trace) == committed.uri
            require(is_committed, "its trace is not the committed one")
            require(
                (said.intervals, said.challenged) == (trace.intervals, trace.challenged),
                f"{trace.challenged} of {trace.intervals} intervals are challenged",
            )
            references = self._references(status, node.name, trace.without)
            require(references.left_out == trace.without, "it leaves out references that have no parts")
            start = f"{'' if references.from_initial else 'not '}checked from the initial weights on"
            require(said.from_initial == references.from_initial, f"its start is {start}")
            claim = training.claimed(self._start(references), result)
            if said.replay is None:
                beacon = self._live.node.block_hash(committed.block_number)
                intervals = challenged(beacon, committed.uri.digest, trace.intervals, trace.challenged)
            else:
                words = self._sources.words(committed.uri.digest)
                self._replays.require_passed(status, node.name, committed, said, words)
                intervals = said.replay.disputed
            self._sources.checks.check(claim, disclosure, trace, intervals)

    def _committed(self, status: RequestStanding | None, name: str) -> PartHandedIn | None:
        """The commitment that counts; None for a request whose trainings nobody checks."""
        if status is None or checked_purpose(status.request) is None:
            return None
        return self._commitments.first(status, name)

    def review_part(self, status: RequestStanding, name: str) -> None:
        """Checks a part by waves, and the clean models of ancestors that it starts from.

        Raises RefusedError if it names no weights, if its owner's commitment was not kept, or if its spot
        check fails.
        """
        placed, part = status.record[name], status.parts[name]
        if (status.number, part) in self._passed:
            return
        if part == placed.uri:
            committed = self._commitments.first(status, name)
            reason = f"the owner of {name} discloses nothing of the training that it committed to"
            require(committed is None, reason)
        else:
            with refusing(f"the part of {name}"):
                node = handed_in(status, placed, self._store, self._live)
                weights = self._weights.read(node.weights)
            self.review(node, weights, status.request, status)
        self._passed.add((status.number, part))

    def _may_withhold(self, node: ModelNode, committed: PartHandedIn, status: RequestStanding | None) -> bool:
        """Whether the owner of a training that auditors replay need not show that it was done."""
        if status is None or not status.record[node.name].node.statement.auditors:
            return False
        if node.redaction is not None and node.redaction.untrained:
            return True
        words = self._sources.words(committed.uri.digest)
        return self._replays.standing(status, node.name, committed, words).is_given_up

    def _review_without(
        self, node: ModelNode, result: Weights, request: Request, status: RequestStanding | None
    ) -> None:
        """Checks a version whose training is not checked.

        The mean of references shows only that data was forgotten which no reference knows any more.
        """
        untrained = node.redaction is not None and node.redaction.untrained
        by_owner = status is not None and checked_by_members(request) is Checked.ATTESTED
        require(
            not untrained or by_owner,
            f"the mean of its references does not show that {node.name} has forgotten {request.forget}",
        )
        if status is not None and untrained:
            with refusing(f"the references of {node.name}"):
                references = self._references(status, node.name, ())
                mean = self._start(references)
            require(
                bool(references.weights) or not status.withdraws,
                f"only the initial weights would be left of {node.name}, which is to be withdrawn",
            )
            require(equal(result, mean), f"{node.name} is not the mean of its references' new weights")
            return
        if by_owner and not self._sources.attested:
            raise RefusedError(
                f"nothing shows what {node.name} has forgotten: its owner lets members check its training, "
                "or takes the mean of its references' new weights"
            )

    def _references(self, status: RequestStanding, name: str, without: Sequence[str]) -> CleanReferences:
        """A model's clean references; ancestors' clean models among them are checked."""
        if status.request.is_merged:
            return NO_REFERENCES
        found = CleanReferences.of(status, name, self._weights, self._store, self._live, True, without)
        for reference in found.weights:
            if reference in status.auxiliary_parts:
                self.review_part(status, reference)
        return found

    def _start(self, references: CleanReferences) -> Weights:
        """The mean of a model's clean references; the initial weights, such as the base, without any."""
        weights = list(references.weights.values())
        return aggregate(weights) if weights else initial_weights(self._setup.federation)


def requested_training(
    setup: TrainingSetup, status: RequestStanding, name: str, committed: PartHandedIn
) -> RequestedTraining:
    """The training that an owner has to do for a request; `committed`: its commitment.

    An ancestor's clean model leaves out all that the affected models must not know.

    Raises RefusedError if others could not repeat it, or the owner committed to no samples.
    """
    statement, request = status.record[name].node.statement, status.request
    purpose, training = checked_purpose(request), training_of(statement)
    if purpose is None:
        raise RefusedError(f"no training by {request.method} is checked in parts")
    require(is_checkable(setup, training), "nobody else could compute its training again")
    if statement.samples is None:
        raise RefusedError(f"the owner of {name} committed to no training, or to no samples")
    return RequestedTraining(
        architecture=setup.architecture,
        training=training,
        user=statement.user,
        round=statement.round,
        samples=statement.samples,
        seed=seed_of(setup, status, name, statement.samples, committed.block_number),
        purpose=purpose,
        forgets=_forgets(status, name, committed.block_number),
    )


def seed_of(
    setup: TrainingSetup, status: RequestStanding, name: str, samples: str, before: float = math.inf
) -> int:
    """The seed that draws the batches of a training for a request, committed to in block `before`.

    A merged model's part keeps the seed of its publication, and with it the bits of a federation that never
    had the data.
    Where a checkable clean model that leaves out the same data was stored at publication, it is that one's:
    the training gives the stored weights again if it starts from the same references.

    `samples`: the owner's commitment to its samples.
    """
    request = status.request
    if request.is_merged:
        return setup.federation.seed
    if status.is_by_waves and len(request.classes) == 1:
        entry = status.record[name].node.increment(request.classes[0])
        if entry is not None and entry.checkable and _forgets(status, name, before) == (request.forget,):
            return clean_seed(samples, entry.label)
    return schedule_seed(samples, request)


def _forgets(status: RequestStanding, name: str, before: float) -> tuple[Forget, ...]:
    """The data that a training leaves out: the request's, then data of answers before a block."""
    names = (name, *status.affected) if name in status.auxiliary else (name,)
    answers = (answer for each in names for answer in status.record[each].answers)
    earlier = (each.request.forget for each in answers if each.block_number < before)
    return tuple(dict.fromkeys((status.request.forget, *earlier)))
