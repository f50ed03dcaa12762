# SPDX-License-Identifier: Apache-2.0
"""Topological order of a graph in CSR form, without recursion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockful_py.errors import CycleError

Indices = NDArray[np.int64]


def transpose(indptr: Indices, indices: Indices) -> tuple[Indices, Indices]:
    """CSR of the reversed edges, each row ascending.  O(V + E)."""
    size = len(indptr) - 1
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(indptr))
    by_column = np.argsort(indices, kind="stable")
    counts = np.bincount(indices, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), rows[by_column]


def topological_order(names: tuple[str, ...], indptr: Indices, indices: Indices) -> Indices:
    """Node numbers, every model after all its references (int64, shape (V,)).

    Keeps the order of `names` if it is topological; otherwise uses Kahn's algorithm (1962), first come first
    served.

    Raises CycleError, which names the models of one cycle in order.
    """
    size = len(indptr) - 1
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(indptr))
    if bool(np.all(indices < rows)):
        return np.arange(size, dtype=np.int64)
    child_ptr, children = (array.tolist() for array in transpose(indptr, indices))
    waiting = np.diff(indptr).tolist()
    order = [node for node in range(size) if waiting[node] == 0]
    for node in order:
        for child in children[child_ptr[node] : child_ptr[node + 1]]:
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    if len(order) < size:
        raise CycleError([names[node] for node in _a_cycle(waiting, indptr, indices)])
    return np.array(order, dtype=np.int64)


def _a_cycle(waiting: list[int], indptr: Indices, indices: Indices) -> list[int]:
    """Follows references among the nodes that Kahn's algorithm could not place until one repeats."""
    node = next(node for node, count in enumerate(waiting) if count)
    seen: dict[int, int] = {}
    path: list[int] = []
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = next(int(j) for j in indices[indptr[node] : indptr[node + 1]] if waiting[j])
    return path[seen[node] :]
