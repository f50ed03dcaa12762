# SPDX-License-Identifier: Apache-2.0
"""Families of models made from bases that are known to an adopter, for `benchmarks.descent`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import torch

from benchmarks.derivations import low_rank, noisy, permuted, pruned, quantised, scaled
from blockful_py.learning.data import Samples
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.evaluation import accuracy
from blockful_py.learning.fingerprint import KnownFingerprints, WeightsFingerprint, fingerprint, similarity
from blockful_py.learning.models import Architecture
from blockful_py.learning.parents import proposed_parents
from blockful_py.learning.streams import generator
from blockful_py.learning.training import train
from blockful_py.learning.weights import Weights, mean
from blockful_py.settings import TrainingSettings

NETWORKS = ("cnn", "benchmarks.derivations:Transformer")
KNOWN_MODELS = 10_000


@dataclass(frozen=True, slots=True)
class Derived:
    """A model made from known ones; `parents` are their numbers, empty for none."""

    kind: str
    parents: tuple[int, ...]
    weights: Weights
    accuracy: float | None = None


class Families:
    """Bases of one network, trained from different seeds on one half of the digits."""

    def __init__(self, network: str, bases: int, first_seed: int) -> None:
        self.data = load_dataset("digits", first_seed, torch.device("cpu"))
        self.network = Architecture(network, self.data.input_shape, self.data.class_count)
        half = len(self.data.train) // 2
        rows = torch.arange(len(self.data.train))
        self.halves = (self.data.train.at(rows[:half]), self.data.train.at(rows[half:]))
        self.seeds = range(first_seed, first_seed + bases)
        self.initial = [self.network.initial(generator(seed, "initial")) for seed in self.seeds]
        self.bases = [
            self.trained(each, self.halves[0], 12, seed)
            for each, seed in zip(self.initial, self.seeds, strict=True)
        ]

    def trained(self, start: Weights, samples: Samples, epochs: int, seed: int) -> Weights:
        settings = TrainingSettings(epochs=epochs, batch_size=32, learning_rate=0.05)
        return train(self.network, start, samples, settings, generator(seed, "descent", epochs))

    def derived(self) -> Iterator[Derived]:
        """All models made from the bases, and some that were not."""
        for number in range(len(self.bases)):
            for kind, parents, weights in self._of(number):
                known = accuracy(self.network, weights, self.data.test) if "head" not in kind else None
                yield Derived(kind, parents, weights, known)

    def _of(self, number: int) -> Iterator[tuple[str, tuple[int, ...], Weights]]:
        base, start, seed = self.bases[number], self.initial[number], self.seeds[number]
        draws, other = generator(seed, "derivations"), self.halves[1]
        tuned = self.trained(base, other, 4, seed)
        again = self.trained(base, other, 4, seed + 10_000)
        following = [(number + step) % len(self.bases) for step in range(3)]
        yield "fine-tuned, 4 epochs", (number,), tuned
        yield "fine-tuned, 20 epochs", (number,), self.trained(base, other, 20, seed)
        for size in (0.3, 1.0):
            yield f"noise of {size:g} changes", (number,), noisy(base, start, size, draws)
        yield "low rank, 2", (number,), low_rank(base, tuned, 2)
        yield "mean of two fine-tuned from it", (number,), mean([tuned, again])
        for count in (2, 3):
            parents = tuple(following[:count])
            yield f"mean of {count} bases", parents, mean([self.bases[each] for each in parents])
        yield "pruned to half", (number,), pruned(base)
        yield "8 bits", (number,), quantised(base, 8)
        yield "4 bits", (number,), quantised(base, 4)
        yield "scaled by 3", (number,), scaled(base, 3.0)
        head = {name: tensor[:5] for name, tensor in tuned.items() if name.startswith("head.")}
        yield "another head, fine-tuned", (number,), {**tuned, **head}
        yield "fine-tuned, pruned, 8 bits", (number,), quantised(pruned(tuned), 8)
        yield "hidden units in another order", (number,), permuted(base, draws)
        yield "distilled into another start", (number,), self._distilled(base, seed)
        yield (
            "none: other seed, other data",
            (),
            self.trained(self.network.initial(generator(seed + 20_000, "initial")), other, 12, seed),
        )
        yield "none: same start, other data", (), self.trained(start, other, 12, seed + 30_000)

    def _distilled(self, teacher: Weights, seed: int) -> Weights:
        """Trained from another start on the labels that the teacher gives the other half."""
        samples = self.halves[1]
        with torch.no_grad():
            labels = self.network.module(teacher, torch.device("cpu")).eval()(samples.x).argmax(1)
        start = self.network.initial(generator(seed + 40_000, "initial"))
        return self.trained(start, Samples(samples.x, labels), 12, seed)


def pairs(bases: int, first_seed: int) -> dict[str, Any]:
    """Recall and false alarms by network and kind; each derived model is compared with all known ones."""
    families = {name: Families(name, bases, first_seed) for name in NETWORKS}
    known = {
        f"{name} {number}": fingerprint(weights)
        for name, each in families.items()
        for number, weights in enumerate(each.bases)
    }
    bare = KnownFingerprints(known)
    found = {}
    for name, each in families.items():
        starts = {f"start {number}": fingerprint(start) for number, start in enumerate(each.initial)}
        both = KnownFingerprints({**known, **starts})
        tallies: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for derived in each.derived():
            print_of = fingerprint(derived.weights)
            parents = {f"{name} {number}" for number in derived.parents}
            one = _outcome(print_of, parents, bare, both)
            tallies[derived.kind].append(one | {"accuracy": derived.accuracy})
        found[name] = {kind: _added(tally, len(known)) for kind, tally in tallies.items()}
        found[name]["base"] = {
            "accuracy": float(np.mean([accuracy(each.network, w, each.data.test) for w in each.bases]))
        }
    return found


def _outcome(
    model: WeightsFingerprint, parents: set[str], bare: KnownFingerprints, both: KnownFingerprints
) -> dict[str, Any]:
    similar = bare.similarities(model)
    proposed = {each.name for each in proposed_parents(model, bare)}
    with_starts = {each.name for each in proposed_parents(model, both)}
    others = [similar[name] for name in similar if name not in parents]
    return {
        "named": len(proposed & parents),
        "parents": len(parents),
        "false": len(proposed - parents),
        "pairs": len(bare.fingerprints) - len(parents),
        "named_with_starts": len(with_starts & parents),
        "false_with_starts": len({name for name in with_starts if not name.startswith("start")} - parents),
        "least": min((similar[name] for name in parents), default=None),
        "most_other": max(others),
    }


def _added(tally: Sequence[Mapping[str, Any]], known: int) -> dict[str, Any]:
    counted = ("named", "parents", "false", "pairs", "named_with_starts", "false_with_starts")
    accuracies = [one["accuracy"] for one in tally if one["accuracy"] is not None]
    least = [one["least"] for one in tally if one["least"] is not None]
    return {
        **{key: sum(one[key] for one in tally) for key in counted},
        "models": len(tally),
        "least": min(least, default=None),
        "most_other": max(one["most_other"] for one in tally),
        "accuracy": float(np.mean(accuracies)) if accuracies else None,
    }


def costs() -> dict[str, float]:
    """Seconds of processor time for one fingerprint, one pair, and a search among KNOWN_MODELS."""
    network = Architecture("benchmarks.derivations:Transformer", (1, 8, 8), 10)
    weights = network.initial(generator(0, "initial"))
    one = fingerprint(weights)
    draws = np.random.default_rng(0)
    known = {
        str(number): WeightsFingerprint(
            {key: draws.standard_normal(len(each), dtype=np.float32) for key, each in one.sketches.items()}
        )
        for number in range(KNOWN_MODELS)
    }
    begun = perf_counter()
    library = KnownFingerprints(known)
    built = perf_counter() - begun
    large = {"w": torch.randn(4096, 2560, generator=generator(0, "large"))}
    fingerprint(large)
    return {
        "known": KNOWN_MODELS,
        "bytes": sum(each.nbytes for each in one.sketches.values()),
        "weights": sum(tensor.numel() for tensor in weights.values()),
        "fingerprint": _seconds(lambda: fingerprint(weights), 20),
        "fingerprint_large": _seconds(lambda: fingerprint(large), 3),
        "weights_large": large["w"].numel(),
        "pair": _seconds(lambda: similarity(one, known["0"]), 20),
        "built": built,
        "search": _seconds(lambda: proposed_parents(one, library), 5),
    }


def _seconds(work: Any, times: int) -> float:
    """The least of some runs."""
    least = float("inf")
    for _ in range(times):
        begun = perf_counter()
        work()
        least = min(least, perf_counter() - begun)
    return least
