# SPDX-License-Identifier: Apache-2.0
"""How often descent that nobody declared is found, and how often honest models are accused of it.

    python -m benchmarks.descent [--bases 16] [--federations 3] [--copied 1]

Pairs: models derived in many ways from known bases, compared with all of them.  Federations: honest
publications, and copies published instead of them.  On digits, in one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import torch

from benchmarks.descent_federations import federations
from benchmarks.descent_pairs import costs, pairs
from benchmarks.stored import FIGURES, keep
from blockful_py.unlearning.audit.epsilon import rate_interval

NAME = "descent"
FIRST_BASE, FIRST_FEDERATION = 5, 7
"""Seeds; federations of earlier ones, and of 1000 and more, chose the thresholds of `learning.parents`."""

PAGE = """# Descent that nobody declared

Digits, one thread. Intervals are exact (Clopper and Pearson) at {confidence} % confidence; pairs of one
base, and publications of one federation, are not independent.

## Models and known bases

{bases} bases of each network, trained from different seeds for 12 epochs on one half of the digits; each
derived model is compared with all {known} bases. *Found*: pairs of a model and its parent in which the
parent is proposed. *False*: other bases proposed. *Least*: least similarity of a model and its parent;
*other*: largest of a model and another base.

| network | kind | found | false | least | other | accuracy |
|---|---|---|---|---|---|---|
{pairs}

Without hidden units in another order, distillation and the models of the same start, both networks together:
found {recall}; false {alarms}.

## Federations

Each publication is compared with all earlier models, with fingerprints under a member's key. Honest ones,
seeds {first} to {last}:

| federation | refused | warned of | publications | pairs |
|---|---|---|---|---|
{honest}

Copies of a random model of another user that is no reference, published instead of the honest model, with
its references, in {copied} of the federations of each kind. *Found*: refused or warned of. *First*: with at
most 3 models known. *Short* and *longer*: with more, in federations of 3 epochs and of 20. *Named*: findings
that name the victim. *Lost*: mean loss of accuracy in the longer ones, in points. A change is the victim's,
from its initialisation.

| copy | found, first | short | longer | of these refused: first | short | longer | named | lost |
|---|---|---|---|---|---|---|---|---|
{copies}

## Cost

Seconds of one core, the least of several runs.

| what | |
|---|---|
{costs}

Made by `python -m benchmarks.descent`.
"""
MISSED = ("hidden units in another order", "distilled into another start")
CONFIDENCE = 0.95
WIDTH = 100


def rate(hits: int, trials: int) -> str:
    """A rate in percent with its interval."""
    if not trials:
        return ""
    low, high = rate_interval(hits, trials, CONFIDENCE)
    return f"{hits} of {trials} ({100 * low:.2f} to {100 * high:.2f} %)"


def render(found: Mapping[str, Any]) -> str:
    """The page of tables."""
    rows, sums = [], [0, 0, 0, 0]
    for network, kinds in found["pairs"].items():
        for kind, one in kinds.items():
            if kind == "base":
                continue
            rows.append(pair_row(network.rpartition(":")[2].lower(), kind, one))
            if kind not in MISSED and "same start" not in kind:
                added = [one["named"], one["parents"], one["false"], one["pairs"]]
                sums = [a + b for a, b in zip(sums, added, strict=True)]
    some = next(iter(found["pairs"].values()))["8 bits"]
    of = found["federations"]
    page = PAGE.format(
        confidence=round(100 * CONFIDENCE),
        bases=some["models"],
        known=some["models"] * len(found["pairs"]),
        pairs="\n".join(rows),
        recall=rate(*sums[:2]),
        alarms=rate(*sums[2:]),
        first=of["seeds"][0],
        last=of["seeds"][-1],
        copied=of["copied"],
        honest="\n".join(honest_rows(of["honest"])),
        copies="\n".join(copy_row(kind, one) for kind, one in of["copies"].items()),
        costs="\n".join(cost_rows(found["costs"])),
    )
    parts = (part if part[0] in "|#" else fill(part, WIDTH) for part in page.strip().split("\n\n"))
    return "\n\n".join(parts) + "\n"


def pair_row(network: str, kind: str, one: Mapping[str, Any]) -> str:
    least, known = one["least"], one["accuracy"]
    cells = [
        network,
        kind,
        f"{one['named']} of {one['parents']}" if one["parents"] else "",
        f"{one['false']} of {one['pairs']}",
        "" if least is None else f"{least:.2f}",
        f"{one['most_other']:.2f}",
        "" if known is None else f"{100 * known:.0f} %",
    ]
    return f"| {' | '.join(cells)} |"


def honest_rows(honest: Mapping[str, Sequence[int]]) -> list[str]:
    rows = [f"| {kind} | {' | '.join(map(str, counts))} |" for kind, counts in honest.items()]
    refused, warned, tried, pairs = (sum(each[place] for each in honest.values()) for place in range(4))
    return [*rows, f"| all | {rate(refused, tried)} | {rate(warned, tried)} | {tried} | {pairs} |"]


def copy_row(kind: str, one: Mapping[str, Any]) -> str:
    found, refused, tried = zip(*(one[part] for part in ("few", "short", "later")), strict=True)
    cells = [
        kind,
        *(f"{hits} of {number}" for hits, number in zip(found[:2], tried[:2], strict=True)),
        rate(found[2], tried[2]),
        *map(str, refused),
        f"{one['named']} of {sum(found)}",
        f"{100 * one['lost']:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def cost_rows(costs: Mapping[str, float]) -> list[str]:
    found = {
        f"fingerprint of {costs['weights']:,} weights, {costs['bytes']:,} bytes": costs["fingerprint"],
        f"fingerprint of a tensor of {costs['weights_large']:,} weights": costs["fingerprint_large"],
        "similarity of a pair": costs["pair"],
        f"a model against {costs['known']:,} known ones": costs["search"],
        f"making those ready, once: {costs['known']:,} known ones": costs["built"],
    }
    return [f"| {what} | {seconds:.2g} s |" for what, seconds in found.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bases", type=int, default=16, help="known models of each network")
    parser.add_argument("--federations", type=int, default=3, help="seeds of each kind of federation")
    parser.add_argument("--copied", type=int, default=1, help="federations of each kind with copies")
    parser.add_argument("--output", type=Path, default=FIGURES)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found = {
        "costs": costs(),
        "pairs": pairs(asked.bases, FIRST_BASE),
        "federations": federations(
            range(FIRST_FEDERATION, FIRST_FEDERATION + asked.federations), asked.copied
        ),
    }
    page = render(found)
    keep(asked.output, NAME, found, page)
    print(page)


if __name__ == "__main__":
    main()
