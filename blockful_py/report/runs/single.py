# SPDX-License-Identifier: Apache-2.0
"""One request on one federation, with its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blockful_py.errors import BlockfulError, RunError
from blockful_py.forget import Forget
from blockful_py.learning.curve_file import kept_curves
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import Unlearned, replaced_for
from blockful_py.pipeline.resume import jobs_of
from blockful_py.pipeline.run.lease import request_under_way
from blockful_py.pipeline.run.progress import Progress, Stopwatch
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.request import Request
from blockful_py.report.html import write_report
from blockful_py.report.runs.figures import (
    FILE,
    Figures,
    drop_figures,
    figures_of,
    keep_figures,
    kept_figures,
)
from blockful_py.report.runs.measure import measured
from blockful_py.report.runs.reporting import Published, build_report
from blockful_py.report.schema import Report, read_report
from blockful_py.types import Paradigm


@dataclass(frozen=True, slots=True)
class FinishedRequest:
    """A completed request and its report.

    Attributes:
        job: number of its job.
        repeated: whether it was already complete, so that this call changed nothing.
        report: None if it could not be made.
        problem: why the report could not be made or written, or None.
    """

    job: int
    repeated: bool
    report: Report | None
    problem: str | None


def unlearn_once(
    federation: Federation,
    starts: Sequence[str] | None,
    forget: Forget | None,
    paradigm: Paradigm,
    method: str | None,
    progress: Progress,
    request: Request | None = None,
) -> FinishedRequest:
    """Unlearns, measures before and after, verifies everything, and writes the report into the run.

    A `request` signed by its owners replaces the other arguments.  A request that is already complete is not
    repeated; only a missing report is made.  Raises as `Federation.unlearn` while the request is not
    complete.  A failed report is not an error: calling again makes it.
    """
    watch = Stopwatch()
    report, problem = None, None
    with watch("total"):
        request = request or federation.drafted(starts, forget, paradigm, method)
        done = federation.completed(request)
        if done is not None and (report := _whole_report(federation.run.path)) is not None:
            return FinishedRequest(done[0].number, True, report, None)
        if done is None:
            before, unlearned = _carried_out(federation, request, progress)
            job = jobs_of(federation.run)[-1]
        else:
            job, unlearned = done
            before = _Before.read(federation, request.forget, progress, unlearned.request)
        try:
            report = _report(federation, before, unlearned, progress)
        except (BlockfulError, OSError) as error:
            problem = str(error)
    if report is not None:
        report = report.in_all(watch.seconds["total"])
        try:
            write_report(report, federation.run.path)
            drop_figures(federation.run.path)
        except (BlockfulError, OSError) as error:
            problem = str(error)
    return FinishedRequest(job.number, done is not None, report, problem)


def _carried_out(federation: Federation, request: Request, progress: Progress) -> tuple[_Before, Unlearned]:
    """Unlearns, with the figures before saved on disk; drops them if the request is refused."""
    befores: list[_Before] = []

    def prepare() -> None:
        befores.append(_Before.read(federation, request.forget, progress))
        keep_figures(federation.run.path, request.forget, befores[0].figures)

    try:
        unlearned = federation.unlearn(request=request, progress=progress, prepare=prepare)
    except BlockfulError:
        if befores and request_under_way(federation.run.journal) is None:
            drop_figures(federation.run.path)
        raise
    return befores[0], unlearned


@dataclass(frozen=True, slots=True)
class _Before:
    """The models before a request, as far as they can still be reconstructed."""

    catalogue: Catalogue
    figures: dict[str, Figures]

    @classmethod
    def read(
        cls, federation: Federation, forget: Forget, progress: Progress, done: Request | None = None
    ) -> _Before:
        """Reads the models' state before the completed request `done`, or else before the open job's.

        The open job may have replaced some models already.
        """
        catalogue, history = federation.catalogue(), federation.context.history
        request = done or request_under_way(federation.run.journal)
        replaced = {} if request is None else replaced_for(catalogue, request)
        kept = kept_figures(federation.run.path, forget)
        models = dict(catalogue.models)
        for name in replaced:
            placed = models[name]
            node = history.version(placed.position, placed.version - 1)
            models[name] = replace(placed, version=placed.version - 1, node=node)
        known = {
            name: kept[name]
            for name in replaced
            if name in kept and kept[name].version == models[name].version
        }
        current = federation.models(progress)
        weights = {name: model.weights for name, model in current.items() if name not in known}
        with progress.stage("measure the models", None):
            left_out = {name: models[name].node.removed_beside(forget.classes) for name in weights}
            figures = figures_of(federation.setup, catalogue, weights, forget, left_out) | known
        return cls(Catalogue(models, catalogue.graph), figures)


def _whole_report(run: Path) -> Report | None:
    """The complete report of the newest request; None if it is missing or incomplete."""
    try:
        return None if (run / FILE).exists() else read_report(run)
    except RunError:
        return None


def _report(federation: Federation, before: _Before, unlearned: Unlearned, progress: Progress) -> Report:
    figures = before.figures
    accuracies = {name: each.accuracy for name, each in figures.items()}
    branch = measured(federation, unlearned, progress)
    published = Published(
        before.catalogue,
        accuracies,
        {name: each.quality for name, each in figures.items()},
        {name: each.membership for name, each in figures.items()},
        (),
        None,
        kept_curves(federation.run.curves),
    )
    return build_report(
        federation.settings,
        federation.contracts,
        published,
        {unlearned.paradigm: branch},
        federation.stopwatch,
    )
