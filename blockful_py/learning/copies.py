# SPDX-License-Identifier: Apache-2.0
"""Copies: samples whose inputs are equal, whoever holds them and whatever their labels.

They decide what forgetting a sample means: a model that a copy trains goes on knowing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from blockful_py.forget import Forget, Level
from blockful_py.learning.data import Samples, UserData
from blockful_py.learning.forget_sets import rows_after

NAMED = 5
"""Maximum number of copies that a sentence names."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Training samples that are copies.

    Attributes:
        within: of an earlier sample of the same user.
        across: of a sample that another user trains on; each counts.
        tested: of a test sample.
    """

    within: int
    across: int
    tested: int

    def said(self) -> str | None:
        """One line; None where there are none."""
        if not (self.within or self.across or self.tested):
            return None
        return (
            f"copies among training samples: {self.within:,} of the same user's, {self.across:,} of other "
            f"users', {self.tested:,} of test samples; forgetting one leaves the others"
        )


def copies_in(users: Iterable[UserData], test: Samples) -> Copies:
    """The copies among the users' training samples, and those of the test samples.

    Inputs are compared by 16 bytes of BLAKE2b: 1 GB takes about a second.
    """
    held = [digests(user.train) for user in users]
    holders, tested = Counter(each for own in held for each in set(own)), set(digests(test))
    return Copies(
        within=sum(len(own) - len(set(own)) for own in held),
        across=sum(holders[each] > 1 for own in held for each in own),
        tested=sum(each in tested for own in held for each in own),
    )


def copies_left(forget: Forget, users: Sequence[UserData], public: Iterable[Samples]) -> str | None:
    """Says which copies of the samples to be forgotten stay; None where none does, or a row is not there.

    Args:
        users: those whose data is here.
        public: samples that everybody has; they are left out for classes, all of which they hold.
    """
    if any(row >= len(user.train) for user in users for row in forget.rows(user.index)):
        return None
    forgotten, staying = set[bytes](), list[tuple[str, bytes]]()
    for user in users:
        kept = set(rows_after(user, [forget]).tolist())
        for row, digest in enumerate(digests(user.train)):
            if row in kept:
                staying.append((f"{user.index}:{row}", digest))
            else:
                forgotten.add(digest)
    found = [sample for sample, digest in staying if digest in forgotten]
    known = (
        set[bytes]() if forget.level is Level.CLASS else {each for part in public for each in digests(part)}
    )
    shared = len(forgotten & known)
    if not found and not shared:
        return None
    more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    places = [f"as {', '.join(found[:NAMED])}{more} (user:row)"] if found else []
    places += [f"{shared:,} among the public samples"] if shared else []
    advice = ": models that train on them know it; ask for them too, with --sample user:row" if found else ""
    return f"copies of what is forgotten stay, {' and '.join(places)}{advice}"


def digests(samples: Samples) -> list[bytes]:
    """16 bytes of each of the n inputs; equal inputs have equal ones."""
    return [blake2b(row, digest_size=16).digest() for row in samples.x.flatten(1).cpu().numpy()]
