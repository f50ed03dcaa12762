# SPDX-License-Identifier: Apache-2.0
"""Attacks on models of sums: had an owner a sample, or which one was taken out?

- clear sums: is a sample in the span of its class's sums (small residual, then small leverage)?
- a member's share: the same, of the share of one member of four in place of the sums.
- two members' shares: the same, of the difference of two of seven members' shares.
- uniform numbers: the same, of numbers that depend on nothing: samples and test samples differ a little.
- head: the margin of a sample's own class, of the published head.
- unrounded head: the same, before the head is rounded.
- pair of heads: one sample of an owner is taken out; the head's change is near M^-1 f of it, M estimated from
  the test samples.
- pair of unrounded heads: the same, before heads are rounded.

AUC is the probability that a sample has a higher score than a test sample of its class.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.residues import Residues
from blockful_py.crypto.sharing.rounds import Inbox, Protocol, Sent, together
from blockful_py.crypto.sharing.shamir import evaluate, polynomial
from blockful_py.learning.data import Dataset
from blockful_py.learning.federation import FederationSpec, train_federation
from blockful_py.learning.models import Architecture
from blockful_py.learning.models.analytic import Analytic
from blockful_py.learning.models.ridge import FACTOR_BITS, HEAD_BITS, RIDGE, class_factors
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.shared_head import HeadPlan, shared_head
from blockful_py.learning.sums import CONSTANT, part_of
from blockful_py.settings import FederationSettings, TrainingSettings

Floats = NDArray[np.float64]
SCENARIO = FederationSettings("paper14", "all_hold")
FEATURES, OWNERS, REMOVED = 128, (1, 2, 4, 14), 20
ATTACKS = (
    "clear sums",
    "a member's share",
    "two members' shares",
    "uniform numbers",
    "head",
    "unrounded head",
    "pair of heads",
    "pair of unrounded heads",
)
NETWORK = "network's own weights"


@dataclass(frozen=True)
class Owner:
    """Features (n, F) and labels of an owner's samples and of the test samples, float64."""

    features: Floats
    labels: NDArray[np.int64]
    strangers: Floats
    stranger_labels: NDArray[np.int64]
    classes: int


def owners(data: Dataset, seed: int, features: int) -> list[Owner]:
    """The users of `paper14` where all hold all classes."""
    module = Analytic(data.input_shape, data.class_count, torch.device("cpu"), features=features)
    test = module.features(data.test.x)
    users = partition(data, Division(SCENARIO, (5, 7), (3,)), seed)
    return [
        Owner(
            module.features(user.train.x),
            user.train.y.numpy(),
            test,
            data.test.y.numpy(),
            data.class_count,
        )
        for user in users
    ]


@dataclass(frozen=True)
class Pool:
    """Samples of some owners together."""

    features: Floats
    labels: NDArray[np.int64]
    classes: int

    @classmethod
    def of(cls, some: Sequence[Owner]) -> Pool:
        features = np.concatenate([each.features for each in some])
        return cls(features, np.concatenate([each.labels for each in some]), some[0].classes)

    def without(self, row: int) -> Pool:
        return Pool(np.delete(self.features, row, 0), np.delete(self.labels, row), self.classes)

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(np.bincount(self.labels, minlength=self.classes).tolist())

    def part(self) -> NDArray[np.int32]:
        return part_of(self.features, self.labels, self.classes)

    def words(self) -> NDArray[np.int64]:
        part = self.part().astype(np.int64)
        return np.stack([part, np.zeros_like(part)])

    def head(self, bits: int | None) -> Floats:
        """The head, rounded to so many bits, or as float64 gives it."""
        weights = np.array(class_factors(self.counts))[self.labels] / 2.0**FACTOR_BITS
        weighted = self.features * weights[:, None]
        matrix = self.features.T @ weighted + RIDGE * np.eye(self.features.shape[1])
        right = weighted.T @ (CONSTANT * np.eye(self.classes)[self.labels])
        head = np.linalg.solve(matrix, right).astype(np.float64)
        if bits is None:
            return head
        unit = 2.0 ** (math.frexp(float(np.abs(head).max()))[1] - bits)
        rounded: Floats = np.round(head / unit) * unit
        return rounded

    def logits(self, head: Floats, features: Floats) -> Floats:
        logits = features @ head
        logits[:, [label for label, count in enumerate(self.counts) if not count]] = -np.inf
        return logits


def attacks(data: Dataset, seed: int) -> dict[str, Any]:
    """AUC by attack and by the number of owners in the pool, and the samples in it."""
    made = owners(data, seed, FEATURES)
    random = np.random.default_rng(seed)
    auc: dict[str, dict[str, float]] = {each: {} for each in ATTACKS}
    samples: dict[str, float] = {}
    for size in OWNERS:
        groups = [made[i : i + size] for i in range(0, len(made) - size + 1, size)]
        found: dict[str, list[float]] = {each: [] for each in ATTACKS}
        for group in groups:
            for attack, value in _of_pool(group, size == 1, random).items():
                found[attack] += value
        for attack, values in found.items():
            if values:
                auc[attack][str(size)] = float(np.mean(values))
        samples[str(size)] = float(np.mean([len(Pool.of(group).labels) for group in groups]))
    return {"data": data.name, "seed": seed, "auc": auc, "samples": samples}


def _of_pool(group: Sequence[Owner], alone: bool, random: np.random.Generator) -> dict[str, list[float]]:
    pool, owner = Pool.of(group), group[0]
    found: dict[str, list[float]] = {}
    if alone:
        for name, sums in _views(pool, random).items():
            found[name] = [_compared(owner, owner.features, owner.labels, _inside(sums))]
    else:
        sums = _by_class(pool)
        found["clear sums"] = [_compared(owner, owner.features, owner.labels, _inside(sums))]
    for name, bits in (("head", HEAD_BITS), ("unrounded head", None)):
        score = _margin(pool, pool.head(bits))
        found[name] = [_compared(owner, owner.features, owner.labels, score)]
    estimate = owner.strangers.T @ owner.strangers / len(owner.strangers) * len(pool.labels)
    matrix = estimate + RIDGE * np.eye(len(estimate))
    for row in random.permutation(len(owner.labels))[:REMOVED]:
        after = pool.without(row)
        x, y = owner.features[row : row + 1], owner.labels[row : row + 1]
        for name, bits in (("pair of heads", HEAD_BITS), ("pair of unrounded heads", None)):
            seen = matrix @ (pool.head(bits) - after.head(bits))[:, y[0]]
            found.setdefault(name, []).append(_compared(owner, x, y, _cosine(seen)))
    return found


def _views(pool: Pool, random: np.random.Generator) -> dict[str, Floats]:
    """By attack, matrices (classes, F, F) to take for the sums."""
    field = Residues(2)
    part = field.of(pool.part().astype(np.int64))
    rng = SeededRng(random.bytes(16))
    single = evaluate(field, polynomial(field, part, 1, rng), 1)
    several = polynomial(field, part, 2, rng)
    between = field.reduced(evaluate(field, several, 1) - evaluate(field, several, 2))
    found = {"clear sums": _by_class(pool)}
    uniform = field.random(part.shape[1:], rng.derive("uniform"))
    for name, share in (
        ("a member's share", single),
        ("two members' shares", between),
        ("uniform numbers", uniform),
    ):
        found[name] = _square(field.centred(share).astype(np.float64))
    return found


def _by_class(pool: Pool) -> Floats:
    return _square(pool.part().astype(np.float64))


def _square(sums: Floats) -> Floats:
    size = (math.isqrt(8 * sums.shape[1] + 1) - 1) // 2
    row, column = np.triu_indices(size)
    full = np.zeros((len(sums), size, size))
    full[:, row, column] = sums
    full[:, column, row] = sums
    return full


def _inside(sums: Floats) -> Any:
    """Scores of being in the span of a class's sums: minus the residual, then minus the leverage."""
    parts = [np.linalg.eigh(each) for each in sums]

    def score(features: Floats, label: int) -> Floats:
        values, vectors = parts[label]
        projected = features @ vectors
        there = np.abs(values) > 1e-9 * np.abs(values).max()
        outside = (projected[:, ~there] ** 2).sum(1) / (features**2).sum(1)
        leverage = (projected[:, there] ** 2 / np.abs(values[there])).sum(1)
        scored: Floats = -(1e6 * np.round(outside, 9) + leverage)
        return scored

    return score


def _margin(pool: Pool, head: Floats) -> Any:
    def score(features: Floats, label: int) -> Floats:
        logits = pool.logits(head, features)
        own = logits[:, label].copy()
        logits[:, label] = -np.inf
        scored: Floats = own - logits.max(1)
        return scored

    return score


def _cosine(direction: Floats) -> Any:
    def score(features: Floats, label: int) -> Floats:
        scored: Floats = features @ direction / np.linalg.norm(features, axis=1)
        return scored

    return score


def _compared(owner: Owner, features: Floats, labels: NDArray[np.int64], score: Any) -> float:
    """AUC against test samples of the same classes, averaged over samples."""
    wins, count = 0.0, 0
    for label in np.unique(labels):
        mine = score(features[labels == label], int(label))
        others = np.sort(score(owner.strangers[owner.stranger_labels == label], int(label)))
        below = np.searchsorted(others, mine, "left") + np.searchsorted(others, mine, "right")
        wins += float((below / 2 / len(others)).sum())
        count += len(mine)
    return wins / count


def network(data: Dataset, seed: int) -> dict[str, float]:
    """AUC by the log-probability of the own class, of the small network's root models, mean over owners."""
    architecture = Architecture.of("cnn", data)
    users = partition(data, Division(SCENARIO, (5, 7), (3,)), seed)
    spec = FederationSpec(architecture, SCENARIO, TrainingSettings(epochs=16), seed=seed)
    models = {model.user: model for wave in reversed([*train_federation(spec, users)]) for model in wave}
    test, found = data.test, []
    for user in users:
        if models[user.index].references:
            continue
        module = architecture.module(models[user.index].weights, torch.device("cpu")).eval()

        def score(samples: Any, module: Any = module) -> Floats:
            with torch.no_grad():
                said = torch.log_softmax(module(samples.x), 1)
            scored: Floats = said.gather(1, samples.y[:, None])[:, 0].double().numpy()
            return scored

        mine, others = score(user.train), np.sort(score(test))
        below = np.searchsorted(others, mine, "left") + np.searchsorted(others, mine, "right")
        found.append(float((below / 2 / len(others)).mean()))
    return {"1": float(np.mean(found))}


RUNS, SMALL = 100, 16


def transcripts(data: Dataset, seed: int) -> dict[str, Any]:
    """Everything that one member of 2 of 4 sees in solves with and without a sample, scored by that sample.

    The score of an array with F rows and columns is the mean of its residues, from -1/2 to 1/2, weighted by
    the sample's `f f^T`.
    """
    owner = owners(data, seed, SMALL)[0]
    full = Pool(owner.features, owner.labels, owner.classes)
    label = int(owner.labels[0])
    pair = np.outer(owner.features[0], owner.features[0])
    pair = pair - pair.mean()
    # without it, a test sample of its class is there, so that the public counts are the same
    other = full.without(0)
    stranger = owner.strangers[owner.stranger_labels == label]
    scores: list[list[Floats]] = [[], []]
    clear: list[list[float]] = [[], []]
    for run in range(RUNS):
        for world, pool in enumerate((full, other)):
            row = stranger[run % len(stranger)] if world else owner.features[0]
            kept = other if world else full.without(0)
            made = Pool(
                np.concatenate([kept.features, row[None]]), np.append(kept.labels, label), pool.classes
            )
            view = _view(made, SeededRng(seed.to_bytes(4, "big"), run, world))
            scores[world].append(np.array([float((each * pair).sum()) for each in view]))
            clear[world].append(_inside(_by_class(made))(owner.features[:1], label).item())
    with_it, without = (np.stack(each) for each in scores)
    spread = np.concatenate([with_it, without]).std(0)
    with_it, without = with_it / spread, without / spread
    noise = np.random.default_rng(seed).normal(size=(2, *with_it.shape))
    each = [_auc(a, b) for a, b in zip(with_it.T, without.T, strict=True)]
    nothing = [_auc(a, b) for a, b in zip(noise[0].T, noise[1].T, strict=True)]
    return {
        "data": data.name,
        "seed": seed,
        "features": SMALL,
        "runs": RUNS,
        "arrays": with_it.shape[1],
        "sum": _auc(with_it.sum(1), without.sum(1)),
        "least": min(each),
        "most": max(each),
        "noise_least": min(nothing),
        "noise_most": max(nothing),
        "clear": _auc(np.array(clear[0]), np.array(clear[1])),
    }


def _auc(members: Floats, others: Floats) -> float:
    difference = members[:, None] - others[None, :]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def _view(pool: Pool, rng: SeededRng) -> list[Floats]:
    """Arrays of F rows and columns that member 1 of 4 holds or receives, as fractions of the field."""
    size = pool.features.shape[1]
    plan = HeadPlan(size, pool.counts, 0, 2)
    field = Residues(plan.primes)
    part = pool.part()
    coefficients = polynomial(field, field.of(part.astype(np.int64)), 1, rng)
    shares = {j: evaluate(field, coefficients, j) for j in range(1, 5)}
    heard: list[Any] = []

    def solving(j: int) -> Protocol[Any]:
        holder = Shareholder(j, 2, 4, field, b"attack", rng.derive(j))
        return shared_head(holder, plan, shares[j], "attack")

    def listening(protocol: Protocol[Any]) -> Generator[Sent, Inbox, Any]:
        sent = next(protocol)
        try:
            while True:
                got = yield sent
                heard.append(got)
                sent = protocol.send(got)
        except StopIteration as stop:
            return stop.value

    together({1: listening(solving(1)), **{j: solving(j) for j in (2, 3, 4)}})
    scale = field.primes(3)[0]
    row, column = np.triu_indices(size)
    label_shares = []
    for prime in shares[1][0]:
        full = np.zeros((size, size))
        full[row, column] = prime / scale - 0.5
        full[column, row] = full[row, column]
        label_shares.append(full)
    arrays = [*label_shares]
    for got in heard:
        received = [*got.public.values(), *(each for one in got.private.values() for each in one.numbers)]
        arrays += [
            (each[0].reshape(size, size) / scale - 0.5)
            for each in received
            if isinstance(each, np.ndarray) and each[0].size == size * size
        ]
    return arrays
