# SPDX-License-Identifier: Apache-2.0
"""Audits the outcome of one request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from blockful_py.learning.data import Samples
from blockful_py.learning.weights import Weights
from blockful_py.unlearning.audit.bench import Bench
from blockful_py.unlearning.audit.samples import AuditSamples
from blockful_py.verdicts.figures import Row
from blockful_py.verdicts.outcome import AuditOutcome, row_from_json, row_to_json


def audit(
    bench: Bench, method: str, weights: Mapping[str, Weights], references: Sequence[Row] | None = None
) -> AuditOutcome:
    """Audit what a method made of the affected models.

    Args:
        method: its name and settings, as the outcome is to state them.
        weights: the new weights by model; those left out stand as published.
        references: `bench.references()`, where they were measured before.

    Raises:
        LearningError: weights of another architecture, or not finite.
    """
    row = bench.measure(method, weights)
    known = bench.references() if references is None else tuple(references)
    return AuditOutcome(
        request=str(bench.task.forget),
        starts=bench.task.starts,
        method=method,
        samples=samples_digest(bench.samples),
        seed=bench.task.seed,
        row=_as_stated(row),
        references=tuple(_as_stated(reference) for reference in known),
    )


def samples_digest(samples: AuditSamples) -> str:
    """SHA-256 over inputs and labels of all parts, members by name."""
    parts: list[Samples] = [
        samples.forget_train,
        samples.forget_test,
        samples.retain_train,
        samples.retain_test,
    ]
    parts += [samples.members[name] for name in sorted(samples.members)]
    parts += [] if samples.shown is None else [samples.shown]
    digest = hashlib.sha256()
    for part in parts:
        for tensor in (part.x, part.y):
            digest.update(repr((tuple(tensor.shape), str(tensor.dtype))).encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _as_stated(row: Row) -> Row:
    """With the decimals that the document has, so that a reader's verdict is the same."""
    return row_from_json(row_to_json(row))
