# SPDX-License-Identifier: Apache-2.0
"""One request on one federation, with its report."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.forget import Forget
from blockful_py.learning.curve_file import kept_curves
from blockful_py.learning.metrics import qualities
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.reports.measure import measured
from blockful_py.pipeline.reports.reporting import Published, build_report
from blockful_py.pipeline.review.claims import measure_all
from blockful_py.pipeline.review.methods import forget_of
from blockful_py.pipeline.run.progress import Progress
from blockful_py.record.model_node import Request
from blockful_py.report.schema import Report
from blockful_py.report.writer import write_report
from blockful_py.types import Paradigm


def unlearn_once(
    federation: Federation,
    starts: Sequence[str] | None,
    forget: Forget | None,
    paradigm: Paradigm,
    method: str | None,
    progress: Progress,
    request: Request | None = None,
) -> Report:
    """Unlearns, measures before and after, verifies everything, and writes the report into the run.

    A `request` that its owners signed replaces the other arguments.

    Raises: as `Federation.unlearn`.
    """
    if request is not None:
        forget, paradigm = request.forget, Paradigm(request.paradigm)
    forgotten = forget or forget_of(federation.settings.unlearning)
    with federation.stopwatch("total"):
        catalogue = federation.catalogue()
        models = federation.models()
        unlearned = federation.unlearn(starts, None, paradigm, method, progress, forgotten, request)
        weights = {name: model.weights for name, model in models.items()} | dict(unlearned.before)
        setup = federation.setup
        before = measure_all(setup, weights, forgotten)
        quality = qualities(setup.architecture, weights, setup.dataset.test)
        branch = measured(federation, unlearned, progress)
    report = build_report(
        federation.settings,
        federation.contracts,
        Published(catalogue, before, quality, (), None, kept_curves(federation.run.curves)),
        {paradigm: branch},
        federation.stopwatch,
    )
    write_report(report, federation.run.path)
    return report
