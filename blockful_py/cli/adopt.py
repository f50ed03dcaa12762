# SPDX-License-Identifier: Apache-2.0
"""Adopts models made elsewhere, and lists the models that a data set reached (`blockful adopt`, `reach`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Quiet, Run, located_run
from blockful_py.cli.unlearn import Datasets
from blockful_py.cli.work_shown import planned, say_plan
from blockful_py.errors import UnlearningError

if TYPE_CHECKING:
    from blockful_py.adopt.plan import AdoptionPlan, PlannedModel

MLFLOW = "mlflow:"


def adopt(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder of models, a CSV file of edges, or mlflow:URI (mlflow: for MLflow's own).",
            show_default=False,
        ),
    ],
    run: Annotated[
        Path, typer.Option("--run", "-r", metavar="DIR", help="The run directory. Makes it if it is missing.")
    ] = Path("runs/adopted"),
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and publish nothing.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Put models that were made elsewhere on the record, with their parents and data sets.

    Weights stay where they are: the record has their hashes.  Running the command again publishes new and
    changed models.  It ends with status 1 if a model is refused; the others are adopted.

    Example: blockful adopt models --run runs/adopted --dry-run
    """
    from blockful_py.adopt.plan import plan_adoption, require_some
    from blockful_py.graph.inheritance import InheritanceGraph
    from blockful_py.record.catalogue import Catalogue

    out, is_there = Output(as_json, quiet), (run / "run.json").exists()
    found = _read(source, out)
    plan = plan_adoption(found, Catalogue({}, InheritanceGraph.from_references({})))
    require_some(plan)
    if is_there or not dry_run:
        from blockful_py.adopt.publishing import new_record, publish
        from blockful_py.pipeline.federation import Federation

        with Federation.open(run) if is_there else new_record(run) as federation:
            plan = plan_adoption(found, federation.catalogue())
            if not dry_run:
                publish(federation, plan, out)
    _show(out, plan, run, dry_run)
    if plan.refused:
        raise typer.Exit(1)


def reach(
    datasets: Datasets = None,
    run: Run = LATEST,
    as_json: AsJson = False,
) -> None:
    """List every model that data sets reached, and by what, by whom and at what cost it is made again.

    It reads no weights, and is the plan of a request.  Without --dataset it lists the data sets.

    Example: blockful reach --dataset wikipedia --run runs/adopted
    """
    run = located_run(run)
    from blockful_py.pipeline.run.opened import OpenedRun
    from blockful_py.record.reach import known_datasets
    from blockful_py.record.reach import reach as reached

    out = Output(as_json)
    with OpenedRun.attach(run) as opened:
        catalogue, chunk = opened.catalogue(), opened.run.settings.chain.chunk_models
    known = known_datasets(catalogue)
    if not datasets:
        out.result({"datasets": known})
        for name, count in known.items():
            out.say(f"{name}  in {count} models")
        return
    unknown = [name for name in datasets if name not in known]
    if unknown:
        near = ", ".join([name for name in known if unknown[0].lower() in name.lower()][:5])
        raise UnlearningError(
            f"no adopted model names the data set {unknown[0]!r}: "
            f"{f'perhaps {near}' if near else '`blockful reach` lists those that models name'}."
        )
    found = reached(catalogue, datasets)
    out.result(
        {"datasets": list(datasets), "starts": list(found.starts), **planned(catalogue, found, chunk)[1]}
    )
    say_plan(catalogue, found, chunk, out)


def recompute(
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that was adopted. Only read.")],
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="Gets a folder for each model that is computed.")
    ],
    run: Run = Path("runs/adopted"),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute withdrawn merges and quantised models again, without data, and adopt them as later versions.

    A linear merge is made of the parts that are left, a quantised model of its parent's later version.  Each
    member repeats the computation, tensor by tensor, before it signs.  It ends with status 1 if a model was
    left that could not be computed here.

    Example: blockful recompute models --into recomputed --run runs/adopted
    """
    run = located_run(run)
    from blockful_py.adopt.publishing import publish
    from blockful_py.adopt.recomputing import lent
    from blockful_py.adopt.recomputing import recompute as recomputed
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json, quiet)
    with Federation.open(run) as federation:
        done = recomputed(federation.catalogue(), source, into)
        with lent(federation.context.stores.live, done.files):
            publish(federation, done.plan, out)
    refused = {**done.left, **done.plan.refused}
    out.result(
        {
            "run": str(run),
            "models": {each.name: _shown(each) for each in done.plan.models},
            "unchanged": list(done.plan.unchanged),
            "left": refused,
        }
    )
    for each in done.plan.models:
        came, place = ", ".join(each.parents), into / each.found.source
        out.say(f"{each.name}  <- {came}  after {each.supersedes}, in {place}")
    for name, reason in refused.items():
        out.problem(f"left: {name}", reason)
    out.say(f"{len(done.plan.models)} computed again and published, {len(refused)} left")
    if refused:
        raise typer.Exit(1)


def _read(source: str, out: Output) -> Any:
    if source.startswith(MLFLOW):
        from blockful_py.adopt.mlflow_registry import read_registry

        return read_registry(source.removeprefix(MLFLOW))
    path = Path(source)
    if path.suffix.lower() == ".csv":
        from blockful_py.adopt.edge_list import read_list

        return read_list(path)
    from blockful_py.adopt.folders import read_folder

    with out.stage("read the models", None) as advance:
        return read_folder(path, advance)


def _show(out: Output, plan: AdoptionPlan, run: Path, dry_run: bool) -> None:
    out.result(
        {
            "run": str(run),
            "dry_run": dry_run,
            "models": {each.name: _shown(each) for each in plan.models},
            "known_by_name": list(plan.absent),
            "unchanged": list(plan.unchanged),
            "refused": dict(plan.refused),
            "notes": list(plan.notes),
        }
    )
    for each in plan.models:
        edges = zip(each.parents, each.found.edges, strict=True)
        form = f", {each.found.quantisation}" if each.found.quantisation else ""
        came = ", ".join(f"{parent} ({edge.kind}{form})" for parent, edge in edges) or "no parent"
        what = "known by name alone" if each.name in plan.absent else came
        data = f"  data: {', '.join(each.found.datasets)}" if each.found.datasets else ""
        later = f"  after {each.supersedes}" if each.supersedes else ""
        out.say(f"{each.name}  <- {what}{data}{later}")
    for note in plan.notes:
        out.say(f"note: {note}")
    for source, reason in plan.refused.items():
        out.problem(f"refused: {source}", reason)
    out.say(
        f"{len(plan.models)} {'to publish' if dry_run else 'published'} ({len(plan.absent)} known by name "
        f"alone), {len(plan.unchanged)} unchanged, {len(plan.refused)} refused"
    )


def _shown(planned: PlannedModel) -> dict[str, Any]:
    document = planned.adopted.model_dump(mode="json")
    return {**document, "references": list(planned.parents)}
