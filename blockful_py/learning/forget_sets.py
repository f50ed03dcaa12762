# SPDX-License-Identifier: Apache-2.0
"""A user's forget set, the training samples that a request names, and retain set, its other samples."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from blockful_py.errors import UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.learning.data import Samples, UserData


def forget_set(forget: Forget, user: UserData) -> Samples:
    """The user's training samples to forget: (m, ...) of its (n, ...)."""
    return user.train.at(_mask(forget, user))


def retain_set(forget: Forget, user: UserData) -> Samples:
    """The user's training samples to retain: (n - m, ...)."""
    return user.train.at(~_mask(forget, user))


def retained_after(user: UserData, forgets: Iterable[Forget]) -> Samples:
    """The user's training samples that no request names: (m, ...) of its (n, ...), in order."""
    return user.train.at(rows_after(user, forgets))


def rows_after(user: UserData, forgets: Iterable[Forget]) -> Tensor:
    """Rows of the user's training samples that no request names: int64 (m,), ascending."""
    named = torch.zeros_like(user.train.y, dtype=torch.bool)
    for forget in forgets:
        named |= _mask(forget, user)
    return (~named).nonzero().squeeze(1)


def knows(user: UserData, forget: Forget, earlier: Iterable[Forget]) -> bool:
    """Whether the user has training samples to forget that no earlier request names."""
    return bool(_mask(forget, user)[rows_after(user, earlier)].any())


def require_rows(forget: Forget, users: Iterable[UserData]) -> None:
    """Checks that these users have the samples to forget that are named as theirs.

    Raises UnlearningError with the numbers of the others.
    """
    for user in users:
        size = len(user.train)
        beyond = [row for row in forget.rows(user.index) if not 0 <= row < size]
        if beyond:
            rows = ", ".join(map(str, beyond))
            raise UnlearningError(f"user {user.index} has no sample {rows}: its rows are 0 to {size - 1}.")


def scored_after(user: UserData, forgets: Iterable[Forget]) -> Samples:
    """The user's test samples that requests leave: without their classes, and none of a forgotten client.

    Single samples are named among the training samples, so they take no test sample away.
    """
    named = tuple(forgets)
    if any(user.index in forget.clients for forget in named):
        return user.test.only(())
    return user.test.without({label for forget in named for label in forget.classes})


def _mask(forget: Forget, user: UserData) -> Tensor:
    """Mask of the training samples that the request names: (n,), bool."""
    labels = user.train.y
    if forget.level is Level.CLASS:
        return torch.isin(labels, torch.tensor(forget.classes, dtype=labels.dtype, device=labels.device))
    mask = torch.zeros(len(labels), dtype=torch.bool, device=labels.device)
    if user.index in forget.clients:
        mask[:] = True
    mask[list(forget.rows(user.index))] = True
    return mask
