# SPDX-License-Identifier: Apache-2.0
"""The simulator beside laboratory runs with the same settings: constants from some, the error on the others.

    python -m benchmarks.simulation [--calibrate 2,8] [--validate 4:4,4:7] [--output FILE]

Each laboratory run is a chain of models whose committee and two embedded chains are one process.  The runs of
`--calibrate` (models, four members) give the lines over models of the constants that only whole runs show;
those of `--validate` (models:members) are then simulated with them.  Processor seconds, both paradigms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.laboratory import Laboratory, measured
from blockful_py.simulation.constants import Constants
from blockful_py.simulation.outcome import SimulationOutcome, simulate_once
from blockful_py.simulation.settings import SimulationSettings

MEMBERS = 4
SOURCE = "python -m benchmarks.simulation: laboratory runs, processor time"
TEST_SAMPLES, FORWARD = 360, 1 / 3
"""Held-out digits on which claims are measured; sample passes of one of them."""
GAS_SECONDS = "evm.gas"


def constants_of(runs: Sequence[Laboratory], known: Constants) -> dict[str, Any]:
    """Lines over the models of a proposal, from one proposal of all models and many of one."""
    points: dict[str, list[tuple[int, float]]] = {}
    for run in runs:
        proposals = run.counted.consensus
        models = run.models // proposals
        for name, seconds in _parts(run, known).items():
            points.setdefault(name, []).append((models, max(0.0, seconds / proposals)))
    return {
        name: {"points": sorted(found), "over": "models of a proposal", "unit": "s", "source": SOURCE}
        for name, found in points.items()
    }


def _parts(run: Laboratory, known: Constants) -> dict[str, float]:
    """Seconds of all proposals of a run, without what other constants stand for."""
    measuring = run.models * TEST_SAMPLES * FORWARD * known.at("pass.cnn-digits")
    gas = {name: used * known.at(GAS_SECONDS) for name, used in run.gas.items()}
    cosigned = run.calls["attest_cosigning"] + run.calls["cosign"]
    # The same rounds make the archive's certificate and the live chain's.
    releasing = run.calls["release"] - cosigned / 2
    return {
        "claims": run.stages["audit"] - measuring,
        "store": run.stages["store"],
        "committee.draft": run.stages["certify"] - run.calls["certify_redaction"] - run.calls["release"],
        "committee.review": run.calls["approve"] / run.members - measuring,
        "committee.release": releasing / run.members,
        "send.archive": run.stages["archive"] - gas["archive"],
        "send.live": run.stages["live"] - gas["live"],
    }


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


def compared(run: Laboratory, constants: Constants) -> dict[str, Any]:
    """Seconds from the claims to the last transaction, without learning, which depends on the data."""
    outcome = simulated(run, constants)
    real = run.seconds - run.stages["unlearn"]
    whole = outcome.seconds - outcome.stages["unlearn"]
    return {
        "paradigm": run.paradigm,
        "models": run.models,
        "members": run.members,
        "real": real,
        "simulated": whole,
        "error": whole / real - 1,
        "counts_equal": run.counted == run.formula == outcome.operations,
        "stages": {"real": run.stages, "simulated": outcome.stages},
        "gas": {"real": run.gas, "simulated": {name: each["gas"] for name, each in outcome.chains.items()}},
        "bytes": {
            "real": run.bytes,
            "simulated": {name: each["bytes"] for name, each in outcome.chains.items()},
        },
    }


def report(calibrating: Sequence[Laboratory], validating: Sequence[Laboratory]) -> dict[str, Any]:
    found = constants_of(calibrating, Constants.load())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "constants.json"
        path.write_text(json.dumps(found), encoding="utf-8")
        constants = Constants.load(path)
    return {"constants": found, "validation": [compared(run, constants) for run in validating]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--calibrate", default="2,8", help="models (default 2,8)")
    parser.add_argument("--validate", default="4:4,4:7", help="models:members (default 4:4,4:7)")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    first = [run for models in options.calibrate.split(",") for run in measured(int(models), MEMBERS)]
    pairs = [pair.split(":") for pair in options.validate.split(",")]
    second = [run for models, members in pairs for run in measured(int(models), int(members))]
    found = report(first, second)
    for row in found["validation"]:
        print(
            f"{row['paradigm']:11}{row['models']:4} models{row['members']:4} members"
            f"{row['real']:9.3f} s real{row['simulated']:9.3f} s simulated{row['error']:+8.1%}"
        )
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
