# SPDX-License-Identifier: Apache-2.0
"""Shows the plan of a request to adopted models: which models, by what, by whom, until when, at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal

from blockful_py.cli.console import Output
from blockful_py.costs import MEASURED_GAS, Operations, expected_parallel
from blockful_py.graph.kinds import Remedy
from blockful_py.types import Paradigm

if TYPE_CHECKING:
    from blockful_py.record.catalogue import Catalogue
    from blockful_py.record.reach import Reach, RemainingWork


def planned(catalogue: Catalogue, found: Reach, chunk: int) -> tuple[Sequence[RemainingWork], dict[str, Any]]:
    """The work for each model, and the plan as JSON; `chunk`: models that one transaction withdraws at most.

    The deadline is null: no rule sets a time in which a withdrawn model is made again.
    """
    from blockful_py.record.reach import work_left

    work = work_left((placed.node for placed in catalogue.models.values()), found)
    heights = {catalogue[each.name].position.height for each in work}
    operations = expected_parallel(len(work), len(heights)) if work else Operations()
    document = {
        "models": {
            each.name: {
                "references": each.edges,
                "remedy": each.remedy,
                "owner": each.owner,
                "by": each.by_whom,
                "from": list(each.sources) if each.remedy is not Remedy.WITHDRAWN else [],
                "reads": 0 if each.remedy is Remedy.WITHDRAWN else each.reads,
                "writes": 0 if each.remedy is Remedy.WITHDRAWN else each.writes,
            }
            for each in work
        },
        "chameleon_hashes": operations.chameleon_hashes,
        "certificates": operations.consensus,
        "gas": MEASURED_GAS.of(Paradigm.PARALLEL, len(work), len(heights), chunk),
        "trainings": sum(each.remedy is Remedy.MADE_AGAIN for each in work),
        "deadline": None,
    }
    return work, document


def say_plan(catalogue: Catalogue, found: Reach, chunk: int, out: Output) -> dict[str, Any]:
    """Prints the plan, a line for each model, before anybody signs it; returns it as JSON."""
    work, document = planned(catalogue, found, chunk)
    for each in work:
        came = ", ".join(f"{name} ({kind})" for name, kind in each.edges.items()) or "no parent"
        mark = "  names it" if each.starts else ""
        out.say(f"{each.name}  <- {came}  {_work(each)}{mark}")
    out.say(f"{len(work)} of {len(catalogue.models)} models are reached")
    if work:
        asked = document["trainings"]
        out.say(
            f"All are withdrawn at once, under one certificate ({document['chameleon_hashes']} chameleon "
            f"hashes, about {document['gas']:,} gas on both chains)."
        )
        out.say(
            f"Owners are asked for {asked} training{'s' * (asked != 1)}, without a deadline: each model "
            "stays withdrawn until it is made again."
        )
    return document


def _work(work: RemainingWork) -> str:
    if work.remedy is Remedy.WITHDRAWN:
        return str(work.remedy)
    if work.remedy is Remedy.MADE_AGAIN:
        named = f" ({work.owner})" if work.owner else ""
        return f"{work.remedy}{named}, {decimal(work.writes)}"
    sources = ", ".join(work.sources)
    return f"{work.remedy} by {work.by_whom} from {sources}, reads {decimal(work.reads)}"
