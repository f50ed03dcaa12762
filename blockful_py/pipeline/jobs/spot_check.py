# SPDX-License-Identifier: Apache-2.0
"""An owner's side of a spot check: commits to a training, then discloses the drawn intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from blockful_py.chain.participant_registry import HandIn
from blockful_py.crypto.spot_check import challenged, commitment, salts
from blockful_py.errors import ContractError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.disclosure import disclosed_training, leaves_of
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.intervals import Recorder
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.redaction import Disclosed
from blockful_py.pipeline.review.spot_checks import CHECKED_METHODS, Commitments, is_checkable
from blockful_py.pipeline.review.statements import training_of
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.fields import spelt
from blockful_py.record.model_node import Request
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.statement_parts import SpotCheck
from blockful_py.record.training_trace import FORMAT, Trace, schedule_seed
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm
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
        self,
        context: FederationContext,
        catalogue: Catalogue,
        name: str,
        request: Request,
        samples: str,
        share: float,
    ) -> None:
        """Prepares the training.

        `samples`: the owner's commitment to its samples in the current statement.  `share`: share of the
        intervals that it discloses.
        """
        self._context = context
        self._catalogue = catalogue
        self._name = name
        self._samples = samples
        self._share = share
        self._user = context.setup.user(catalogue[name].node.statement.user)
        self.seed = schedule_seed(samples, request)
        self.recorder = Recorder()

    @classmethod
    def of(
        cls, context: FederationContext, status: RequestStanding, name: str, method: Method
    ) -> CheckableTraining | None:
        """The checkable training; None if the owner discloses nothing or others could not recompute it."""
        request, catalogue = status.request, status.record
        party, statement, setup = context.run.party, catalogue[name].node.statement, context.setup
        if party is None or not party.discloses or statement.samples is None or setup.federation.trainer:
            return None
        on_cpu = setup.user(statement.user).train.x.device.type == "cpu"
        able = on_cpu and is_checkable(setup, training_of(statement))
        checked = method.name in CHECKED_METHODS and name in status.affected
        if request.paradigm != Paradigm.SEQUENTIAL or not checked or not able:
            return None
        return cls(context, catalogue, name, request, statement.samples, party.discloses)

    def disclose(self, number: int, forgets: Sequence[Forget]) -> Disclosed | None:
        """Commits to the recorded training, which left out `forgets`, and discloses the intervals then drawn.

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
            challenged=math.ceil(self._share * intervals),
            states=tuple(self.recorder.states),
        )
        handed_in = self._commit(number, spelt(trace))
        if handed_in is None:
            return None
        beacon = self._context.contracts.live.node.block_hash(handed_in.block_number)
        drawn = challenged(beacon, handed_in.uri.digest, intervals, trace.challenged)
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
        said = SpotCheck(disclosure=cid_string(sealed.uri), intervals=intervals, challenged=trace.challenged)
        return Disclosed(sealed, said)

    def _commit(self, number: int, trace: bytes) -> HandIn | None:
        """The hand-in of the trace, sent if missing; None if it is too late to send one."""
        participants, uri = self._context.contracts.participants, file_uri(trace)
        commitments = Commitments(participants, self._context.stores.live)
        found = commitments.first(self._catalogue, self._name)
        if found is None:
            try:
                participants.hand_in(number, self._catalogue[self._name].position, uri)
            except ContractError as error:
                if error.name == "RequestClosed":
                    return None
                raise
            participants.node.await_settled()
            found = commitments.first(self._catalogue, self._name)
        if found is None or found.uri != uri:
            raise UnlearningError(
                f"the owner of {self._name} has committed to another training of its next version: take "
                "the data, the share and the code that it had then."
            )
        return found
