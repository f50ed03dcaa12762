# SPDX-License-Identifier: Apache-2.0
"""The request, and the samples that the attack asks about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from blockful_lab.experiments.protocol import HOLDERS, Cell, Layout, what_to_forget
from blockful_py.forget import Forget, Level
from blockful_py.learning.data import Samples, pooled
from blockful_py.learning.datasets.options import drawn
from blockful_py.learning.forget_sets import forget_set, retain_set
from blockful_py.learning.streams import generator
from blockful_py.unlearning.audit.canaries import plant

RETAINED = 100
"""Retained samples that are asked about, at most."""

FORGOTTEN, KEPT = "forgotten", "retained"
"""Names of targets; canaries are named by their kinds."""


class Ask(StrEnum):
    """Kinds of requests."""

    CLASS = "class"
    CLIENT = "client"
    SAMPLE = "sample"
    CANARIES = "canaries"
    """Planted samples of the first holder."""


LEVELS: Mapping[Ask, Level] = MappingProxyType(
    {
        Ask.CLASS: Level.CLASS,
        Ask.CLIENT: Level.CLIENT,
        Ask.SAMPLE: Level.SAMPLE,
        Ask.CANARIES: Level.SAMPLE,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class AttackTarget:
    """Samples of one kind.

    Attributes:
        asked: training samples, (n, ...).
        strangers: samples like them that no model was trained on, (m, ...).
    """

    asked: Samples
    strangers: Samples


@dataclass(frozen=True, slots=True, eq=False)
class ShadowRequest:
    """A federation's layout, its request, and the targets by name."""

    laid: Layout
    forget: Forget
    targets: Mapping[str, AttackTarget]


def request_of(ask: Ask, cell: Cell, laid: Layout) -> ShadowRequest:
    """Builds the request of a cell; the same cell gives the same request.

    Retained targets come from the first holder, who trains the first start, or from all users if it
    keeps none.

    Raises:
        LearningError: there are too few spare samples to make canaries of.
    """
    if ask is Ask.CANARIES:
        users, forget, planted = plant(laid.users, HOLDERS[0], laid.data, cell.seed)
        laid = replace(laid, users=users)
        targets = {kind: AttackTarget(*both) for kind, both in planted.items()}
    else:
        forget = what_to_forget(cell, laid.users, cell.label_in(laid.data))
        asked = pooled(forget_set(forget, user) for user in laid.users)
        targets = {FORGOTTEN: AttackTarget(asked, laid.data.test.only(asked.classes()))}
    return ShadowRequest(laid, forget, {**targets, KEPT: _retained(laid, forget, cell.seed)})


def _retained(laid: Layout, forget: Forget, seed: int) -> AttackTarget:
    kept = retain_set(forget, laid.users[HOLDERS[0] - 1])
    if not len(kept):
        kept = pooled(retain_set(forget, user) for user in laid.users)
    asked = drawn(kept, RETAINED, generator(seed, "attack", KEPT))
    return AttackTarget(asked, laid.data.test.without(forget.classes))
