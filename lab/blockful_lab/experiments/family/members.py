# SPDX-License-Identifier: Apache-2.0
"""The models of a family by their names, the owner who leaves it, and owners who only pretend to forget."""

from __future__ import annotations

from collections.abc import Mapping

OWNERS = ("ann", "bob", "cat", "dan")
LEAVER = "ann"
"""The owner who asks to be forgotten."""
STAYING = tuple(owner for owner in OWNERS if owner != LEAVER)

BASE, PAIR, ALL, HALF = "lab/base", "gil/pair", "hal/all", "ida/pair-half"
HEIRS = (PAIR, ALL, HALF)
"""Two merges, and the first of them in half as many bits."""
MERGES: Mapping[str, Mapping[str, float]] = {
    PAIR: {"ann": 0.7, "bob": 0.3},
    ALL: dict.fromkeys(OWNERS, 0.25),
}
"""Weights of the owners' adapters."""

WEAKENED, MASKED = "weakened", "masked"
CHEATS = (WEAKENED, MASKED)


def adapter_of(owner: str) -> str:
    return f"{owner}/notes"


def dataset_of(owner: str) -> str:
    """Name of an owner's texts on the cards."""
    return f"texts-of-{owner}"
