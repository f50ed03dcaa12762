# SPDX-License-Identifier: Apache-2.0
"""The command line of a fuzzer that draws each case from a seed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from random import Random


def play(name: str, description: str, counted: str, run_case: Callable[[int], int]) -> None:
    """Runs cases until their time or number is over; re-raises an error of a case after its seed is printed.

    `counted`: unit of the numbers that `run_case` returns.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, help="of the first case; each next one has the next")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most")
    given = parser.parse_args()
    first = seed = Random().randrange(1 << 32) if given.seed is None else given.seed
    begun, done = time.monotonic(), 0
    while time.monotonic() < begun + given.seconds and seed < first + given.cases:
        try:
            done += run_case(seed)
        except Exception:
            sys.stderr.write(f"\n{name}: seed {seed} shows a fault; repeat with --seed {seed} --cases 1\n")
            raise
        seed += 1
        if seed % 20 == 0 and sys.stdout.isatty():
            sys.stdout.write(f"\r{name}: {seed - first} cases, {done} {counted}")
            sys.stdout.flush()
    sys.stdout.write(f"\r{name}: {seed - first} cases from seed {first}, {done} {counted}, no fault\n")
