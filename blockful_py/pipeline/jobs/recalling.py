# SPDX-License-Identifier: Apache-2.0
"""Keeps the outcome of a completed request in the journal, and reads it back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from blockful_py.chain.settlement import Executed
from blockful_py.costs import Operations
from blockful_py.engine.jobs import Job, JobState
from blockful_py.errors import RunError
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.unlearning import Unlearned, replaced_for
from blockful_py.pipeline.run.lease import asks_the_same, request_of
from blockful_py.record.request import Request
from blockful_py.types import Paradigm, Receipt
from blockful_py.unlearning.choosing import Advice


def kept(unlearned: Unlearned) -> dict[str, Any]:
    """The figures of a request that neither the record nor a new measurement gives, as JSON."""
    return {
        "replaced": sorted(unlearned.nodes),
        "counted": asdict(unlearned.counted),
        "formula": asdict(unlearned.formula),
        "executed": [
            [
                each.chain,
                each.receipt.transaction_hash.hex(),
                each.receipt.block_number,
                each.receipt.gas_used,
            ]
            for each in unlearned.executed
        ],
        "skipped": dict(unlearned.skipped),
        "depth_bound": unlearned.depth_bound,
        "depth_observed": unlearned.depth_observed,
        "delta_norm": unlearned.delta_norm,
        "seconds": dict(unlearned.seconds),
        "advice": asdict(unlearned.advice),
    }


def newest_request(context: FederationContext) -> tuple[Job, Request] | None:
    """The newest job that changed the record and its request; None unless it is a completed request."""
    jobs = [job for job in context.journal.jobs() if job.state in {JobState.OPEN, JobState.DONE}]
    if not jobs or jobs[-1].state is JobState.OPEN:
        return None
    request = request_of(jobs[-1])
    return None if request is None else (jobs[-1], request)


def recalled(context: FederationContext, asked: Request) -> tuple[Job, Unlearned] | None:
    """The outcome of the newest request, if it is the same as `asked` and the record is unchanged since.

    The journal does not keep the request's cost and the destruction of its keys.
    """
    newest = newest_request(context)
    if newest is None or not asks_the_same(newest[1], asked):
        return None
    job, request = newest
    catalogue = context.record.catalogue.read()
    nodes = replaced_for(catalogue, request)
    if sorted(nodes) != job.result.get("replaced"):
        return None  # the chain was reorganised
    starts = tuple(start.name for start in request.starts)
    reached = {*starts, *catalogue.graph.descendants(starts)}
    try:
        return job, Unlearned(
            paradigm=Paradigm(request.paradigm),
            request=request,
            affected=tuple(name for name in catalogue.graph.topological_order() if name in reached),
            nodes=nodes,
            skipped=job.result["skipped"],
            counted=Operations(**job.result["counted"]),
            formula=Operations(**job.result["formula"]),
            depth_bound=job.result["depth_bound"],
            depth_observed=job.result["depth_observed"],
            delta_norm=job.result["delta_norm"],
            executed=tuple(
                Executed(chain, Receipt(bytes.fromhex(name), block, gas))
                for chain, name, block, gas in job.result["executed"]
            ),
            seconds=job.result["seconds"],
            advice=Advice(**job.result.get("advice", {})),
            excluded=job.excluded,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"the journal does not say how job {job.number} went ({error!r}).") from None
