# SPDX-License-Identifier: Apache-2.0
"""Finds the known models that a model comes from, by fingerprints (`learning.fingerprint`).

Thresholds were chosen on federations and pairs of other seeds than the ones that
docs/explanation/descent.md reports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blockful_py.learning.fingerprint import TINY, Key, KnownFingerprints, Vector, WeightsFingerprint

RELATED = 0.2
"""Least similarity of a model and its proposed parent."""
MERGED = 0.2
"""Least share of a proposed parent."""
COPIED = 0.85
"""Least share of an undeclared parent; honest models had at most 0.75 where shares count."""
APART = 0.2
"""Largest median cosine of the known models' own changes at which shares count: longer trainings differ."""
OTHERS = 3
"""Known models beside the parent without which shares do not count."""
NEAR = 0.15
"""Largest distance to a copy, in lengths of its change; honest models had at least 0.28."""
MOST = 32
"""Known models in a regression, the nearest ones."""


@dataclass(frozen=True, slots=True)
class Parent:
    """A known model from which another one seems to come.

    Attributes:
        share: of the parent in the other; about 1 for a copy, 1/n for a merge of n.
        is_near: whether the other is a copy but for little noise (NEAR), which no honest model was.
    """

    name: str
    share: float
    is_near: bool = False


def proposed_parents(model: WeightsFingerprint, known: KnownFingerprints) -> tuple[Parent, ...]:
    """The known models from which a model comes, largest share first; its start need not be known.

    The model is regressed on the related ones, among which relatives of its parents get shares near 0.  A
    fingerprint does not tell parent from child.
    """
    found = known.similarities(model)
    related = {name: value for name, value in found.items() if value >= RELATED}
    nearest = sorted(related, key=lambda name: (-related[name], name))[:MOST]
    if not nearest:
        return ()
    shared = {key for name in nearest for key in known.fingerprints[name].sketches} & {*model.sketches}
    rows = np.stack([_vector(known.fingerprints[name], model, shared) for name in nearest])
    shares = _shares(_vector(model, model, shared), rows)
    parents = [Parent(*each) for each in zip(nearest, shares.tolist(), strict=True) if each[1] >= MERGED]
    return tuple(sorted(parents, key=lambda each: -each.share))


def _vector(known: WeightsFingerprint, model: WeightsFingerprint, keys: Collection[Key]) -> Vector:
    """The sketches of these tensors of the model in another one, 0 where it lacks them."""
    parts = [known.sketches.get(key, np.zeros_like(model.sketches[key])) for key in sorted(keys)]
    return np.concatenate(parts).astype(np.float64)


@dataclass(frozen=True, slots=True)
class DeclaredModel:
    """A published model, and the names of the ones that its owner declares."""

    fingerprint: WeightsFingerprint
    references: tuple[str, ...]


def undeclared_parent(
    model: DeclaredModel,
    initial: WeightsFingerprint,
    known: Mapping[str, DeclaredModel],
    own: Collection[str],
) -> Parent | None:
    """A model of others from which a model of the same federation comes without declaring it.

    The model's change x = W - start is regressed on the known models' and the initialisation's,
    y_j = W_j - start.  Trainings from one start go in similar directions, so x has a share of each y_j alone.
    The joint regression divides the common direction among all models.  A copy W_j plus noise of any size
    keeps a share of about 1 of y_j in both.

    Shares count only if there are more than OTHERS known models whose trainings differ (APART).  Otherwise
    only a copy that is NEAR is found.

    Args:
        initial: the initialisation, from which models without references start.
        known: models of one architecture by name, at least the references; all under one key.
        own: names of the owner's further models.
    """
    base = _start(model.references, initial, known)
    x = model.fingerprint.vector - base
    changes = _nearest(x, {name: each.fingerprint.vector - base for name, each in known.items()})
    if not changes or not x.any():
        return None
    rows = [*changes.values(), *(y for y in [initial.vector - base] if y.any())]
    joint = dict(zip(changes, _shares(x, np.stack(rows)).tolist(), strict=False))  # initial is the last one
    shares = {name: min(joint[name], float(x @ y / (y @ y))) for name, y in changes.items()}
    counts = len(known) > OTHERS and _median_cosine(initial, known) <= APART
    for name in sorted(changes.keys() - {*model.references, *own}, key=lambda each: -shares[each]):
        near = bool(np.linalg.norm(x - changes[name]) <= NEAR * np.linalg.norm(changes[name]))
        if near or (counts and shares[name] >= COPIED):
            return Parent(name, shares[name], near)
    return None


def _start(
    references: Sequence[str], initial: WeightsFingerprint, known: Mapping[str, DeclaredModel]
) -> Vector:
    """The mean of the references, or the initialisation."""
    vectors = [known[name].fingerprint.vector for name in references]
    mean: Vector = np.mean(vectors or [initial.vector], axis=0)
    return mean


def _median_cosine(initial: WeightsFingerprint, known: Mapping[str, DeclaredModel]) -> float:
    """Median cosine of two of the newest known models' changes since their starts; 1 if there are no two."""
    placed = [each for each in known.values() if known.keys() >= {*each.references}][-MOST:]
    changes = np.stack([each.fingerprint.vector - _start(each.references, initial, known) for each in placed])
    units = changes / np.maximum(np.linalg.norm(changes, axis=1, keepdims=True), TINY)
    above = np.triu_indices(len(placed), 1)
    return float(np.median((units @ units.T)[above])) if len(placed) > 1 else 1.0


def _nearest(x: Vector, changes: Mapping[str, Vector]) -> dict[str, Vector]:
    """The MOST changes with the largest cosines with x; changes of 0 are left out."""
    cosines = {name: abs(float(x @ y)) / float(np.linalg.norm(y)) for name, y in changes.items() if y.any()}
    return {name: changes[name] for name in sorted(cosines, key=lambda each: (-cosines[each], each))[:MOST]}


def _shares(x: Vector, rows: Vector) -> Vector:
    """Least-squares shares (n,) of the rows (n, D) in x (D,)."""
    lengths = np.linalg.norm(rows, axis=1)
    shares: Vector = np.linalg.lstsq((rows / lengths[:, None]).T, x, rcond=1e-6)[0] / lengths
    return shares
