# SPDX-License-Identifier: Apache-2.0
"""An owner's side of a checked training: commits to it, then has a part of it, or all, computed again."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace

from blockful_py.crypto.spot_check import challenged, commitment, salts
from blockful_py.errors import ContractError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.keys.shown_files import context_of, seal_for
from blockful_py.learning.disclosure import disclosed_training, leaves_of
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.intervals import Recorder
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.redaction import Disclosed
from blockful_py.pipeline.review.clean_references import CleanReferences
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.replays import Replays, ReplayStanding
from blockful_py.pipeline.review.spot_checks import checked_purpose, is_checkable, seed_of
from blockful_py.pipeline.review.statements import training_of
from blockful_py.record.commitments import commitment_to
from blockful_py.record.fields import spelt
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.statement_parts import SignedReplay, SpotCheck
from blockful_py.record.training_trace import FORMAT, Trace
from blockful_py.record.waves import PartHandedIn
from blockful_py.settings import TrainingSettings
from blockful_py.storage.cid import cid_string
from blockful_py.types import Address, Point, Uri

_log = logging.getLogger(__name__)


def samples_commitment(context: FederationContext, user: int) -> str | None:
    """The commitment to its samples in an owner's statements; None if it lets nobody check its trainings."""
    party, setup = context.run.party, context.setup
    if party is None or not (party.discloses or party.auditors) or setup.federation.trainer is not None:
        return None
    samples = setup.user(user).train
    return commitment(leaves_of(samples, salts(context.accounts.secret(user), len(samples)))).hex()


def is_repeatable(setup: TrainingSetup, user: int, training: TrainingSettings) -> bool:
    """Whether others can repeat a training that an owner does here with these settings."""
    return setup.user(user).train.x.device.type == "cpu" and is_checkable(setup, training)


class CheckableTraining:
    """The retraining of one model, of which members may see a share, or a drawn auditor all.

    Attributes:
        seed: draws its batches.
        recorder: trains it.
    """

    def __init__(
        self,
        context: FederationContext,
        status: RequestStanding,
        name: str,
        samples: str,
        share: float,
        has_auditors: bool,
    ) -> None:
        """Prepares the training.

        `samples`: the owner's commitment to its samples in the current statement.  `share`: share of the
        intervals that are computed again, by members unless it has auditors.
        """
        self._context = context
        self._status = status
        self._name = name
        self._samples = samples
        self._share = share
        self._has_auditors = has_auditors
        self._user = context.setup.user(status.record[name].node.statement.user)
        self.seed = seed_of(context.setup, status, name, samples)
        self.recorder = Recorder()

    @classmethod
    def of(cls, context: FederationContext, status: RequestStanding, name: str) -> CheckableTraining | None:
        """The checkable training; None if the owner discloses nothing or others could not recompute it.

        The statement's auditors replay it, unless the owner agrees to none any more.
        """
        party, statement, setup = context.run.party, status.record[name].node.statement, context.setup
        if party is None or statement.samples is None or setup.federation.trainer:
            return None
        has_auditors = bool(statement.auditors and party.auditors)
        share = 1.0 if has_auditors else party.discloses
        if not share:
            return None
        able = is_repeatable(setup, statement.user, training_of(statement))
        if checked_purpose(status.request) is None or not able:
            return None
        return cls(context, status, name, statement.samples, share, has_auditors)

    def disclose(self, references: CleanReferences, forgets: Sequence[Forget]) -> Disclosed | None:
        """Commits to the recorded training, and discloses the intervals then drawn.

        It began at the mean of `references`, and left out `forgets`.

        Returns None if no sample was left to train on, after the request's deadline, while auditors may still
        replay it (`replayed`), or once they all have given it up.

        Raises UnlearningError if the owner has committed to another training.
        """
        if self.recorder.job is None:
            return None
        kept, intervals = rows_after(self._user, forgets).tolist(), len(self.recorder.states) - 1
        trace = Trace(
            format=FORMAT,
            samples=self._samples,
            kept=tuple(kept),
            without=references.left_out,
            challenged=math.ceil(self._share * intervals),
            states=tuple(self.recorder.states),
        )
        committed = self._commit(spelt(trace))
        if committed is None:
            return None
        if self._has_auditors:
            replay = self._signed(committed, trace)
            return None if replay is None else self._disclosed(trace, replay.disputed, references, replay)
        beacon = self._context.contracts.live.node.block_hash(committed.block_number)
        drawn = challenged(beacon, committed.uri.digest, intervals, trace.challenged)
        return self._disclosed(trace, drawn, references)

    def _disclosed(
        self,
        trace: Trace,
        intervals: Sequence[int],
        references: CleanReferences,
        replay: SignedReplay | None = None,
    ) -> Disclosed:
        """Seals the disclosure of some intervals to the members."""
        sealed = self._context.keys.seal(self._shown(trace, intervals))
        said = SpotCheck(
            disclosure=cid_string(sealed.uri),
            intervals=trace.intervals,
            challenged=trace.challenged,
            from_initial=references.from_initial,
            replay=replay,
        )
        return Disclosed(sealed, said)

    def _shown(self, trace: Trace, intervals: Sequence[int]) -> Weights:
        samples = self._user.train
        return disclosed_training(
            self._context.setup.architecture,
            self.recorder,
            samples,
            trace.kept,
            salts(self._context.accounts.secret(self._user.index), len(samples)),
            spelt(trace),
            intervals,
        ).tensors()

    @property
    def replayed(self) -> ReplayStanding | None:
        """The state of its replay by auditors; None without any, before the commitment, and in the end."""
        context = self._context
        if not self._has_auditors:
            return None
        status = context.docket[self._status.number]
        if not status.stage.is_open:
            return None
        commitments = Commitments(context.contracts.participants, context.stores.live)
        return Replays(context.contracts).told(context.leader.remote(), commitments, status, self._name)

    @property
    def is_awaited(self) -> bool:
        """Whether the owner waits for an auditor, to whom it has shown the training."""
        standing = self.replayed
        return standing is not None and standing.awaited is not None

    @property
    def is_pending(self) -> bool:
        """Whether an auditor may still find the committed training right."""
        standing = self.replayed
        return standing is not None and standing.is_pending

    def _signed(self, committed: PartHandedIn, trace: Trace) -> SignedReplay | None:
        """The word of an auditor that has replayed the training; else shows it to the next one by turn."""
        standing = self.replayed
        if standing is None:
            return None
        if standing.passed is not None:
            auditor, signed = standing.passed
            disputed = tuple(each for each in standing.disputed if each < trace.intervals)
            return SignedReplay(
                auditor="0x" + auditor.hex(),
                commitment=committed.uri.digest.hex(),
                signature="0x" + signed.signature.hex(),
                disputed=disputed,
            )
        if not standing.is_pending:
            _log.warning("no auditor is left that has replayed the training of %s", self._name)
        elif standing.following is not None:
            key = Replays(self._context.contracts).key(standing.following)
            if key is not None:
                self._show(committed, trace, standing.following, key)
        return None

    def _show(self, committed: PartHandedIn, trace: Trace, auditor: Address, key: Point) -> None:
        """Shows the whole training to one auditor."""
        context, live = self._context, self._context.contracts.live
        place = context_of(live.chain_id, live.address, committed.uri.digest, auditor)
        data = seal_for(key, self._shown(trace, range(trace.intervals)), place)
        uri = context.stores.live.add(data)
        context.hand_out([uri])
        context.stores.live.delete(uri)
        _log.info("%s is shown to the auditor 0x%s", self._name, auditor.hex())
        self._hand_in(uri)

    def _hand_in(self, uri: Uri) -> bool:
        """Hands in a commitment, or a file for an auditor; False after the request's deadline."""
        status, participants = self._status, self._context.contracts.participants
        try:
            participants.hand_in(status.number, status.record[self._name].position, uri)
        except ContractError as error:
            if error.name == "RequestClosed":
                return False
            raise
        participants.node.await_settled()
        return True

    def _commit(self, trace: bytes) -> PartHandedIn | None:
        """The commitment to the trace, sent if missing; None if it is too late to send one."""
        status, participants, uri = self._status, self._context.contracts.participants, commitment_to(trace)
        commitments = Commitments(participants, self._context.stores.live)
        found = commitments.first(status, self._name)
        if found is None:
            if not self._hand_in(uri):
                return None
            found = commitments.first(
                replace(status, handed_in=participants.hand_ins(status.number)), self._name
            )
        if found is None or found.uri != uri:
            raise UnlearningError(
                f"the owner of {self._name} has committed to another training for this request or its next "
                "version: take the data, the share and the code that it had then."
            )
        return found
