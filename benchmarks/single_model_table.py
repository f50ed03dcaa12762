# SPDX-License-Identifier: Apache-2.0
"""Tables of `benchmarks.single_model`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from blockful_lab.experiments.tabulate import machine_line

SPLITS = ("forget", "retain", "test")
HEADS = (
    "method", "right: forget", "retain", "test", "KLoM P95: forget", "retain", "test", "KLoM mean: forget",
    "U-LiRA AUC", "TPR", "accuracy",
)  # fmt: skip


def markdown(result: Mapping[str, Any]) -> str:
    """A table for each request."""
    lines = [
        "# Single models in the field's measure", "",
        "`python -m benchmarks.single_model --output benchmarks/results/figures.jsonl`", "",
        machine_line(result["machine"]), "",
        f"The small network on all digits, {result['training']['epochs']} epochs, {result['models']} models "
        "of each row against as many that never knew. KLoM: KL(unlearned || never knew) in nats, 95th "
        "percentile over samples. U-LiRA: on the forgotten samples; TPR at 1 % false positives. The rest in "
        "percent, in brackets 95 % intervals, bootstrapped over models.", "",
    ]  # fmt: skip
    for request in result["requests"]:
        lines += [*_table(request), ""]
    return "\n".join(lines)


def _table(request: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {request['request'].capitalize()}"
    yield ""
    yield "Samples: " + ", ".join(f"{request['examples'][split]:,} {split}" for split in SPLITS) + "."
    yield ""
    yield f"| {' | '.join(HEADS)} |"
    yield "|" + "---|" * len(HEADS)
    for row in request["rows"]:
        cells = [
            row["method"],
            *(f"{100 * row['right'][split]:.1f}" for split in SPLITS),
            *(f"{row['klom'][split]['p95']:.2f}" for split in SPLITS),
            f"{row['klom']['forget']['mean']:.2f}",
            *(_percent(row["u_lira"][figure]) for figure in ("auc", "tpr", "accuracy")),
        ]
        yield f"| {' | '.join(cells)} |"


def _percent(estimate: Mapping[str, float]) -> str:
    return "{:.1f} ({:.1f} to {:.1f})".format(*(100 * estimate[name] for name in ("value", "low", "high")))
