# SPDX-License-Identifier: Apache-2.0
"""Models of sums (`learning.sums`) of which each member has a share, and which members add up and scale
alone.

A member keeps its shares of owners' parts, and the counts of their samples by class, which are public.  All
sums of models follow from these and the graph.  So forgetting is a change of parts: a class is struck out of
the reached models, a client's parts are dropped, and an owner of forgotten samples deals its new part.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.residues import Array
from blockful_py.crypto.sharing.rounds import Protocol
from blockful_py.errors import LearningError
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.learning.models.ridge import Head, features_of
from blockful_py.learning.shared_head import HeadPlan, shared_head

SAMPLES_A_FEATURE = 16
"""Least number of a pool's samples for each feature: heads of fewer tell them from strangers."""


def least_pool(features: int) -> int:
    """Least samples of a pool whose head is opened, for F features with the constant one."""
    return SAMPLES_A_FEATURE * features


def pool_of(
    name: str,
    graph: InheritanceGraph,
    counts: Mapping[str, Mapping[int, int]],
    struck: Mapping[str, Collection[int]],
) -> int:
    """Samples that reach a model from parts with these samples by class, each counted once."""
    reached: dict[str, set[tuple[str, int]]] = {}
    for each in (*graph.ancestors([name]), name):
        own = {(each, label) for label in counts.get(each, ())}
        found = own.union(*(reached[one] for one in graph.references(each)))
        reached[each] = {(one, label) for one, label in found if label not in struck.get(each, ())}
    return sum(counts[one][label] for one, label in reached[name])


@dataclass(frozen=True)
class Shared:
    """A member's share of the sums of a model, (k, classes, E), their counts by class, and the shift e_y."""

    share: Array
    counts: tuple[int, ...]
    shift: int = 0


@dataclass
class SharedSums:
    """One member's shares of the parts of a federation's models.

    Attributes:
        graph: references of all models.
        parts: shares of the parts of models whose owners have samples.
        struck: classes that were forgotten, by model.
    """

    holder: Shareholder
    graph: InheritanceGraph
    classes: int
    entries: int
    parts: dict[str, Shared] = field(default_factory=dict)
    struck: dict[str, frozenset[int]] = field(default_factory=dict)

    def take(self, name: str, part: Shared) -> None:
        """Keeps a checked share of a model's part, in place of an earlier one."""
        self.parts[name] = part

    def forget_clients(self, names: Collection[str]) -> None:
        """Drops the parts of these models, which are all of the clients'."""
        for name in names:
            self.parts.pop(name, None)

    def forget_classes(self, starts: Sequence[str], classes: Collection[int]) -> None:
        """Strikes classes out of the models from `starts` on."""
        for name in {*starts, *self.graph.descendants(starts)}:
            self.struck[name] = self.struck.get(name, frozenset()) | frozenset(classes)

    def sums(self, name: str) -> Shared:
        """The member's share of T_y, `2^e_y s_y + sum over r of 2^(e_y - k - e_r) T_r`."""
        found: dict[str, Shared] = {}
        for each in (*self.graph.ancestors([name]), name):
            found[each] = self._added(each, found)
        return found[name]

    def head(self, name: str, use: str) -> Protocol[Head]:
        """Opens a model's head, with the other members.

        Raises as `shared_head`, and LearningError: the head would follow from too few samples.
        """
        self._require_pool(name)
        own = self.sums(name)
        plan = HeadPlan(features_of(self.entries), own.counts, own.shift, self.holder.threshold)
        return shared_head(self.holder, plan, own.share, f"{name}, {use}")

    def _require_pool(self, name: str) -> None:
        counts = {each: dict(enumerate(part.counts)) for each, part in self.parts.items()}
        found = pool_of(name, self.graph, counts, self.struck)
        least = least_pool(features_of(self.entries))
        if found < least:
            raise LearningError(
                f"the head of {name} would follow from {found:,} samples, and show them: wait until it and "
                f"its ancestors have {least:,}, or use fewer features."
            )

    def _added(self, name: str, found: Mapping[str, Shared]) -> Shared:
        references = [found[each] for each in self.graph.references(name)]
        bits = (len(references) - 1).bit_length() if references else 0
        shift = bits + max((each.shift for each in references), default=0)
        terms = [(each, shift - bits - each.shift) for each in references]
        if name in self.parts:
            terms.append((self.parts[name], shift))
        total = np.zeros((self.holder.field.count, self.classes, self.entries), np.int64)
        counts = [0] * self.classes
        for each, by in terms:
            total = self.holder.field.reduced(total + self.holder.field.scaled(each.share, 1 << by))
            counts = [count + (more << by) for count, more in zip(counts, each.counts, strict=True)]
        gone = sorted(self.struck.get(name, ()))
        total[:, gone] = 0
        counts = [0 if label in gone else count for label, count in enumerate(counts)]
        return Shared(total, tuple(counts), shift)
