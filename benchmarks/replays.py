# SPDX-License-Identifier: Apache-2.0
"""Odds and costs of finding a forger that alters f of m intervals, and the samples shown to each party.

    python -m benchmarks.replays --seeds 5-24

One user of the 14 of the digits, the small network, the paper's 20 epochs; one thread.  Each seed draws other
forged intervals, another training, and the block's hash.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from benchmarks.stored import FIGURES, keep
from blockful_lab.experiments.seeds import parse_seeds
from blockful_py.crypto import curve
from blockful_py.crypto.spot_check import challenged, chance_of_catching, commitment, salts
from blockful_py.errors import LearningError
from blockful_py.forget import Forget
from blockful_py.keys.shown_files import read_shown, seal_for
from blockful_py.learning.data import UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_portable_products, use_threads
from blockful_py.learning.disclosure import Disclosure, disclosed_training, leaves_of
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.intervals import Recorder, State, begins_of, ends_of, rows_of
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.spot_check import ClaimedTraining, check_disclosure, first_fault
from blockful_py.learning.stack_training import Schedule, StackTraining, batches
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob
from blockful_py.learning.weights import Weights, from_bytes, to_bytes
from blockful_py.record.fields import spelt
from blockful_py.record.training_trace import FORMAT, Trace
from blockful_py.settings import FederationSettings, TrainingSettings

NAME = "replays"
FORGED = (1, 2, 4, 8)
DRAWN = (1, 3, 6, 15, 30)
FORGET = Forget.of_classes([3])
TRAINING = TrainingSettings()
AUDITOR = 7
CONTEXT = b"benchmark"
STEP = 0.01
"""Added by a forger to each weight at the end of an interval."""


class Forger:
    """A training whose owner adds STEP to all weights at the end of some intervals, and commits to that.

    Attributes:
        states: states at all boundaries.
        trace: its commitments.
    """

    def __init__(
        self, architecture: Architecture, user: UserData, seed: int, forged: Collection[int]
    ) -> None:
        self._architecture, self._user, self._seed = architecture, user, seed
        self._kept = rows_after(user, [FORGET]).tolist()
        self._salts = salts(seed, len(user.train))
        self.start = architecture.initial(generator(1))
        self.samples = commitment(leaves_of(user.train, self._salts)).hex()
        self.states = self._trained(forged)
        self.trace = Trace(
            format=FORMAT,
            samples=self.samples,
            kept=tuple(self._kept),
            challenged=len(self.states) - 1,
            states=tuple(each.digest() for each in self.states),
        )

    def _stream(self) -> torch.Generator:
        return generator(self._seed, "retrain", 1, 1)

    def _trained(self, forged: Collection[int]) -> list[State]:
        samples = self._user.train.at(torch.tensor(self._kept))
        schedule = Schedule.of(TRAINING, len(samples))
        training = StackTraining(self._architecture, schedule, [self.start], [samples])
        steps, states = enumerate(batches(schedule, [len(samples)], [self._stream()])), list[State]()

        def note() -> None:
            states.append(State(training.weights()[0], training.optimiser.velocity.clone()))

        note()
        for interval, (first, last) in enumerate(pairwise(ends_of(schedule))):
            for _ in range(first, last):
                step, (rows, shares) = next(steps)
                training.step(step, rows, shares)
            if interval in forged:
                with torch.no_grad():
                    for tensor in training.optimiser.stack.values():
                        tensor.add_(STEP)
            note()
        return states

    def claim(self) -> ClaimedTraining:
        facts = (TRAINING, 1, 1, self.samples, self._seed, "retrain", (FORGET,))
        return ClaimedTraining(self._architecture, *facts, self.start, self.states[-1].weights)

    def shown(self, intervals: Sequence[int]) -> Weights:
        """The disclosure of some intervals, as tensors."""
        recorder = Recorder()
        recorder.job = TrainingJob(
            self.start, self._user.train.at(torch.tensor(self._kept)), TRAINING, self._stream()
        )
        arguments = (self._user.train, self._kept, self._salts, spelt(self.trace))
        honest = disclosed_training(self._architecture, recorder, *arguments, ())
        rows = rows_of(TRAINING, len(self._kept), self._stream(), intervals)
        positions = torch.tensor(self._kept)[rows]
        salted = b"".join(self._salts[row] for row in positions.tolist())
        packed = (
            torch.frombuffer(bytearray(salted), dtype=torch.uint8).view(-1, 32) if salted else honest.salts
        )
        states = {i: self.states[i] for i in begins_of(intervals)}
        samples = self._user.train.at(positions)
        return Disclosure(honest.trace, honest.leaves, rows, packed, samples, states).tensors()


def measure(architecture: Architecture, user: UserData, seed: int) -> dict[str, Any]:
    """The figures of one seed: forgers found, seconds and bytes of an honest training, samples shown."""
    rng, beacon = random.Random(seed), random.Random(seed + 1_000_000).randbytes(32)
    honest = Forger(architecture, user, seed, ())
    intervals = honest.trace.intervals
    found = []
    for count in FORGED:
        forger = Forger(architecture, user, seed, rng.sample(range(intervals), count))
        claim, whole = forger.claim(), Disclosure.of(forger.shown(range(intervals)))
        by = {"replay": first_fault(claim, whole, forger.trace) is not None}
        for r in DRAWN:
            drawn = challenged(beacon, bytes(32), intervals, r)
            try:
                check_disclosure(claim, Disclosure.of(forger.shown(drawn)), forger.trace, drawn)
                by[str(r)] = False
            except LearningError:
                by[str(r)] = True
        found.append({"forged": count, "found": by})
    return {"seed": seed, "intervals": intervals, "found": found, **_costs(honest, beacon)}


def _costs(honest: Forger, beacon: bytes) -> dict[str, Any]:
    """Seconds and bytes of a replay and of spot checks of an honest training, and the samples shown."""
    key, claim, trace = curve.multiply_base(AUDITOR), honest.claim(), honest.trace
    began = time.perf_counter()
    file = seal_for(key, honest.shown(range(trace.intervals)), CONTEXT)
    sealed = time.perf_counter()
    fault = first_fault(claim, Disclosure.of(read_shown(file, AUDITOR, CONTEXT)), trace)
    replayed = time.perf_counter()
    if fault is not None:
        raise AssertionError(f"an honest training differs in interval {fault}")
    checks = []
    for r in (0, *DRAWN):
        drawn = challenged(beacon, bytes(32), trace.intervals, r)
        data = to_bytes(honest.shown(drawn))
        start = time.perf_counter()
        shown = Disclosure.of(from_bytes(data))
        check_disclosure(claim, shown, trace, drawn)
        seconds = time.perf_counter() - start
        share = len(shown.rows) / len(trace.kept)
        checks.append({"drawn": r, "seconds": seconds, "bytes": len(data), "samples": share})
    return {
        "replay": {"seal": sealed - began, "seconds": replayed - sealed, "bytes": len(file)},
        "checks": checks,
    }


def render(found: list[dict[str, Any]]) -> str:
    """The page of the tables."""
    intervals, n = found[0]["intervals"], len(found)
    lines = [
        "# Replays beside spot checks",
        "",
        f"Made by `python -m benchmarks.replays`: digits, one user of 14, the small network, {intervals} "
        f"intervals of one step; {n} seeds.",
        "",
        "A forger adds to the weights at the end of f intervals, and commits to the states that follow. "
        f"Found of {n} (the share expected by [the odds](../../docs/explanation/spot-checks.md#the-odds)):",
        "",
        f"| forged | {' | '.join(f'{r} of {intervals} drawn' for r in DRAWN)} | replayed |",
        f"|---|{'---|' * (len(DRAWN) + 1)}",
    ]
    for place, count in enumerate(FORGED):
        cells = []
        for r in DRAWN:
            hits = sum(each["found"][place]["found"][str(r)] for each in found)
            cells.append(f"{hits} ({chance_of_catching(intervals, r, count):.1%})")
        whole = sum(each["found"][place]["found"]["replay"] for each in found)
        lines.append(f"| {count} | {' | '.join(cells)} | {whole} (100.0%) |")
    lines += [
        "",
        "What an honest owner shows, and what checking it takes: medians (least to most). Each member makes "
        "a spot check; of a replay members see the trace alone. Bytes are those shown to members, and to the "
        "auditor.",
        "",
        "| check | members see of the samples | the auditor | bytes | a member's seconds | the auditor's |",
        "|---|---|---|---|---|---|",
    ]
    for place, r in enumerate((0, *DRAWN)):
        checks = [each["checks"][place] for each in found]
        shown, size = _spread([each["samples"] for each in checks], "{:.0%}"), checks[0]["bytes"]
        seconds = _spread([each["seconds"] for each in checks], "{:.3f}")
        if r:
            lines.append(f"| {r} of {intervals} | {shown} | none | {size:,} | {seconds} | none |")
            continue
        replay = [each["replay"] for each in found]
        own = _spread([each["seconds"] for each in replay], "{:.3f}")
        lines.append(f"| replay | none | 100% | {size:,} and {replay[0]['bytes']:,} | {seconds} | {own} |")
    return "\n".join(lines) + "\n"


def _spread(values: Sequence[float], form: str) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{form.format(middle)} ({form.format(low)} to {form.format(high)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", default="5-24")
    parser.add_argument("--output", type=Path, default=FIGURES)
    options = parser.parse_args()
    use_threads(1)
    use_portable_products()
    data = load_dataset("digits", 0, torch.device("cpu"))
    architecture = Architecture.of("cnn", data)
    users = partition(data, Division(FederationSettings(), (5, 7), (3,)), 0)
    measure(architecture, users[4], 0)
    found = [measure(architecture, users[4], seed) for seed in parse_seeds([options.seeds])]
    print(page := render(found))
    keep(options.output, NAME, found, page)


if __name__ == "__main__":
    main()
