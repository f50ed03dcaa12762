# SPDX-License-Identifier: Apache-2.0
"""An owner's side of a spot check: it commits to a training, and opens the intervals that are drawn then."""

from __future__ import annotations

import math
from collections.abc import Sequence

from blockful_py.chain.participant_registry import HandIn
from blockful_py.crypto.spot_check import challenged, commitment, salts
from blockful_py.errors import ContractError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.intervals import Recorder
from blockful_py.learning.opening import leaves_of, open_training
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.redaction import Opened
from blockful_py.pipeline.review.spot_checks import first_commitment, is_openable
from blockful_py.pipeline.review.statements import training_of
from blockful_py.record.model_node import PlacedNode, Request
from blockful_py.record.proofs.fields import spelt
from blockful_py.record.statement_parts import SpotCheck
from blockful_py.record.training_trace import FORMAT, Trace, schedule_seed
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.retrain import Retrain


def samples_commitment(context: FederationContext, user: int) -> str | None:
    """The entry of an owner's statements for its samples; None where it lets nobody see any."""
    party, setup = context.run.party, context.setup
    if party is None or not party.opens or setup.federation.trainer is not None:
        return None
    samples = setup.user(user).train
    return commitment(leaves_of(samples, salts(context.accounts.secret(user), len(samples)))).hex()


class OpenableTraining:
    """The retraining of one model, of which members may see a share.

    Attributes:
        seed: draws its batches.
        recorder: trains it.
    """

    def __init__(
        self, context: FederationContext, placed: PlacedNode, request: Request, samples: str, share: float
    ) -> None:
        """`samples`: the owner's commitment to its samples, by the standing statement.  `share`: of the
        intervals that it opens."""
        self._context = context
        self._placed = placed
        self._request = request
        self._samples = samples
        self._share = share
        self._user = context.setup.user(placed.node.statement.user)
        self.seed = schedule_seed(samples, request)
        self.recorder = Recorder()

    @classmethod
    def of(
        cls, context: FederationContext, placed: PlacedNode, request: Request, method: Method
    ) -> OpenableTraining | None:
        """None where the owner opens nothing, or nobody could compute the training again."""
        party, statement, setup = context.run.party, placed.node.statement, context.setup
        if party is None or not party.opens or statement.samples is None or setup.federation.trainer:
            return None
        on_cpu = setup.user(statement.user).train.x.device.type == "cpu"
        able = on_cpu and is_openable(setup, training_of(statement))
        if request.paradigm != Paradigm.SEQUENTIAL or not isinstance(method, Retrain) or not able:
            return None
        return cls(context, placed, request, statement.samples, party.opens)

    def open(self, number: int, forgets: Sequence[Forget]) -> Opened | None:
        """Commits to the training that was recorded, and opens the intervals that are drawn then.

        Args:
            number: of the filed request.
            forgets: what the training left out.

        None where nothing was trained, as nothing is kept, and after the request's deadline.

        Raises UnlearningError where the owner has committed to another training.
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
        opening = open_training(
            self._context.setup.architecture,
            self.recorder,
            self._user.train,
            kept,
            salts(self._context.accounts.secret(self._user.index), len(self._user.train)),
            spelt(trace),
            drawn,
        )
        sealed = self._context.keys.seal(opening.tensors())
        said = SpotCheck(opening=cid_string(sealed.uri), intervals=intervals, challenged=trace.challenged)
        return Opened(sealed, said)

    def _commit(self, number: int, trace: bytes) -> HandIn | None:
        """The hand-in of the trace, made where there is none; None where it is too late for one."""
        participants, uri = self._context.contracts.participants, file_uri(trace)
        found = first_commitment(participants, self._placed, self._request)
        if found is None:
            try:
                participants.hand_in(number, self._placed.position, uri)
            except ContractError as error:
                if error.name == "RequestClosed":
                    return None
                raise
            participants.node.await_settled()
            found = first_commitment(participants, self._placed, self._request)
        if found is None or found.uri != uri:
            raise UnlearningError(
                f"the owner of {self._placed.node.name} has committed to another training for this request: "
                "take the data and the code that it had then."
            )
        return found
