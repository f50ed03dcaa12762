# SPDX-License-Identifier: Apache-2.0
"""Lists the models of a run and scores them (`blockful graph`, `evaluate`)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run, located_run, spent

if TYPE_CHECKING:
    from blockful_py.learning.metrics import Quality
    from blockful_py.record.catalogue import Catalogue


def graph(
    run: Run = LATEST,
    starts: Annotated[
        list[str] | None,
        typer.Option("--start", metavar="MODEL", help="Mark the descendants of this model. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the models on the live chain, their references, and the descendants of the starts.

    Example: blockful graph --run runs/latest/parallel --start r5 --start r7
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation
    from blockful_py.record.reach import kinds_of

    out = Output(as_json)
    with Federation.open(run) as federation:
        catalogue = federation.catalogue()
        parties = federation.settings.federation
        usual = () if parties.is_adopted else federation.settings.unlearning.starts
        wanted = tuple(starts or usual)
    for start in wanted:
        catalogue[start]
    depth = catalogue.graph.depth(wanted)
    owners = {name: placed.node.statement for name, placed in catalogue.models.items()}
    names = {name: parties.party(own.user, own.owner) for name, own in owners.items()}
    out.result(
        {
            "starts": list(wanted),
            "models": {
                name: {
                    "position": str(placed.position),
                    "version": placed.version,
                    "references": list(catalogue.graph.references(name)),
                    "kinds": kinds_of(placed.node),
                    "depth": depth[name].shortest if name in depth else None,
                    "privacy": spent(placed),
                    "increments": {
                        each.label: each.claims and each.claims.model_dump()
                        for each in placed.node.increments
                    },
                    "party": names[name],
                }
                for name, placed in catalogue.models.items()
            },
        }
    )
    for name, placed in catalogue.models.items():
        references = _edges(catalogue, name)
        role = "start" if name in wanted else f"depth {depth[name].shortest}" if name in depth else ""
        privacy = placed.node.statement.privacy
        noisy = f"  ({privacy})" if privacy else ""
        owner = f'  by "{names[name]}"' if names[name] else ""
        clean = "".join(f"  ({each})" for each in placed.node.increments)
        out.say(
            f"{name:5} {placed.position!s:6} v{placed.version}  {role:8} <- {references}{noisy}{clean}{owner}"
        )
    if any(names.values()):
        out.say("names in quotation marks were chosen by the owners")


def _edges(catalogue: Catalogue, name: str) -> str:
    """The references of a model, with the kind of edge where it was made elsewhere."""
    from blockful_py.record.reach import kinds_of

    placed = catalogue[name]
    if placed.node.statement.adopted is None:
        return ", ".join(catalogue.graph.references(name)) or "the shared initialisation"
    return ", ".join(f"{each} ({kind})" for each, kind in kinds_of(placed.node).items()) or "no parent"


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
