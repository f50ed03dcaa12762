# SPDX-License-Identifier: Apache-2.0
"""Lists the models and their references (`blockful graph`)."""

from __future__ import annotations

from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run, located_run, spent


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

    out = Output(as_json)
    with Federation.open(run) as federation:
        catalogue = federation.catalogue()
        parties = federation.settings.federation
        wanted = tuple(starts or federation.settings.unlearning.starts)
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
                    "depth": depth[name].shortest if name in depth else None,
                    "privacy": spent(placed),
                    "party": names[name],
                }
                for name, placed in catalogue.models.items()
            },
        }
    )
    for name, placed in catalogue.models.items():
        references = ", ".join(catalogue.graph.references(name)) or "the shared initialisation"
        role = "start" if name in wanted else f"depth {depth[name].shortest}" if name in depth else ""
        privacy = placed.node.statement.privacy
        noisy = f"  ({privacy})" if privacy else ""
        owner = f'  by "{names[name]}"' if names[name] else ""
        out.say(f"{name:5} {placed.position!s:6} v{placed.version}  {role:8} <- {references}{noisy}{owner}")
    if any(names.values()):
        out.say("names in quotation marks were chosen by the owners")
