# SPDX-License-Identifier: Apache-2.0
"""Cost of a block without events for a process that waits: the processor's time, and bytes of event files.

    python -m benchmarks.empty_blocks [--models 100 --models 1000 ...] [--blocks 50]

The models are `benchmarks.growth`'s.  After each block the process reads catalogue and archive, as every
participant and member does that looks for work.  The nodes' time is not counted.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.growth import exponent, publish, settings
from benchmarks.stored import FIGURES, keep
from blockful_py.chain.devnet import NodeOptions, start_together
from blockful_py.pipeline.federation import Federation

WIDTH = 1
"""Hidden units of the models, whose weights nobody reads here."""


def timed(work: Callable[[], object]) -> float:
    """Seconds of the processor."""
    before = process_time()
    work()
    return process_time() - before


def measure(models: int, blocks: int) -> dict[str, float]:
    live, archive = start_together(NodeOptions(1337, kind="anvil"), NodeOptions(1338, kind="anvil"))
    with live, archive, tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        size = {"width": WIDTH, "depth": 0}
        with Federation.create(settings([live.url, archive.url], size), run) as federation:
            publish(federation, models)
        with Federation.open(run) as federation:
            record, contracts = federation.context.record, federation.contracts
            opening = timed(lambda: (record.catalogue.read(), record.archive.read()))
            bytes_before = size_of(run)
            spent = []
            for _ in range(blocks):
                for side in (contracts.live, contracts.archive):
                    side.node.rpc.call("evm_mine")
                    side.node.look_again()
                spent.append(timed(lambda: (record.catalogue.read(), record.archive.read())))
            return {
                "models": models,
                "first": opening,
                "block": median(spent),
                "least": min(spent),
                "most": max(spent),
                "bytes": (size_of(run) - bytes_before) / blocks,
            }


def size_of(run: Path) -> int:
    """Bytes of the files of events."""
    return sum(path.stat().st_size for path in run.rglob("*.jsonl"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, action="append", help="give it once for each size")
    parser.add_argument("--blocks", type=int, default=50)
    parser.add_argument("--output", type=Path, default=FIGURES)
    given = parser.parse_args()
    rows = [measure(models, given.blocks) for models in given.models or (100, 1_000, 10_000)]
    print(f"{'models':>8}{'first look, s':>15}{'a block, ms':>13}{'least':>8}{'most':>8}{'bytes':>8}")
    for row in rows:
        block, least, most = (1_000 * row[each] for each in ("block", "least", "most"))
        print(
            f"{row['models']:>8}{row['first']:>15.2f}{block:>13.2f}{least:>8.2f}{most:>8.2f}{row['bytes']:>8.0f}"
        )
    if len(rows) > 1:
        print(f"exponent {exponent([(row['models'], row['block']) for row in rows]):.2f}")
    keep(given.output, "empty_blocks", rows)


if __name__ == "__main__":
    main()
