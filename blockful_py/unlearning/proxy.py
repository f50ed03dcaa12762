# SPDX-License-Identifier: Apache-2.0
"""The proxy set: labelled samples outside every user's data, without forgotten samples."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.forget_sets import forget_set


def balanced_proxy(pool: Samples, forget: Forget, per_class: int) -> Samples:
    """The first `per_class` samples of each retained class of the pool.

    Returns (classes * per_class, ...) of the pool's (n, ...), class after class.

    Raises UnlearningError: a class has fewer, or no class is retained.
    """
    chosen: list[Tensor] = []
    for label in pool.classes():
        if label in forget.classes:
            continue
        rows = torch.nonzero(pool.y == label).flatten()
        if len(rows) < per_class:
            raise UnlearningError(
                f"the proxy set needs {per_class} samples of each retained class; of class {label} there "
                f"are {len(rows)}: add some, or ask for fewer."
            )
        chosen.append(rows[:per_class])
    if not chosen:
        raise UnlearningError("the proxy set has no retained class: add samples of one.")
    return pool.at(torch.cat(chosen))


def available_proxy(pool: Samples, forget: Forget, per_class: int) -> Samples | None:
    """At most the first `per_class` samples of each retained class, in the pool's order: (m, ...).

    None if the pool has no such sample.
    """
    chosen = torch.zeros(len(pool), dtype=torch.bool)
    for label in pool.without(forget.classes).classes():
        chosen[torch.nonzero(pool.y == label).flatten()[:per_class].cpu()] = True
    return pool.at(chosen) if chosen.any() else None


def require_clean_proxy(proxy: Samples, forget: Forget, users: Iterable[UserData]) -> None:
    """Checks that the proxy set contains no forgotten class and no copy of a forgotten sample's input.

    Raises UnlearningError otherwise.
    """
    labelled = sorted(set(proxy.classes()) & set(forget.classes))
    if labelled:
        raise UnlearningError(
            f"the proxy set holds samples of the forgotten class {', '.join(map(str, labelled))}: "
            "leave them out."
        )
    known = {row for user in users for row in _bytes_of_rows(forget_set(forget, user).x)}
    rows = [i for i, row in enumerate(_bytes_of_rows(proxy.x)) if row in known]
    if rows:
        raise UnlearningError(
            f"the proxy set holds forgotten samples (rows {', '.join(map(str, rows[:10]))}): leave them out."
        )


def _bytes_of_rows(x: Tensor) -> list[bytes]:
    return [row.tobytes() for row in x.detach().cpu().contiguous().numpy()]
