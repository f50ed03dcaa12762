# SPDX-License-Identifier: Apache-2.0
"""Scores models on the held-out data (`blockful evaluate`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run, located_run

if TYPE_CHECKING:
    from blockful_py.learning.metrics import Quality


def evaluate(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="The models to score. Scores all models if left out.", show_default=False),
    ] = None,
    run: Run = LATEST,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            "-p",
            metavar="FILE",
            help="Also draw a PNG file: the confusion matrix and reliability diagram of one model, or "
            "accuracies by class of several models.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score the current versions of models on the held-out data: accuracy by class and calibration.

    Example: blockful evaluate r5 r6 --run runs/latest/parallel --plot classes.png
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation
    from blockful_py.report.runs import evaluating
    from blockful_py.whole_file import write_whole

    out = Output(as_json)
    with Federation.open(run) as federation:
        qualities = evaluating.evaluate(federation, models or None, out)
        forget = federation.settings.unlearning.classes
    if plot is not None:
        write_whole(plot, _drawn(qualities, forget))
    out.result({"models": {name: asdict(quality) for name, quality in qualities.items()}})
    for name, quality in qualities.items():
        known = [(share, label) for label, share in enumerate(quality.per_class) if share is not None]
        share, label = min(known)
        out.say(
            f"{name:5} accuracy {100 * quality.accuracy:5.1f} %  calibration error "
            f"{100 * quality.calibration_error:4.1f} %  weakest class {label} ({100 * share:.1f} %)"
        )
    if plot is not None:
        out.say(f"drawn in {plot}")


def _drawn(qualities: dict[str, Quality], forget: tuple[int, ...]) -> bytes:
    from blockful_py.report.plots.classes import ClassPanel, draw_classes
    from blockful_py.report.plots.confusion import draw_confusions

    if len(qualities) == 1:
        ((name, quality),) = qualities.items()
        seen = [
            (each.confidence, each.accuracy, each.samples)
            for each in quality.reliability
            if each.confidence is not None and each.accuracy is not None
        ]
        return draw_confusions({name: quality.confusion}, len(quality.per_class), forget, reliability=seen)
    panel = ClassPanel(
        "",
        [[None if s is None else 100 * s for s in quality.per_class] for quality in qualities.values()],
        [100 * quality.calibration_error for quality in qualities.values()],
    )
    return draw_classes(list(qualities), [panel], forget)
