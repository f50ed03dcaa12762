# SPDX-License-Identifier: Apache-2.0
"""An owner's side of a spot check: commits to a training, then discloses the drawn intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from blockful_py.crypto.spot_check import challenged, commitment, salts
from blockful_py.errors import ContractError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.disclosure import disclosed_training, leaves_of
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.intervals import Recorder
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.redaction import Disclosed
from blockful_py.pipeline.review.clean_references import CleanReferences
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.spot_checks import CHECKED_METHODS, is_checkable
from blockful_py.pipeline.review.statements import training_of
from blockful_py.record.commitments import commitment_to
from blockful_py.record.fields import spelt
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.statement_parts import SpotCheck
from blockful_py.record.training_trace import FORMAT, Trace, schedule_seed
from blockful_py.record.waves import PartHandedIn
from blockful_py.storage.cid import cid_string
from blockful_py.unlearning.method import Method


def samples_commitment(context: FederationContext, user: int) -> str | None:
    """The commitment to its samples in an owner's statements; None if it discloses no samples."""
    party, setup = context.run.party, context.setup
    if party is None or not party.discloses or setup.federation.trainer is not None:
        return None
    samples = setup.user(user).train
    return commitment(leaves_of(samples, salts(context.accounts.secret(user), len(samples)))).hex()


class CheckableTraining:
    """The retraining of one model, of which members may see a share.

    Attributes:
        seed: draws its batches.
        recorder: trains it.
    """

    def __init__(
        self, context: FederationContext, status: RequestStanding, name: str, samples: str, share: float
    ) -> None:
        """Prepares the training.

        `samples`: the owner's commitment to its samples in the current statement.  `share`: share of the
        intervals that it discloses.
        """
        self._context = context
        self._status = status
        self._name = name
        self._samples = samples
        self._share = share
        self._user = context.setup.user(status.record[name].node.statement.user)
        self.seed = schedule_seed(samples, status.request)
        self.recorder = Recorder()

    @classmethod
    def of(
        cls, context: FederationContext, status: RequestStanding, name: str, method: Method
    ) -> CheckableTraining | None:
        """The checkable training; None if the owner discloses nothing or others could not recompute it."""
        party, statement, setup = context.run.party, status.record[name].node.statement, context.setup
        if party is None or not party.discloses or statement.samples is None or setup.federation.trainer:
            return None
        on_cpu = setup.user(statement.user).train.x.device.type == "cpu"
        able = on_cpu and is_checkable(setup, training_of(statement))
        retrained = status.is_by_waves or not status.is_parallel
        if method.name not in CHECKED_METHODS or not retrained or not able:
            return None
        return cls(context, status, name, statement.samples, party.discloses)

    def disclose(self, references: CleanReferences, forgets: Sequence[Forget]) -> Disclosed | None:
        """Commits to the recorded training, and discloses the intervals then drawn.

        It began at the mean of `references`, and left out `forgets`.

        Returns None if no sample was left to train on, or after the request's deadline.

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
        beacon = self._context.contracts.live.node.block_hash(committed.block_number)
        drawn = challenged(beacon, committed.uri.digest, intervals, trace.challenged)
        disclosure = disclosed_training(
            self._context.setup.architecture,
            self.recorder,
            self._user.train,
            kept,
            salts(self._context.accounts.secret(self._user.index), len(self._user.train)),
            spelt(trace),
            drawn,
        )
        sealed = self._context.keys.seal(disclosure.tensors())
        said = SpotCheck(
            disclosure=cid_string(sealed.uri),
            intervals=intervals,
            challenged=trace.challenged,
            from_initial=references.from_initial,
        )
        return Disclosed(sealed, said)

    def _commit(self, trace: bytes) -> PartHandedIn | None:
        """The commitment to the trace, sent if missing; None if it is too late to send one."""
        status, participants, uri = self._status, self._context.contracts.participants, commitment_to(trace)
        commitments = Commitments(participants, self._context.stores.live)
        found = commitments.first(status, self._name)
        if found is None:
            try:
                participants.hand_in(status.number, status.record[self._name].position, uri)
            except ContractError as error:
                if error.name == "RequestClosed":
                    return None
                raise
            participants.node.await_settled()
            found = commitments.first(
                replace(status, handed_in=participants.hand_ins(status.number)), self._name
            )
        if found is None or found.uri != uri:
            raise UnlearningError(
                f"the owner of {self._name} has committed to another training for this request or its next "
                "version: take the data, the share and the code that it had then."
            )
        return found
