# SPDX-License-Identifier: Apache-2.0
"""Time of the path weights on a large random graph: building the graph, and solving for C, apart."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=1_000_000)
    parser.add_argument("--references", type=int, default=3)
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="write the result as JSON")
    options = parser.parse_args()

    arrays = random_graph(options.models, options.references, options.seed)
    built, solved = [], []
    for _ in range(options.repeat):
        began = perf_counter()
        graph = InheritanceGraph(*arrays)
        built.append(perf_counter() - began)
        starts = [graph.names[10 * (k + 1)] for k in range(options.starts)]
        began = perf_counter()
        weights = path_weights(graph, starts)
        solved.append(perf_counter() - began)

    result = {
        "models": len(graph),
        "edges": len(graph.indices),
        "starts": options.starts,
        "affected": len(weights.names),
        "repeat": options.repeat,
        "build_seconds": {"best": min(built), "median": float(np.median(built))},
        "solve_seconds": {"best": min(solved), "median": float(np.median(solved))},
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "machine": {
            "platform": platform.platform(),
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
    }
    print(json.dumps(result, indent=2))
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
