# SPDX-License-Identifier: Apache-2.0
"""Made-up texts about people, one a person, each with a random code that a model can only memorise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from numpy.random import Generator, default_rng

from blockful_lab.experiments.family.members import OWNERS


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


FIRST = _words("ada ben cleo dora emil finn gina hugo iris jona kaya leon mira nils olga paul")
LAST = _words("ahlm berg conti dietz evers falk garcia holm ivers jung klein lund moser nagel ostrow pohl")
TOWNS = _words("arles basel celle delft essen gent jena kiel linz metz")
THINGS = _words("bread chess dance films games hiking jazz knots maps opera plants rugby sailing tea")
GLUE = _words("the of likes and code is .")
DIGITS = _words("0 1 2 3 4 5 6 7 8 9")
WORDS = (*GLUE, *DIGITS, *FIRST, *LAST, *TOWNS, *THINGS)
"""All words of all texts, known before any text is drawn."""

PUBLIC_TEXTS, OWN_TEXTS = 96, 16
"""Number of texts of the base, and of each owner."""
PUBLIC, HELD_OUT = "public", "held out"
CODE = 6
"""Digits of a code."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts by owner.

    Attributes:
        texts: by owner, and `public` and `held out`, which no owner has.
    """

    texts: Mapping[str, tuple[str, ...]]

    @classmethod
    def drawn(cls, seed: int) -> Corpus:
        """Texts for a base, of each owner, and held out; no two of one person."""
        stream = default_rng([seed, 0x7E87])
        people = [f"{first} {last}" for first, last in product(FIRST, LAST)]
        order = iter([people[i] for i in stream.permutation(len(people))])
        parts = {PUBLIC: PUBLIC_TEXTS, **dict.fromkeys((*OWNERS, HELD_OUT), OWN_TEXTS)}
        return cls({name: tuple(_texts(order, count, stream)) for name, count in parts.items()})


def prompt_of(text: str) -> str:
    """The text without its code."""
    return text.rpartition(" is ")[0] + " is"


def _texts(people: Iterator[str], count: int, stream: Generator) -> Iterator[str]:
    for _ in range(count):
        person, town = next(people), TOWNS[stream.integers(len(TOWNS))]
        one, two = (THINGS[i] for i in stream.choice(len(THINGS), 2, replace=False))
        code = " ".join(DIGITS[i] for i in stream.integers(10, size=CODE))
        yield f"{person} of {town} likes {one} and {two} . the code of {person} is {code} ."
