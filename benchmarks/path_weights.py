# SPDX-License-Identifier: Apache-2.0
"""Planning a request on large random graphs: graph, affected models, waves, depths and path weights.

    python -m benchmarks.path_weights [--models 1000 --models 1000000] [--repeat 3] [--output FILE]

Each size is a process of its own; seconds are of its processor, memory is its peak less that before the graph
was drawn.  The exponents are least-squares fits of log(figure) over log(models).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import scipy

from benchmarks.growth import exponent, resident
from benchmarks.stored import keep
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import path_weights


def random_graph(models: int, references: int, seed: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Each model references `references` distinct earlier ones (fewer at the beginning)."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(models), references)
    columns = np.floor(rng.random(models * references) * rows).astype(np.int64)
    edges = np.unique(rows[columns < rows] * models + columns[columns < rows])
    counts = np.bincount(edges // models, minlength=models)
    return [f"r{i}" for i in range(models)], np.concatenate([[0], np.cumsum(counts)]), edges % models


def planned(models: int, references: int, starts: int, seed: int) -> dict[str, Any]:
    """One plan in this process: seconds by step, and MB."""
    arrays = random_graph(models, references, seed)
    before, seconds = resident("VmRSS"), {}

    def timed(step: str, call: Callable[[], Any]) -> Any:
        began = process_time()
        made = call()
        seconds[step] = process_time() - began
        return made

    graph = timed("graph", lambda: InheritanceGraph(*arrays))
    first = [graph.names[10 * (k + 1)] for k in range(starts)]
    affected = timed("affected", lambda: {*first, *graph.descendants(first)})
    timed("waves", lambda: graph.waves(affected))
    timed("depth", lambda: graph.depth(first))
    weights = timed("path weights", lambda: path_weights(graph, first))
    assert set(weights.names) == affected
    seconds["in all"] = sum(seconds.values())
    return {
        "models": models,
        "edges": len(graph.indices),
        "affected": len(affected),
        "seconds": seconds,
        "mb": resident("VmHWM") - before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, action="append", help="give it once for each size")
    parser.add_argument("--references", type=int, default=3)
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=3, help="graphs of each size (default 3; median)")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = options.models or [10**power for power in range(2, 7)]
    if options.seed is not None:
        print(json.dumps(planned(sizes[0], options.references, options.starts, options.seed)))
        return
    rows = []
    for models in sizes:
        command = [sys.executable, "-m", "benchmarks.path_weights", "--models", str(models)]
        command += ["--references", str(options.references), "--starts", str(options.starts), "--seed"]
        runs = [
            json.loads(subprocess.run([*command, str(seed)], check=True, stdout=subprocess.PIPE).stdout)
            for seed in range(options.repeat)
        ]
        rows.append(runs)
        seconds = {step: median(run["seconds"][step] for run in runs) for step in runs[0]["seconds"]}
        shown = ", ".join(f"{step} {each:.3f}" for step, each in seconds.items())
        print(f"{models:>9} models, s: {shown}; {median(run['mb'] for run in runs):.0f} MB", flush=True)
    if len(rows) > 1:
        figures: dict[str, Callable[[dict[str, Any]], float]] = {
            step: lambda run, step=step: run["seconds"][step]  # type: ignore[misc]
            for step in rows[0][0]["seconds"]
        }
        figures["MB"] = lambda run: float(run["mb"])
        for name, read in figures.items():
            points = [(runs[0]["models"], median(map(read, runs))) for runs in rows]
            print(f"exponent of {name}: {exponent(points):.2f}")
    if options.output:
        machine = {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "load": os.getloadavg(),
        }
        given = {"references": options.references, "starts": options.starts}
        report = {"machine": machine, **given, "runs": rows}
        keep(options.output, "path_weights", report)


if __name__ == "__main__":
    main()
