# SPDX-License-Identifier: Apache-2.0
"""Withdraws adopted models, which are made elsewhere, and so made again elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.types import Paradigm
from blockful_py.unlearning.method import Method, ModelUpdate, Need, Outcome, Review
from blockful_py.unlearning.task import UnlearningTask


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Takes every model that a data set reaches off the record, and makes no new weights.

    A model made again without the data is adopted like any other.
    """

    name: ClassVar[str] = "withdraw"
    paradigms: ClassVar[frozenset[Paradigm]] = frozenset({Paradigm.PARALLEL})
    needs: ClassVar[frozenset[Need]] = frozenset()
    levels: ClassVar[frozenset[Level]] = frozenset({Level.DATASET})
    review: ClassVar[Review] = Review.RECOMPUTED

    def unlearn(self, task: UnlearningTask) -> Outcome:
        """See Method.  Raises UnlearningError: it makes no weights."""
        raise UnlearningError("method 'withdraw' is for adopted models and makes no weights: take another.")

    def steps(self, task: UnlearningTask) -> Iterator[ModelUpdate]:
        """See Method.  Raises as `unlearn`."""
        raise UnlearningError("method 'withdraw' is for adopted models and makes no weights: take another.")


def require_origin(method: Method, adopted: bool, forget: Forget) -> None:
    """Checks that adopted models are withdrawn because of data sets, and no others are.

    Raises UnlearningError.
    """
    by_name = forget.level is Level.DATASET
    if by_name and not adopted:
        raise UnlearningError(
            "only adopted models name data sets (federation.scenario 'adopted'): name classes, clients or "
            "samples."
        )
    if adopted and not (by_name and isinstance(method, Withdraw)):
        raise UnlearningError(
            f"adopted models are made elsewhere, so that a request names data sets and the method "
            f"{Withdraw.name!r}, not {forget} and {method.name!r}."
        )
    if not adopted and isinstance(method, Withdraw):
        raise UnlearningError(f"method {method.name!r} is for adopted models: choose another.")
