# SPDX-License-Identifier: Apache-2.0
"""The inheritance graph: the references that each model was aggregated from (section Training Models)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockful_py.errors import CycleError, GraphError, UnknownModelError

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


UNREACHED = -1
"""Depth or wave of an unreached model."""


@dataclass(frozen=True, slots=True)
class Depth:
    """Number of edges from the nearest start to a model, along the shortest and the longest path."""

    shortest: int
    longest: int


class InheritanceGraph:
    """An immutable directed acyclic graph of named models; an edge goes from a reference to its heir.

    References are held in CSR form: model i has `indices[indptr[i]:indptr[i + 1]]`, in the given order.  No
    method recurses; all are O(V + E).
    """

    def __init__(self, names: Sequence[str], indptr: Indices, indices: Indices) -> None:
        """Checks and takes over a graph in CSR form.

        Raises:
            GraphError: a name or a reference occurs twice, or the arrays do not form a CSR graph.
            CycleError: the references form a cycle.
        """
        self.names = tuple(names)
        self.indptr, self.indices = _frozen(indptr), _frozen(indices)
        self._number = {name: i for i, name in enumerate(self.names)}
        self._check_form()
        self.order = _frozen(topological_order(self.names, self.indptr, self.indices))
        self._child_ptr, self._children = transpose(self.indptr, self.indices)

    @classmethod
    def from_references(cls, references: Mapping[str, Iterable[str]]) -> InheritanceGraph:
        """Builds the graph of `{model: its references}`; roots have none.

        Raises:
            UnknownModelError: a reference is not a key of the mapping.
            GraphError, CycleError: see the constructor.
        """
        number = {name: i for i, name in enumerate(references)}
        flat: list[int] = []
        ends = [0]
        for listed in references.values():
            for name in listed:
                if name not in number:
                    raise UnknownModelError(name, list(number))
                flat.append(number[name])
            ends.append(len(flat))
        return cls(tuple(number), np.array(ends, dtype=np.int64), np.array(flat, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._number

    def number(self, name: str) -> int:
        """Row of a model.  Raises UnknownModelError."""
        try:
            return self._number[name]
        except KeyError:
            raise UnknownModelError(name, self.names) from None

    def numbers(self, names: Iterable[str]) -> Indices:
        return np.array([self.number(name) for name in names], dtype=np.int64)

    def references(self, name: str) -> tuple[str, ...]:
        return tuple(self.names[j] for j in self._references_of(self.number(name)))

    def heirs(self, name: str) -> tuple[str, ...]:
        """Models that reference this one."""
        i = self.number(name)
        return tuple(self.names[j] for j in self._children[self._child_ptr[i] : self._child_ptr[i + 1]])

    def topological_order(self) -> tuple[str, ...]:
        """All names, every model after its references."""
        return tuple(self.names[i] for i in self.order)

    def descendants(self, starts: Iterable[str]) -> tuple[str, ...]:
        """Models that inherit from any start, in topological order, without the starts."""
        return self._named(self._reached(self.numbers(starts), self._child_ptr, self._children))

    def ancestors(self, names: Iterable[str]) -> tuple[str, ...]:
        """Models that any of `names` inherits from, in topological order, without `names`."""
        return self._named(self._reached(self.numbers(names), self.indptr, self.indices))

    def depth(self, starts: Iterable[str]) -> dict[str, Depth]:
        """Depth of every start and descendant; a start has depth 0 even below another start."""
        sources = set(self.numbers(starts).tolist())
        ends, references = self.indptr.tolist(), self.indices.tolist()
        shortest, longest = [UNREACHED] * len(self), [UNREACHED] * len(self)
        found: dict[str, Depth] = {}
        shared: dict[tuple[int, int], Depth] = {}  # most models share their depth with another
        for i in self.order.tolist():
            if i in sources:
                least = most = 0
            else:
                above = [j for j in references[ends[i] : ends[i + 1]] if shortest[j] != UNREACHED]
                if not above:
                    continue
                least = 1 + min([shortest[j] for j in above])
                most = 1 + max([longest[j] for j in above])
            shortest[i], longest[i] = least, most
            found[self.names[i]] = shared.get((least, most)) or shared.setdefault(
                (least, most), Depth(least, most)
            )
        return found

    def waves(self, subset: Iterable[str] | None = None) -> tuple[tuple[str, ...], ...]:
        """Groups of models that can be computed together.

        Each model's references inside `subset` (default: all models) lie in earlier groups, and every group
        is as early as possible.
        """
        wanted = set(range(len(self))) if subset is None else set(self.numbers(subset).tolist())
        ends, references = self.indptr.tolist(), self.indices.tolist()
        level = [UNREACHED] * len(self)
        groups: list[list[str]] = []
        for i in self.order.tolist():
            if i not in wanted:
                continue
            level[i] = 1 + max([level[j] for j in references[ends[i] : ends[i + 1]]], default=UNREACHED)
            if level[i] == len(groups):
                groups.append([])
            groups[level[i]].append(self.names[i])
        return tuple(tuple(group) for group in groups)

    def reached(self, starts: Iterable[str]) -> Indices:
        """Rows of the descendants of `starts`, without the starts, in topological order."""
        return self._reached(self.numbers(starts), self._child_ptr, self._children)

    def _references_of(self, i: int) -> list[int]:
        listed: list[int] = self.indices[self.indptr[i] : self.indptr[i + 1]].tolist()
        return listed

    def _reached(self, sources: Indices, indptr: Indices, indices: Indices) -> Indices:
        if len(sources) == 0:
            return np.empty(0, dtype=np.int64)
        # Imported here because it takes longer than reading a record, which searches no graph.
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

        # One search for all sources, from an extra node V with an edge to each of them.
        size = len(self)
        ptr = np.append(indptr, len(indices) + len(sources))
        edges = csr_array(
            (np.ones(len(indices) + len(sources), dtype=np.int8), np.append(indices, sources), ptr),
            shape=(size + 1, size + 1),
        )
        reached = breadth_first_order(edges, size, directed=True, return_predecessors=False)
        inside = np.zeros(size + 1, dtype=bool)
        inside[reached] = True
        inside[sources] = False
        return self.order[inside[self.order]]

    def _named(self, rows: Indices) -> tuple[str, ...]:
        return tuple(self.names[i] for i in rows)

    def _check_form(self) -> None:
        size = len(self.names)
        if len(self._number) != size:
            twice = next(name for i, name in enumerate(self.names) if self._number[name] != i)
            raise GraphError(f"two models are named {twice!r}: give every model its own name.")
        if len(self.indptr) != size + 1 or self.indptr[0] != 0 or self.indptr[-1] != len(self.indices):
            raise GraphError(
                f"indptr must have {size + 1} entries from 0 to {len(self.indices)} (names and references)."
            )
        if np.any(np.diff(self.indptr) < 0) or np.any((self.indices < 0) | (self.indices >= size)):
            raise GraphError(f"indptr must not fall, and references must be rows from 0 to {size - 1}.")
        rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(self.indptr))
        edges = np.sort(rows * size + self.indices)
        doubled = np.flatnonzero(edges[1:] == edges[:-1])
        if len(doubled):
            heir, reference = (self.names[i] for i in divmod(int(edges[doubled[0]]), size))
            raise GraphError(f"{heir!r} references {reference!r} twice: list it once.")


def _frozen(array: Indices) -> Indices:
    copy = np.array(array, dtype=np.int64)
    copy.setflags(write=False)
    return copy
