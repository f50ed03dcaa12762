# SPDX-License-Identifier: Apache-2.0
"""Base classes for resources that a `with` block closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closable(ABC):
    """A context manager that calls `close` when its block ends, also after an error."""

    @abstractmethod
    def close(self) -> None:
        """Releases the resource; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
