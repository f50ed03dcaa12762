# SPDX-License-Identifier: Apache-2.0
"""Passing changes against copying the same weights.

    kernel    from one array that exists to another; the changes stay in the cache, as for many descendants
    in place  the same, into the array itself
    from RAM  the same as `kernel`, the changes as long as the weights, as for one descendant
    models    four whole models, into new memory

GB/s counts reads and writes of memory, as STREAM does (McCalpin 1995): 8 bytes a number, and 4 more for each
start whose changes come from memory.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
import torch

from benchmarks.stored import keep
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.path_weights import path_weights
from blockful_py.unlearning.propagation import BLOCK, Scratch, pass_block, propagate

STARTS = (1, 2, 4)
CASES = tuple((where, n) for where in ("kernel", "in place", "from RAM", "models") for n in STARTS)
Pair = tuple[Callable[[], object], Callable[[], object], int]
"""A copy, the passing, and the bytes that the passing moves; the copy moves 8 a number."""


def kernel(size: int, starts: int, where: str) -> Pair:
    """A copy, and the changes of `starts` added, between arrays that exist."""
    rng = np.random.default_rng(0)
    old, new = rng.random(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
    length = size if where == "from RAM" else BLOCK
    weights = [(np.float32(0.3), rng.random(length, dtype=np.float32)) for _ in range(starts)]
    into = old if where == "in place" else new
    scratch = Scratch()

    def passed() -> None:
        for first in range(0, size, BLOCK):
            begin = first % length
            terms = [(weight, change[begin : begin + BLOCK]) for weight, change in weights]
            pass_block(old[first : first + BLOCK], terms, into[first : first + BLOCK], scratch)

    return (lambda: np.copyto(new, old)), passed, (8 + 4 * starts * (length == size)) * size


def models(size: int, starts: int, where: str) -> Pair:
    """Four descendants of four tensors each, cloned and propagated."""
    names = [f"s{k}" for k in range(starts)]
    references: dict[str, list[str]] = {name: [] for name in names}
    references |= {f"y{i}": names for i in range(4)}
    paths = path_weights(InheritanceGraph.from_references(references), names)
    drawn = torch.Generator().manual_seed(0)
    old = {
        name: {f"w{i}": torch.randn(size // 16, generator=drawn) for i in range(4)}
        for name in paths.descendants
    }
    deltas = {name: {f"w{i}": torch.randn(size // 16, generator=drawn) for i in range(4)} for name in names}

    def copied() -> object:
        return {name: {key: tensor.clone() for key, tensor in model.items()} for name, model in old.items()}

    def passed() -> object:
        return {name: dict(new) for name, new in propagate(old, paths, deltas, 1.0, 0.0).weights.items()}

    return copied, passed, 8 * size


def compare(where: str, size: int, starts: int, repeat: int) -> dict[str, object]:
    """Median of `repeat` interleaved runs of both, in wall-clock and in processor time: on a machine with
    other work, only the latter is theirs alone.
    """
    copy, passed, moved = (models if where == "models" else kernel)(size, starts, where)
    seconds: tuple[list[float], list[float]] = ([], [])
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat + 1):
        for each, own, run in zip(seconds, spent, (copy, passed), strict=True):
            began = (perf_counter(), process_time())
            run()
            each.append(perf_counter() - began[0])
            own.append(process_time() - began[1])
    copies, passes = (each[1:] for each in seconds)
    own_copies, own_passes = (each[1:] for each in spent)
    copied = 8 * size
    more = moved / copied
    return {
        "where": where,
        "starts": starts,
        "copy_gb_s": copied / median(copies) / 1e9,
        "pass_gb_s": moved / median(passes) / 1e9,
        "share": more * median(c / p for c, p in zip(copies, passes, strict=True)),
        "copy_gb_s_processor": copied / median(own_copies) / 1e9,
        "pass_gb_s_processor": moved / median(own_passes) / 1e9,
        "share_processor": more * median(c / p for c, p in zip(own_copies, own_passes, strict=True)),
        "n": repeat,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=2**24, help="numbers that are passed at once")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--output", type=Path, help="write the result as JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'':<10}{'starts':>7}{'copy GB/s':>11}{'pass GB/s':>11}{'share':>7}{'processor':>11}{'n':>5}")
    rows = [compare(where, options.size, starts, options.repeat) for where, starts in CASES]
    for row in rows:
        print(
            f"{row['where']:<10}{row['starts']:>7}{row['copy_gb_s']:>11.1f}{row['pass_gb_s']:>11.1f}"
            f"{row['share']:>7.2f}{row['share_processor']:>11.2f}{row['n']:>5}",
            flush=True,
        )
    if options.output:
        machine = {
            "platform": platform.platform(),
            "cores": os.cpu_count(),
            "threads": 1,
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        result = {"machine": machine, "rows": rows}
        keep(options.output, "propagation", result)


if __name__ == "__main__":
    main()
