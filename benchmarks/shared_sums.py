# SPDX-License-Identifier: Apache-2.0
"""Models whose sums are shared among members: costs and bits of a head, and attacks.

    python -m benchmarks.shared_sums [--parts costs bits attacks] [--seeds 5 6 7 8 9]
        [--data digits shapes] [--data-files FOLDER] [--output benchmarks/results/figures.jsonl]

`benchmarks.sums_attacks` has the attacks.  Rows of other parts, data sets and seeds are kept.
"""

from __future__ import annotations

import argparse
import os
import resource
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean
from time import process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from benchmarks.stored import FIGURES, keep, load
from benchmarks.sums_attacks import ATTACKS, NETWORK, Pool, attacks, network, owners, transcripts
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.sharing.products import Shareholder
from blockful_py.crypto.sharing.residues import Residues
from blockful_py.crypto.sharing.rounds import Traffic, together
from blockful_py.learning.data import Dataset
from blockful_py.learning.datasets import load_dataset
from blockful_py.learning.device import use_threads
from blockful_py.learning.models.ridge import head_of
from blockful_py.learning.shared_head import HeadPlan, shared_head
from blockful_py.learning.shared_parts import numbers_of, part_dealing
from blockful_py.settings import DataOptions

NAME = "shared_sums"
CPU = torch.device("cpu")
FILES = ("fashion_mnist_small",)
COMMITTEES = ((2, 4), (3, 7))
FEATURES = (64, 128, 256)
HEAD_BITS = (4, 6, 8, 10, 12, 16, 30)
PARTS = ("costs", "bits", "attacks", "transcripts")

Row = dict[str, Any]


def costs(data: Dataset, seed: int, features: int, threshold: int, size: int) -> Row:
    """One head of all users' samples together: messages and processor time, and whether it has the bits."""
    pool = Pool.of(owners(data, seed, features))
    shape = pool.part().shape
    plan = HeadPlan(features + 1, pool.counts, 0, threshold)
    field = Residues(plan.primes)

    def holder(j: int) -> Shareholder:
        return Shareholder(j, threshold, size, field, b"benchmark", SeededRng(seed.to_bytes(4, "big"), j))

    numbers, statement = numbers_of(
        pool.features, pool.labels, np.arange(len(pool.labels)), pool.classes, field
    )
    dealing = part_dealing(holder(1), "pool", statement)
    began = process_time()
    proof, shares = dealing.deal(0, numbers, SeededRng(b"owner", seed))
    dealt = process_time() - began
    began = process_time()
    checked = [dealing.checks_out(0, proof, j, share) for j, share in shares.items()]
    checking = (process_time() - began) / size
    traffic = Traffic()
    began = process_time()
    opened = together(
        {
            j: shared_head(holder(j), plan, share.numbers[0].reshape(-1, *shape), "benchmark")
            for j, share in shares.items()
        },
        traffic,
    )
    seconds = (process_time() - began) / size
    expected = head_of(pool.words(), 0)
    same = all(np.array_equal(each[0], expected[0]) and each[1] == expected[1] for each in opened.values())
    return {
        "part": "costs",
        "data": data.name,
        "seed": seed,
        "features": features,
        "committee": [threshold, size],
        "primes": plan.primes,
        "share_bytes": sum(each.size for each in numbers) * 4,
        "deal_s": dealt,
        "check_s": checking,
        "rounds": traffic.rounds,
        "sent_bytes": max(traffic.sent.values()),
        "head_s": seconds,
        "passed": all(checked),
        "equal": same,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def bits(data: Dataset, seed: int) -> Row:
    """Accuracy on all test samples, by the bits of a head, of each owner's own head and of the pool's."""
    made = owners(data, seed, 128)
    labels, found = data.test.y.numpy(), {}
    for name, pools in (("one owner", [Pool.of([each]) for each in made]), ("all owners", [Pool.of(made)])):
        for count in HEAD_BITS:
            heads = [pool.head(count) for pool in pools]
            hits = [
                float((pool.logits(head, made[0].strangers).argmax(1) == labels).mean())
                for pool, head in zip(pools, heads, strict=True)
            ]
            found[f"{name}, {count}"] = mean(hits)
    return {"part": "bits", "data": data.name, "seed": seed, "accuracy": found}


def render(rows: Sequence[Row]) -> str:
    """The page of tables."""
    lines = [
        "# Models whose sums are shared",
        "",
        "One core of a machine with other work. All members run in one process; seconds are of the "
        "processor, a member. Made by `python -m benchmarks.shared_sums`, on one seed for the costs.",
        "",
        "## A head of all users' samples",
        "",
        "Share: of a part, for one member. Sent: by the member that sends most, for one head. Equal: heads "
        "with the bits of the head that follows from the clear sums.",
        "",
        "| data | features | t of n | primes | share MB | deal s | check s | rounds | sent MB | s | equal |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in (each for each in rows if each["part"] == "costs"):
        t, n = row["committee"]
        lines.append(
            f"| {row['data']} | {row['features']} | {t} of {n} | {row['primes']} | "
            f"{row['share_bytes'] / 1e6:.1f} | {row['deal_s']:.1f} | {row['check_s']:.1f} | "
            f"{row['rounds']} | {row['sent_bytes'] / 1e6:,.0f} | {row['head_s']:.1f} | "
            f"{('NO', 'yes')[row['equal']]} |"
        )
    found = [row for row in rows if row["part"] == "bits"]
    if found:
        lines += ["", "## Accuracy by the bits of a head", "", "128 features, %, all test samples.", ""]
        lines += ["| data | head of | n |" + "".join(f" {each} bits |" for each in HEAD_BITS)]
        lines += ["|---|---|---|" + "---|" * len(HEAD_BITS)]
        for name in dict.fromkeys(row["data"] for row in found):
            some = [row["accuracy"] for row in found if row["data"] == name]
            for who in ("one owner", "all owners"):
                cells = (_spread([100 * each[f"{who}, {count}"] for each in some]) for count in HEAD_BITS)
                lines.append(f"| {name} | {who} | {len(some)} | {' | '.join(cells)} |")
    found = [row for row in rows if row["part"] == "attacks"]
    if found:
        lines += [
            "",
            "## Attacks",
            "",
            "AUC of telling samples from test samples, mean over seeds (least to most); .5 is chance. The "
            "attacks are described in `benchmarks/sums_attacks.py`.",
            "",
            "| data | attack | owners in the pool | samples in the pool | n | AUC |",
            "|---|---|---|---|---|---|",
        ]
        for name in dict.fromkeys(row["data"] for row in found):
            some = [row for row in found if row["data"] == name]
            for attack in [*ATTACKS, NETWORK]:
                for count in dict.fromkeys(k for row in some for k in row["auc"].get(attack, {})):
                    values = [row["auc"][attack][count] for row in some]
                    samples = mean(row["samples"][count] for row in some)
                    lines.append(
                        f"| {name} | {attack} | {count} | {samples:,.0f} | {len(values)} | "
                        f"{mean(values):.3f} ({min(values):.3f} to {max(values):.3f}) |"
                    )
    found = [row for row in rows if row["part"] == "transcripts"]
    if found:
        lines += ["", "## All messages that t - 1 members see", ""]
        for row in found:
            lines.append(
                f"{row['runs']} solves with a sample and as many without it, {row['features']} features, 2 "
                f"of 4: {row['arrays']} arrays in a member's view. AUC of the sum of their scores "
                f"{row['sum']:.3f}, of each array {row['least']:.3f} to {row['most']:.3f}; of as many arrays "
                f"of noise {row['noise_least']:.3f} to {row['noise_most']:.3f}; of the clear sums "
                f"{row['clear']:.3f}."
            )
    return "\n".join(lines) + "\n"


def _spread(values: Sequence[float]) -> str:
    return f"{mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", default=[*PARTS], choices=PARTS)
    parser.add_argument("--data", nargs="+", default=["digits", "shapes"])
    parser.add_argument("--data-files", help="folder of the files of Fashion-MNIST")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    parser.add_argument("--features", type=int, nargs="+", default=[*FEATURES], help="of the costs")
    parser.add_argument("--committee", type=int, nargs=2, action="append", help="t and n of the costs")
    parser.add_argument("--output", type=Path, default=FIGURES)
    chosen = parser.parse_args()
    use_threads(1)
    committees = chosen.committee or COMMITTEES

    def dataset(name: str, seed: int) -> Dataset:
        return load_dataset(name, seed, CPU, DataOptions(chosen.data_files) if name in FILES else None)

    def store(row: Row) -> None:
        rows: list[Row] = []
        with suppress(KeyError):
            rows = load(chosen.output, NAME)
        rows = [each for each in rows if _key(each) != _key(row)] + [row]
        rows.sort(key=lambda each: (PARTS.index(each["part"]), each["data"], str(_key(each))))
        keep(chosen.output, NAME, rows, render(rows))
        print(row, flush=True)

    each_seed: dict[str, Callable[[Dataset, int], Row]] = {
        "bits": bits,
        "attacks": lambda data, seed: {"part": "attacks", **attacks(data, seed)},
    }
    for part in chosen.parts:
        for name in chosen.data:
            if part == "costs":
                for features in chosen.features:
                    for t, n in committees:
                        store(costs(dataset(name, chosen.seeds[0]), chosen.seeds[0], features, t, n))
            elif part == "transcripts":
                store({"part": part, **transcripts(dataset(name, chosen.seeds[0]), chosen.seeds[0])})
            else:
                for seed in chosen.seeds:
                    row = each_seed[part](dataset(name, seed), seed)
                    if part == "attacks" and name == "digits":
                        row["auc"][NETWORK] = network(dataset(name, seed), seed)
                    store(row)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(str(row.get(each)).rjust(4) for each in ("part", "data", "features", "committee", "seed"))


if __name__ == "__main__":
    main()
