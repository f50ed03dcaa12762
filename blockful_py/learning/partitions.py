# SPDX-License-Identifier: Apache-2.0
"""Partitions a data set among the users.

Each partition first draws a rule, which assigns classes and their shares to users.  The rule then divides the
train samples and the test samples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from blockful_py.errors import LearningError, SettingsError, UnknownClassError
from blockful_py.learning.data import Dataset, Samples, UserData
from blockful_py.learning.skew import Direction, principal_directions
from blockful_py.learning.streams import generator
from blockful_py.settings import FederationSettings, Situation

AS_HELD: Situation = "parties"
"""Situation in which the data set itself assigns rows to users."""

Rows = list[list[int]]
"""Row numbers of the user with index i, at position i - 1."""

Rule = Callable[[Samples, torch.Generator], Rows]
"""Divides n samples (n, ...) into rows per user; the generator shuffles."""


@dataclass(frozen=True, slots=True)
class Division:
    """Settings of a partition.

    Attributes:
        settings: number of users and the situation's own settings.
        holders: indices, from 1, of the users that hold `classes` in `few_hold`.
        classes: labels to forget.
    """

    settings: FederationSettings
    holders: tuple[int, ...]
    classes: tuple[int, ...]

    @property
    def users(self) -> int:
        return self.settings.users


def all_hold(train: Samples, division: Division, stream: torch.Generator) -> Rule:
    """Spreads every class evenly over all users (counts of a class differ by at most 1)."""

    def share(samples: Samples, shuffle: torch.Generator) -> Rows:
        rows = _by_class(samples.y, samples.classes(), shuffle)
        return _deal(rows, range(division.users), division.users)

    return share


def few_hold(train: Samples, division: Division, stream: torch.Generator) -> Rule:
    """Gives `division.classes` to the holders alone, and spreads the other classes as `all_hold` does.

    Each holder gets 2/users of each class, or an equal share if that is less; the remainder is unused.
    """

    def share(samples: Samples, shuffle: torch.Generator) -> Rows:
        retained = [label for label in samples.classes() if label not in division.classes]
        shares = _deal(_by_class(samples.y, retained, shuffle), range(division.users), division.users)
        holders = [index - 1 for index in division.holders]
        for label in division.classes:
            rows = _by_class(samples.y, [label], shuffle)
            each = min(round(2 * len(rows) / division.users), len(rows) // len(holders))
            for user, more in enumerate(_deal(rows[: each * len(holders)], holders, division.users)):
                shares[user] += more
        return shares

    return share


def iid(train: Samples, division: Division, stream: torch.Generator) -> Rule:
    """Divides samples at random in equal numbers: every user draws from the same distribution."""

    def share(samples: Samples, shuffle: torch.Generator) -> Rows:
        rows = torch.randperm(len(samples), generator=shuffle).tolist()
        return _deal(rows, range(division.users), division.users)

    return share


def sample_non_iid(train: Samples, division: Division, stream: torch.Generator) -> Rule:
    """Gives every user every class, but a different region of it.

    Each class is sorted along the principal direction of its train inputs and cut into one slice per user;
    the order of the users is drawn anew for each class.
    """
    directions = principal_directions(train, stream)
    slices = {label: torch.randperm(division.users, generator=stream).tolist() for label in directions}

    def share(samples: Samples, shuffle: torch.Generator) -> Rows:
        shares: Rows = [[] for _ in range(division.users)]
        for label in samples.classes():
            rows = torch.nonzero(samples.y == label).flatten()
            ordered = rows[_sorted_along(directions.get(label), samples.x[rows])]
            order = slices.get(label, range(division.users))
            for user, part in zip(order, torch.tensor_split(ordered, division.users), strict=True):
                shares[user] += part.tolist()
        return shares

    return share


def label_non_iid(train: Samples, division: Division, stream: torch.Generator) -> Rule:
    """Spreads each class evenly over the users, without those listed for it in `federation.missing`.

    This follows the paper ("client 1 does not have classes 70-74").

    Raises:
        SettingsError: no user lacks a class, an unknown user does, or every user lacks the same class.
        UnknownClassError: the train samples have no such class.
    """
    missing = division.settings.missing
    strangers = sorted(user for user in missing if not 1 <= user <= division.users)
    if strangers or not any(missing.values()):
        raise SettingsError(
            f"partition 'label_non_iid' needs the classes that users from 1 to {division.users} lack, not "
            f"{missing}: set federation.missing, for example {{1 = [0, 1], 2 = [2, 3]}}."
        )
    classes = train.classes()
    require_classes(
        {c for lacking in missing.values() for c in lacking}, classes, "federation.missing: the data set"
    )
    having = {
        label: [u - 1 for u in range(1, division.users + 1) if label not in missing.get(u, ())]
        for label in classes
    }
    nobody = sorted(label for label, users in having.items() if not users)
    if nobody:
        raise SettingsError(f"federation.missing gives class {nobody[0]} to no user: let a user have it.")

    def share(samples: Samples, shuffle: torch.Generator) -> Rows:
        shares: Rows = [[] for _ in range(division.users)]
        turn = 0
        for label in samples.classes():
            users = having.get(label, list(range(division.users)))
            rows = _by_class(samples.y, [label], shuffle)
            turned = users[turn % len(users) :] + users[: turn % len(users)]
            for user, more in enumerate(_deal(rows, turned, division.users)):
                shares[user] += more
            turn += len(rows)
        return shares

    return share


def dirichlet(train: Samples, division: Division, stream: torch.Generator) -> Rule:
    """Divides each class by shares drawn from Dirichlet(concentration) (Hsu, Qi and Brown 2019).

    A user without samples gets one from the user with the most.
    """
    draws = np.random.default_rng(int(torch.randint(2**62, (1,), generator=stream)))
    alpha = np.full(division.users, division.settings.concentration)
    bounds = {
        label: torch.from_numpy(draws.dirichlet(alpha).cumsum()[:-1].copy()) for label in train.classes()
    }
    even = torch.arange(1, division.users, dtype=torch.float64) / division.users

    def share(samples: Samples, shuffle: torch.Generator) -> Rows:
        shares: Rows = [[] for _ in range(division.users)]
        for label in samples.classes():
            rows = _by_class(samples.y, [label], shuffle)
            cuts = [0, *(bounds.get(label, even) * len(rows)).round().long().tolist(), len(rows)]
            for user in range(division.users):
                shares[user] += rows[cuts[user] : cuts[user + 1]]
        for mine in shares:
            richest = max(shares, key=len)
            if not mine and len(richest) > 1:
                mine.append(richest.pop())
        return shares

    return share


def shards(train: Samples, division: Division, stream: torch.Generator) -> Rule:
    """Cuts class-sorted samples into `users * shards` equal pieces and gives each user `shards` of them.

    Most users therefore know few classes (McMahan et al. 2017).
    """
    pieces = division.users * division.settings.shards
    owner = (torch.randperm(pieces, generator=stream) % division.users).tolist()

    def share(samples: Samples, shuffle: torch.Generator) -> Rows:
        rows = torch.tensor(_by_class(samples.y, samples.classes(), shuffle), dtype=torch.int64)
        shares: Rows = [[] for _ in range(division.users)]
        for user, piece in zip(owner, torch.tensor_split(rows, pieces), strict=True):
            shares[user] += piece.tolist()
        return shares

    return share


PARTITIONS: Mapping[Situation, Callable[[Samples, Division, torch.Generator], Rule]] = MappingProxyType(
    {
        "all_hold": all_hold,
        "dirichlet": dirichlet,
        "few_hold": few_hold,
        "iid": iid,
        "label_non_iid": label_non_iid,
        "sample_non_iid": sample_non_iid,
        "shards": shards,
    }
)
"""Functions that build rules, by situation, without AS_HELD; the generator draws the randomness shared by
train and test samples.
"""


def partition(dataset: Dataset, division: Division, seed: int) -> tuple[UserData, ...]:
    """Divides the train and the test samples by the same rule, disjoint between users.

    Returns the data of user i at position i - 1, on the device of the data set.

    Raises:
        SettingsError: settings that do not fit the situation.
        UnknownClassError: the data set has no such class.
        LearningError: a user would be without train or test samples.
    """
    _check(dataset, division)
    name = division.settings.situation
    if name == AS_HELD:
        return _as_held(dataset, division)
    train, test = (Samples(part.x.cpu(), part.y.cpu()) for part in (dataset.train, dataset.test))
    rule = PARTITIONS[name](train, division, generator(seed, "partition", name))
    shares = []
    for which, samples, source in (("train", train, dataset.train), ("test", test, dataset.test)):
        rows = rule(samples, generator(seed, "partition", name, which))
        shares.append([_share(source, mine, index, which) for index, mine in enumerate(rows, start=1)])
    trains, tests = shares
    return tuple(UserData(i, *both) for i, both in enumerate(zip(trains, tests, strict=True), start=1))


def _as_held(dataset: Dataset, division: Division) -> tuple[UserData, ...]:
    """Gives each user a party's rows.  Raises SettingsError unless there are as many parties as users."""
    if len(dataset.holdings) != division.users:
        raise SettingsError(
            f"partition 'parties' gives each user a file; data set {dataset.name!r} has "
            f"{len(dataset.holdings)} and federation.users is {division.users}: set learning.dataset = "
            "'parties', and federation.users to the number of files in learning.data_files."
        )
    users, first_train, first_test = [], 0, 0
    for index, (trains, tests) in enumerate(dataset.holdings, start=1):
        train = _share(dataset.train, range(first_train, first_train + trains), index, "train")
        test = _share(dataset.test, range(first_test, first_test + tests), index, "test")
        users.append(UserData(index, train, test))
        first_train, first_test = first_train + trains, first_test + tests
    return tuple(users)


def require_classes(classes: Collection[int], held: Collection[int], holder: str) -> None:
    """Checks that `held` has all of `classes`.  Raises UnknownClassError, which lists the known classes."""
    missing = sorted(set(classes) - set(held))
    if missing:
        raise UnknownClassError(
            f"{holder} has no class {', '.join(map(str, missing))}; "
            f"it has {', '.join(map(str, sorted(held))) or 'none'}: choose among these."
        )


def _check(dataset: Dataset, division: Division) -> None:
    strangers = [index for index in division.holders if not 1 <= index <= division.users]
    if strangers or not division.holders:
        raise SettingsError(f"holders must be users from 1 to {division.users}, not {division.holders}.")
    holder = f"unlearning.classes: data set {dataset.name!r}"
    require_classes(division.classes, dataset.train.classes(), holder)


def _share(samples: Samples, rows: Sequence[int], index: int, which: str) -> Samples:
    if not rows:
        raise LearningError(
            f"user {index} would be without {which} samples: there are {len(samples)} in all; "
            "take more samples or fewer users."
        )
    return samples.at(torch.tensor(rows, dtype=torch.int64))


def _sorted_along(direction: Direction | None, x: Tensor) -> Tensor:
    """Rows of x by ascending position along a direction; unsorted if the direction is None."""
    return torch.arange(len(x)) if direction is None else torch.argsort(direction.of(x), stable=True)


def _by_class(labels: Tensor, classes: Sequence[int], stream: torch.Generator) -> list[int]:
    """Rows sorted by class, shuffled within each class."""
    rows: list[int] = []
    for label in classes:
        of_class = torch.nonzero(labels == label).flatten()
        rows += of_class[torch.randperm(len(of_class), generator=stream)].tolist()
    return rows


def _deal(rows: Sequence[int], receivers: Sequence[int], users: int) -> Rows:
    """Deals rows like cards: row i goes to receiver i mod n."""
    shares: Rows = [[] for _ in range(users)]
    for i, row in enumerate(rows):
        shares[receivers[i % len(receivers)]].append(row)
    return shares
