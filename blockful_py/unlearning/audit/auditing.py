# SPDX-License-Identifier: Apache-2.0
"""Audits the outcome of one request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from blockful_py.errors import FormatError, UnlearningError
from blockful_py.learning.data import Samples
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.bench import Bench
from blockful_py.unlearning.audit.samples import AuditSamples
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import AuditOutcome, row_from_json, row_to_json


def audit(
    bench: Bench, method: str, weights: Mapping[str, Weights], references: Sequence[Row] | None = None
) -> AuditOutcome:
    """Audits the affected models after a method.

    Args:
        method: name and settings of the method, for the outcome.
        weights: new state dicts by model; models without new weights are audited as published.
        references: result of `bench.references()`, if it was computed before.

    Raises:
        LearningError: weights of another architecture, or not finite.
        UnlearningError: the bench was drawn after commitments to other weights.
    """
    row = bench.measure(method, weights)
    known = bench.references() if references is None else tuple(references)
    outcome = AuditOutcome(
        request=str(bench.task.forget),
        starts=bench.task.starts,
        method=method,
        samples=samples_digest(bench.samples),
        seed=bench.task.seed if bench.draw is None else bench.draw.seed,
        row=_as_stated(row),
        references=tuple(_as_stated(reference) for reference in known),
        uneven=bench.uneven,
        draw=bench.draw,
    )
    try:
        outcome.require_draw()
    except FormatError as error:
        raise UnlearningError(f"{error} Draw again, for these weights.") from None
    return outcome


def samples_digest(samples: AuditSamples) -> str:
    """SHA-256, hex, over shapes, dtypes and bytes of inputs and labels of all parts, members by name."""
    parts: list[Samples] = [
        samples.forget_train,
        samples.forget_test,
        samples.retain_train,
        samples.retain_test,
    ]
    parts += [samples.members[name] for name in sorted(samples.members)]
    parts += [part for part in (samples.never_seen,) if part is not None]
    digest = hashlib.sha256()
    for part in parts:
        for tensor in (part.x, part.y):
            digest.update(repr((tuple(tensor.shape), str(tensor.dtype))).encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _as_stated(row: Row) -> Row:
    """The row rounded as in the document, so that readers of the document reach the same verdict."""
    return row_from_json(row_to_json(row))
