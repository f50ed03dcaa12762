# SPDX-License-Identifier: Apache-2.0
"""The figures of `benchmarks.federation_device` as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from textwrap import fill
from typing import Any

CPU, GPU, STACKED = "cpu", "gpu", "gpu, stacked"
Case = Mapping[str, Any]

LEARNT = 0.4
"""Least mean AD_r of trained models at which a method's effect shows; with 20 classes, chance is 0.05."""


def markdown(result: Mapping[str, Any]) -> str:
    """A page with a table for each question."""
    machine, cases = result["machine"], result["cases"]
    head = f"{machine['gpu']} and {machine['cores']} cores ({machine['processor']}), Python "
    head += (
        f"{machine['python']}, torch {machine['torch']}, cuDNN {machine['cudnn']}; `paper14`, seed 0: users "
    )
    head += "5 and 7 alone hold class 3 and ask to have it forgotten; batches of 32; seconds are medians of "
    head += f"{result['repeat']} runs (least to most), CPU and GPU in turn; times as fast: the CPU's seconds "
    head += "over the GPU's, run by run."
    again = ("GPU, stacks, s", "times as fast")
    return "\n".join(
        [
            "# A federation on a GPU",
            "",
            "`python -m benchmarks.federation_device --output FILE`",
            "",
            fill(head, 100, break_on_hyphens=False),
            "",
            *_table(
                "## Training 14 models",
                ("network", "samples", "epochs", "threads", "CPU, s", "GPU, s", "times as fast", *again),
                map(_training, cases),
            ),
            *_table(
                "## A request",
                ("network", "method", "CPU, s", "GPU, s", "times as fast"),
                (_request(case, method) for case in cases for method in case["methods"]),
            ),
            *_table(
                "## Scoring five candidates, images a second",
                ("network", "samples", "CPU", "GPU", "times as fast"),
                map(_scoring, cases),
            ),
            *_table(
                "## Bits, and how far the two sides are apart",
                (
                    "network",
                    "same bits again: trainings",
                    "requests",
                    "distance of the trained weights",
                    "predictions that differ",
                    "AD_f, AD_r trained, CPU",
                    "GPU",
                ),
                map(_apart, cases),
            ),
            *_table(
                "## AD_f and AD_r after a request, %, of networks that had learnt before",
                ("network", "method", "CPU", "GPU"),
                (_forgotten(case, method) for case in cases if _learnt(case) for method in case["methods"]),
            ),
            *_table(
                "## Memory of the GPU that a process takes, MiB",
                ("network", "beside torch's allocator", "by the allocator, at most"),
                (_memory(case) for case in cases if case["memory"]),
            ),
        ]
    )


def _training(case: Case) -> tuple[str, ...]:
    seconds = {side: each["training"]["seconds"] for side, each in case["sides"].items()}
    size = (f"{case['samples']:,}", str(case["epochs"]), str(case["threads"]))
    stacked = _against(seconds[CPU], seconds[STACKED]) if STACKED in seconds else ("", "")
    return (_name(case), *size, _spread(seconds[CPU]), *_against(seconds[CPU], seconds[GPU]), *stacked)


def _request(case: Case, method: str) -> tuple[str, ...]:
    cpu, gpu = (case["sides"][side]["requests"][method]["seconds"] for side in (CPU, GPU))
    return (_name(case), method, _spread(cpu), *_against(cpu, gpu))


def _scoring(case: Case) -> tuple[str, ...]:
    cpu, gpu = (median(case["sides"][side]["images_a_second"]) for side in (CPU, GPU))
    return (_name(case), f"{case['scored']:,}", f"{cpu:,.0f}", f"{gpu:,.0f}", f"{gpu / cpu:.1f}")


def _against(cpu: Sequence[float], gpu: Sequence[float]) -> tuple[str, str]:
    return _spread(gpu), _spread([a / b for a, b in zip(cpu, gpu, strict=True)])


def _spread(values: Sequence[float]) -> str:
    """Median, and least to most."""
    return f"{_short(median(values))} ({_short(min(values))} to {_short(max(values))})"


def _short(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _apart(case: Case) -> tuple[str, ...]:
    cpu, gpu = case["sides"][CPU], case["sides"][GPU]
    repeated = [each["same_bits"] for side in (cpu, gpu) for each in side["requests"].values()]
    trained = [side["training"]["same_bits"] for side in case["sides"].values()]
    return (
        _name(case),
        f"{sum(trained)} of {len(trained)}",
        f"{sum(repeated)} of {len(repeated)}",
        f"{gpu['distance']:.1e}",
        f"{gpu['differ']} of {case['predictions']:,}",
        _accuracy(cpu["training"]),
        _accuracy(gpu["training"]),
    )


def _forgotten(case: Case, method: str) -> tuple[str, ...]:
    cpu, gpu = (_accuracy(case["sides"][side]["requests"][method]) for side in (CPU, GPU))
    return (_name(case), method, cpu, gpu)


def _learnt(case: Case) -> bool:
    trained: float = case["sides"][CPU]["training"]["ad_r"]
    return trained > LEARNT


def _accuracy(row: Mapping[str, float]) -> str:
    return f"{100 * row['ad_f']:.1f}, {100 * row['ad_r']:.1f}"


def _memory(case: Case) -> tuple[str, ...]:
    memory = case["memory"]
    return (_name(case), *(f"{memory[part]:,}" for part in ("beside", "reserved")))


def _name(case: Case) -> str:
    return f"{case['model']} {'x'.join(map(str, case['input']))}"


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [title, "", _row(head), "|" + "---|" * len(head), *map(_row, rows), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
