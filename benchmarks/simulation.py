# SPDX-License-Identifier: Apache-2.0
"""The simulator beside laboratory runs with the same settings: the error of its seconds, gas and call data.

    python -m benchmarks.simulation [--runs 4:4,4:7] [--repeats 3] [--output FILE]

Each laboratory run is a chain of models (models:members) whose committee and two embedded chains are one
process; it is carried out in both paradigms, `--repeats` times.  Processor seconds of one thread, from the
claims to the last transaction: learning depends on the data.  The constants come from runs of other sizes
(`benchmarks.simulation_constants`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.laboratory import Laboratory, measured
from benchmarks.simulation_constants import TEST_SAMPLES
from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.outcome import SimulationOutcome, simulate_once
from blockful_lab.simulation.settings import SimulationSettings


def simulated(run: Laboratory, constants: Constants) -> SimulationOutcome:
    settings = SimulationSettings(
        paradigm="parallel" if run.paradigm == "parallel" else "sequential",
        members=run.members,
        requests=1,
        depth=run.models,
        samples=1,
        epochs=1,
        claim_samples=TEST_SAMPLES,
        interval=0.0,
        machines="one",
    )
    return simulate_once(settings, constants, 1)


def compared(runs: Sequence[Laboratory], constants: Constants) -> dict[str, Any]:
    """Runs of the same settings beside their simulation."""
    first, outcome = runs[0], simulated(runs[0], constants)
    real = [run.seconds - run.stages["unlearn"] for run in runs]
    whole = outcome.seconds - outcome.stages["unlearn"]
    shares = outcome.chains
    return {
        "paradigm": first.paradigm,
        "models": first.models,
        "members": first.members,
        "real": real,
        "simulated": whole,
        "errors": [whole / each - 1 for each in real],
        "counts_equal": all(run.counted == run.formula == outcome.operations for run in runs),
        "gas": {name: shares[name]["gas"] / first.gas[name] - 1 for name in shares},
        "bytes": {name: shares[name]["bytes"] / first.bytes[name] - 1 for name in shares},
        "stages": {"real": [run.stages for run in runs], "simulated": outcome.stages},
    }


def measure(pairs: Sequence[tuple[int, int]], repeats: int) -> list[dict[str, Any]]:
    constants, found = Constants.load(), []
    for models, members in pairs:
        runs = measured(models, members, repeats)
        for paradigm in ("parallel", "sequential"):
            row = compared([run for run in runs if run.paradigm == paradigm], constants)
            print(line(row), flush=True)
            found.append(row)
    return found


def line(row: dict[str, Any]) -> str:
    """A row of the table in docs/reference/simulation.md."""
    real, errors = row["real"], row["errors"]
    others = [f"{row[what][chain]:+.1%}" for what in ("gas", "bytes") for chain in ("live", "archive")]
    return (
        f"| {row['paradigm']} | {row['models']} | {row['members']} "
        f"| {fmean(real):.3f} ({min(real):.3f} to {max(real):.3f}) | {row['simulated']:.3f} "
        f"| {fmean(errors):+.1%} ({min(errors):+.1%} to {max(errors):+.1%}) | {len(real)} "
        f"| {', '.join(others)} | {'yes' if row['counts_equal'] else 'no'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", default="4:4,4:7", help="models:members (default 4:4,4:7)")
    parser.add_argument(
        "--repeats", type=int, default=3, help="requests of each paradigm (default 3, at most 5)"
    )
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    pairs = [pair.split(":") for pair in options.runs.split(",")]
    found = measure([(int(models), int(members)) for models, members in pairs], options.repeats)
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
