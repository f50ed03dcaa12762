# SPDX-License-Identifier: Apache-2.0
"""The cost of a spot check: seconds and bytes, of its owner and of a member, by the share shown.

    python -m benchmarks.spot_checks --runs 5

One user of the 14 of the digits, the small network, the paper's 20 epochs; one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from math import ceil

import torch

from blockful_py.crypto.spot_check import challenged, commitment, salts
from blockful_py.forget import Forget
from blockful_py.learning.data import UserData
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_portable_products, use_threads
from blockful_py.learning.disclosure import Disclosure, disclosed_training, leaves_of
from blockful_py.learning.forget_sets import rows_after
from blockful_py.learning.intervals import Recorder
from blockful_py.learning.models import Architecture
from blockful_py.learning.partitions import Division, partition
from blockful_py.learning.spot_check import ClaimedTraining, check_disclosure
from blockful_py.learning.streams import generator
from blockful_py.learning.together import TrainingJob, fit_together
from blockful_py.learning.weights import from_bytes, to_bytes
from blockful_py.record.fields import spelt
from blockful_py.record.training_trace import FORMAT, Trace
from blockful_py.settings import FederationSettings, TrainingSettings

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
FORGET = Forget.of_classes([3])
TRAINING = TrainingSettings()


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one run by step, bytes of the disclosure, and its verdict."""

    train: float
    record: float
    show: float
    check: float
    size: int
    intervals: int
    drawn: int
    shown: float


def measure(architecture: Architecture, user: UserData, share: float, run: int) -> Cost:
    kept = rows_after(user, [FORGET])
    start = architecture.initial(generator(1))

    def job() -> TrainingJob:
        return TrainingJob(start, user.train.at(kept), TRAINING, generator(run, "retrain", 1, 1))

    began = time.perf_counter()
    fit_together(architecture, [job()])
    trained = time.perf_counter()
    recorder = Recorder()
    (fitted,) = recorder(architecture, [job()])
    recorded = time.perf_counter()
    salted = salts(run, len(user.train))
    samples = commitment(leaves_of(user.train, salted)).hex()
    count = len(recorder.states) - 1
    trace = Trace(
        format=FORMAT,
        samples=samples,
        kept=tuple(kept.tolist()),
        challenged=ceil(share * count),
        states=tuple(recorder.states),
    )
    beacon, committed = run.to_bytes(32, "big"), bytes(32)
    drawn = challenged(beacon, committed, count, trace.challenged)
    arguments = (user.train, kept.tolist(), salted, spelt(trace), drawn)
    data = to_bytes(disclosed_training(architecture, recorder, *arguments).tensors())
    shown = time.perf_counter()
    claim = ClaimedTraining(
        architecture, TRAINING, 1, 1, samples, run, "retrain", (FORGET,), start, fitted.weights
    )
    disclosure = Disclosure.of(from_bytes(data))
    check_disclosure(claim, disclosure, trace, drawn)
    checked = time.perf_counter()
    seconds = (trained - began, recorded - trained, shown - recorded, checked - shown)
    return Cost(*seconds, len(data), count, len(drawn), len(disclosure.rows) / len(kept))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    use_threads(1)
    use_portable_products()
    data = load_dataset("digits", 0, torch.device("cpu"))
    architecture = Architecture.of("cnn", data)
    users = partition(data, Division(FederationSettings(), (5, 7), (3,)), 0)
    measure(architecture, users[4], 0.1, 0)
    print("share   r of m  samples  train s  record s  show s  check s (range)       bytes")
    for share in SHARES:
        costs = [measure(architecture, users[4], share, run) for run in range(runs)]
        train, record, show = (
            statistics.median(getattr(each, name) for each in costs) for name in ("train", "record", "show")
        )
        check = sorted(each.check for each in costs)
        seen, size = statistics.median(each.shown for each in costs), max(each.size for each in costs)
        drawn = f"{costs[0].drawn:3d} of {costs[0].intervals:3d}"
        print(
            f"{share:5.2f}  {drawn}  {seen:6.1%}  {train:7.3f}  {record:8.3f}  {show:6.3f}"
            f"  {statistics.median(check):7.3f} ({check[0]:.3f} to {check[-1]:.3f})  {size:,}"
        )


if __name__ == "__main__":
    main()
