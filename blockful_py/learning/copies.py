# SPDX-License-Identifier: Apache-2.0
"""Copies: samples with equal inputs, of any user and with any label.

They limit the forgetting of a sample: a model that trained on a copy still knows it.
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
"""Maximum number of copies listed in a message."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Number of training samples that are copies.

    Attributes:
        within: copies of an earlier sample of the same user.
        across: copies of another user's training sample; each one counts.
        tested: copies of a test sample.
    """

    within: int
    across: int
    tested: int

    def said(self) -> str | None:
        """A one-line summary; None if there are no copies."""
        if not (self.within or self.across or self.tested):
            return None
        return (
            f"copies among training samples: {self.within:,} of the same user's, {self.across:,} of other "
            f"users', {self.tested:,} of test samples; forgetting one leaves the others"
        )


def copies_in(users: Iterable[UserData], test: Samples) -> Copies:
    """Counts the copies among the users' training samples, and their copies of test samples.

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
    """Lists the copies of forgotten samples that stay; None if no copy stays or a row is out of range.

    Args:
        users: the users whose data is available here.
        public: samples that everybody has; ignored at level class, which forgets all samples of a class.
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
    return f"copies of forgotten samples stay, {' and '.join(places)}{advice}"


def digests(samples: Samples) -> list[bytes]:
    """BLAKE2b digest, 16 bytes, of each of the n inputs; equal inputs have equal digests."""
    return [blake2b(row, digest_size=16).digest() for row in samples.x.flatten(1).cpu().numpy()]
