# SPDX-License-Identifier: Apache-2.0
"""One request with several starts against a request for each of them: models, transactions, gas, seconds.

    python -m benchmarks.merged_requests [--starts 1 --starts 2 ...]

As many roots as the most starts, and as many models that inherit from two neighbouring roots each.  The
laboratory's four members and both chains (`embedded`) run in this process, whose processor time counts
their work.  Each measurement makes the models forget another class.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from blockful_py.pipeline.federation import Federation
from blockful_py.settings import Settings

CLASSES = 10


@dataclass(frozen=True, slots=True)
class Taken:
    """Totals of the requests.

    Attributes:
        replaced: new versions; a model that two requests reach counts twice.
        gas: of both chains.
        processor, seconds: of this process; by the clock.
    """

    starts: int
    requests: int
    replaced: int
    transactions: int
    gas: int
    processor: float
    seconds: float
    load: float


def settings(starts: int) -> Settings:
    roots = [f"r{number}" for number in range(1, starts + 1)]
    graph: dict[str, tuple[str, ...]] = dict.fromkeys(roots, ())
    for number, root in enumerate(roots):
        graph[f"r{starts + number + 1}"] = tuple(sorted({root, roots[(number + 1) % starts]}))
    federation = {"scenario": "scripted", "situation": "all_hold", "users": 2 * starts, "graph": graph}
    return Settings.parse(
        {
            "federation": federation,
            "learning": {"epochs": 1, "root_factor": 1},
            "unlearning": {
                "starts": ("r1",),
                "classes": (0,),
                "parallel": "gradient_ascent",
                "sequential": "retrain",
            },
            "committee": {"size": 4},
            "chain": {"packaging_interval": 0, "devnet": "embedded"},
        }
    )


def measure(federation: Federation, requests: Sequence[Sequence[str]], forget: int) -> Taken:
    """Carries out a request for each list of starts."""
    began, spent = perf_counter(), process_time()
    done = [federation.unlearn(starts, (forget,)) for starts in requests]
    processor, seconds = process_time() - spent, perf_counter() - began
    executed = [each for unlearned in done for each in unlearned.executed]
    return Taken(
        starts=sum(map(len, requests)),
        requests=len(done),
        replaced=sum(len(each.nodes) for each in done),
        transactions=len(executed),
        gas=sum(each.receipt.gas_used for each in executed),
        processor=processor,
        seconds=seconds,
        load=os.getloadavg()[0],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--starts", type=int, action="append", help="at most five numbers")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    counts = options.starts or [1, 2, 5, 10, 20]
    if len(counts) > CLASSES // 2:
        parser.error(f"each number takes two of the {CLASSES} classes: give at most {CLASSES // 2}.")
    rows: list[Taken] = []
    print(
        f"{'starts':>6}{'requests':>10}{'replaced':>10}{'transactions':>14}{'gas':>12}{'processor':>11}{'s':>9}"
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Federation.create(settings(max(counts)), Path(folder) / "run") as federation,
    ):
        federation.train()
        for number, count in enumerate(counts):
            starts = [f"r{each}" for each in range(1, count + 1)]
            for forget, requests in ((2 * number, [starts]), (2 * number + 1, [[each] for each in starts])):
                row = measure(federation, requests, forget)
                rows.append(row)
                print(
                    f"{row.starts:>6}{row.requests:>10}{row.replaced:>10}{row.transactions:>14}{row.gas:>12,}"
                    f"{row.processor:>11.1f}{row.seconds:>9.1f}",
                    flush=True,
                )
        assert federation.verify().passed
    if options.output:
        options.output.write_text(
            json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
