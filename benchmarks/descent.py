# SPDX-License-Identifier: Apache-2.0
"""How often descent that nobody declared is found, and how often honest models are accused of it.

    python -m benchmarks.descent [--bases 16] [--federations 6] [--copied 2]

Pairs: models derived in many ways from known bases, compared with all of them.  Federations: honest
publications, and copies published instead of them.  On digits, in one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
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

| federation | refused | of publications | of pairs |
|---|---|---|---|
{honest}

Copies of a random model of another user that is no reference, published instead of the honest model, with
its references, in {copied} of the federations of each kind. *First*: with at most 3 models known. *Short*
and *longer*: with more, in federations of 3 epochs and of 20. *Named*: refusals that name the victim.
*Lost*: mean loss of accuracy in the longer ones, in points. A change is the victim's, from its
initialisation.

| copy | refused, first | short | longer | named | lost |
|---|---|---|---|---|---|
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
    return PAGE.format(
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
    rows = [f"| {kind} | {refused} | {tried} | {pairs} |" for kind, (refused, tried, pairs) in honest.items()]
    refused, tried, pairs = (sum(each[place] for each in honest.values()) for place in range(3))
    return [*rows, f"| all | {refused} | {rate(refused, tried)} | {rate(refused, pairs)} |"]


def copy_row(kind: str, one: Mapping[str, Any]) -> str:
    refused = [one[part][0] for part in ("few", "short", "later")]
    cells = [
        kind,
        *(f"{hits} of {one[part][1]}" for hits, part in zip(refused, ("few", "short"), strict=False)),
        rate(*one["later"]),
        f"{one['named']} of {sum(refused)}",
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
    parser.add_argument("--federations", type=int, default=6, help="seeds of each kind of federation")
    parser.add_argument("--copied", type=int, default=2, help="federations of each kind with copies")
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
