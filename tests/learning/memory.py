# SPDX-License-Identifier: Apache-2.0
"""Counts the memory of a computation, on every machine alike: of Python's objects, and of torch's tensors."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import finalize

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


@dataclass
class Counted:
    """Most bytes that were held at once."""

    objects: int = 0
    tensors: int = 0

    @property
    def peak(self) -> int:
        return self.objects + self.tensors


class _Storages(TorchDispatchMode):
    """Follows the storages of all tensors that operations return."""

    def __init__(self, counted: Counted) -> None:
        super().__init__()
        self._counted = counted
        self._held = dict[int, int]()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = {each.untyped_storage()._cdata for each in tree_leaves((args, kwargs)) if _is_tensor(each)}
        made = func(*args, **(kwargs or {}))
        for each in tree_leaves(made):
            if _is_tensor(each) and (storage := each.untyped_storage())._cdata not in given:
                key = storage._cdata
                if key not in self._held:
                    self._held[key] = storage.nbytes()
                    finalize(storage, self._held.pop, key, None)
        self._counted.tensors = max(self._counted.tensors, sum(self._held.values()))
        return made


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


@contextmanager
def counting() -> Iterator[Counted]:
    """Counts within the context; tensors that existed before do not count."""
    with _Storages(Counted()):
        torch.ones(1) + 1  # imports what the mode needs
    counted = Counted()
    tracemalloc.start()
    try:
        with _Storages(counted):
            yield counted
        counted.objects = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
