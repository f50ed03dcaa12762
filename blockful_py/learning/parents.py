# SPDX-License-Identifier: Apache-2.0
"""Finds the known models that a model comes from, by fingerprints (`learning.fingerprint`).

Thresholds were chosen on federations and pairs of other seeds than the ones that
docs/explanation/descent.md reports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blockful_py.learning.fingerprint import Fingerprint, Key, KnownFingerprints, Vector

RELATED = 0.2
"""Least similarity of a model and its proposed parent."""
COPIED = 0.85
"""Least share of an undeclared parent in a copy; honest models of others had at most 0.75."""
OTHERS = 3
"""Number of further known models without which shares say nothing: honest roots reach 1."""
NEAR = 0.15
"""Largest distance to a copied or merged model, in lengths of the change; honest models had at least 0.23."""
MERGED = 0.2
"""Least share of an undeclared parent in a merge."""
MOST = 32
"""Known models in a regression, the nearest ones."""


@dataclass(frozen=True, slots=True)
class Parent:
    """A known model from which another one seems to come.

    Attributes:
        share: of the parent in the other; about 1 for a copy, 1/n for a merge of n.
    """

    name: str
    share: float


def proposed_parents(model: Fingerprint, known: KnownFingerprints) -> tuple[Parent, ...]:
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


def _vector(known: Fingerprint, model: Fingerprint, keys: Collection[Key]) -> Vector:
    """The sketches of these tensors of the model in another one, 0 where it lacks them."""
    parts = [known.sketches.get(key, np.zeros_like(model.sketches[key])) for key in sorted(keys)]
    return np.concatenate(parts).astype(np.float64)


def undeclared_parent(
    model: Fingerprint,
    start: Sequence[Fingerprint],
    initial: Fingerprint,
    known: Mapping[str, Fingerprint],
    declared: Collection[str],
) -> Parent | None:
    """A known model from which a model of the same federation comes without declaring it.

    The model's change x = W - start is regressed on those of the known models and of the initialisation,
    y_j = W_j - start.  Trainings from one start go in similar directions, so x has a share of each y_j alone;
    in the joint regression the models share what is common.  A copy W_j plus noise keeps a share of about 1
    of y_j in both, whatever the noise.

    Args:
        start: the models whose mean the training started from: the references, or the initialisation.
        known: fingerprints of published models.
        declared: names of known models that may be parents.

    All fingerprints are of one architecture, under one key.
    """
    base = np.mean([each.vector for each in start], axis=0)
    x = model.vector - base
    changes = _nearest(x, {name: each.vector - base for name, each in known.items()})
    rows = [*changes.values(), *(y for y in [initial.vector - base] if y.any())]
    if not changes or not x.any():
        return None
    shares = _shares(x, np.stack(rows))
    rest = float(np.linalg.norm(x - shares @ np.stack(rows)) / np.linalg.norm(x))
    by_name = dict(zip(changes, shares.tolist(), strict=False))  # the initialisation's comes last
    for name, share in sorted(by_name.items(), key=lambda each: -each[1]):
        y = changes[name]
        least = float(min(share, x @ y / (y @ y)))
        near = float(np.linalg.norm(x - y)) <= NEAR * float(np.linalg.norm(y))
        copied = len(known) > OTHERS and least >= COPIED
        merged = rest <= NEAR and share >= MERGED
        if name not in declared and (near or copied or merged):
            return Parent(name, share)
    return None


def _nearest(x: Vector, changes: Mapping[str, Vector]) -> dict[str, Vector]:
    """The MOST changes with the largest cosines with x; changes of 0 are left out."""
    cosines = {name: abs(float(x @ y)) / float(np.linalg.norm(y)) for name, y in changes.items() if y.any()}
    return {name: changes[name] for name in sorted(cosines, key=lambda each: (-cosines[each], each))[:MOST]}


def _shares(x: Vector, rows: Vector) -> Vector:
    """Least-squares shares (n,) of the rows (n, D) in x (D,)."""
    lengths = np.linalg.norm(rows, axis=1)
    shares: Vector = np.linalg.lstsq((rows / lengths[:, None]).T, x, rcond=1e-6)[0] / lengths
    return shares
