# SPDX-License-Identifier: Apache-2.0
"""The refusals of reviews."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from blockful_py.errors import BlockfulError, RefusedError, StoreUnreachableError


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turns errors into refusals, except an unreachable store's, which is not the proposal's fault."""
    try:
        yield
    except StoreUnreachableError:
        raise
    except BlockfulError as error:
        raise RefusedError(f"{what}: {error}") from None


def require(holds: bool, reason: str) -> None:
    """Refuses with the reason unless the condition holds.  Raises RefusedError."""
    if not holds:
        raise RefusedError(reason)
