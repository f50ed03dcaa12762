# SPDX-License-Identifier: Apache-2.0
"""Spot checks that a member has done, so that each is done once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from blockful_py.errors import LearningError
from blockful_py.learning.disclosure import Disclosure
from blockful_py.learning.intervals import weights_digest
from blockful_py.learning.spot_check import ClaimedTraining, check_disclosure
from blockful_py.record.training_trace import Trace


class KnownChecks:
    """Outcomes of recomputed intervals, which follow from the inputs alone; in memory only."""

    def __init__(self) -> None:
        self._faults: dict[bytes, str | None] = {}

    def check(
        self, claim: ClaimedTraining, disclosure: Disclosure, trace: Trace, intervals: Sequence[int]
    ) -> None:
        """Does as `check_disclosure`, once for the same inputs."""
        inputs = (
            (claim.user, claim.round, claim.samples, claim.seed, claim.purpose),
            (claim.training, claim.forgets),
            [weights_digest(each) for each in (claim.start, claim.result, disclosure.tensors())],
            tuple(intervals),
        )
        key = sha256(repr(inputs).encode()).digest()
        if key not in self._faults:
            try:
                check_disclosure(claim, disclosure, trace, intervals)
                self._faults[key] = None
            except LearningError as error:
                self._faults[key] = str(error)
        fault = self._faults[key]
        if fault is not None:
            raise LearningError(fault)
