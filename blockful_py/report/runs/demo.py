# SPDX-License-Identifier: Apache-2.0
"""The whole loop: train once, publish, then run the same request in both paradigms.

The paradigms share the two chains and the models.  Each has its own contracts and stores (`parallel/` and
`sequential/` in the run directory), so both start from the same state and each leaves its own record.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from blockful_py.errors import RunError
from blockful_py.learning.curve_file import kept_curves
from blockful_py.learning.metrics import qualities
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.review.claims import measure_all
from blockful_py.pipeline.review.methods import forget_of
from blockful_py.pipeline.run.creation import claim_folder, remove, remove_empty
from blockful_py.pipeline.run.finding import point_latest
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.progress import Progress, Stopwatch
from blockful_py.report.assets import page_assets
from blockful_py.report.html import write_report
from blockful_py.report.runs.figures import membership
from blockful_py.report.runs.measure import measured
from blockful_py.report.runs.reporting import Published, build_report
from blockful_py.report.schema import Report
from blockful_py.settings import Settings
from blockful_py.types import Paradigm


def run_demo(settings: Settings, directory: Path, progress: Progress) -> Report:
    """Runs everything and writes report.json and report.html into `directory`.

    If it fails before the report, removes everything it created.  Raises RunError if the directory exists,
    the page is not built, or the report cannot be written, and BlockfulError if a stage fails.
    """
    page_assets()  # reports a missing page before the training
    made = claim_folder(directory)
    try:
        report = _run(settings, directory, progress)
    except BaseException:
        remove(directory, ("chains", *Paradigm))
        remove_empty(made)
        raise
    point_latest(directory)
    try:
        write_report(report, directory)
    except RunError as error:
        done = " and ".join(str(directory / paradigm) for paradigm in Paradigm)
        raise RunError(f"both requests are done, in {done}; their report is not written: {error}") from None
    return report


def _run(settings: Settings, directory: Path, progress: Progress) -> Report:
    watch = Stopwatch()
    with watch("total"):
        TrainingSetup.of(settings).require_trainable()
        with ExitStack() as stack:
            with watch("setup"), progress.stage("start two chains, deploy the contracts", None):
                nodes = stack.enter_context(Nodes(ChainEndpoints.of(settings.chain, directory / "chains")))
                federations = {
                    paradigm: Federation.create(settings, directory / paradigm, nodes=nodes, stopwatch=watch)
                    for paradigm in Paradigm
                }
            first, second = (federations[paradigm] for paradigm in Paradigm)
            executed = first.train(progress)
            models = first.models(progress)
            weights = {name: model.weights for name, model in models.items()}
            catalogue = first.catalogue()
            second.adopt(models, progress)
            setup = first.setup
            forget = forget_of(settings.unlearning)
            with progress.stage("measure the models", None):
                accuracies = measure_all(setup, weights, forget)
                measured_before = qualities(setup.architecture, weights, setup.dataset.test)
                attacked = membership(setup, weights, forget)
            published = Published(
                catalogue,
                accuracies,
                measured_before,
                attacked,
                executed,
                first.verify(progress=progress),
                kept_curves(first.run.curves),
            )
            branches = {
                paradigm: measured(
                    federation, federation.unlearn(paradigm=paradigm, progress=progress), progress
                )
                for paradigm, federation in federations.items()
            }
            branches = {
                paradigm: replace(
                    branch, certificate=branch.certificate and f"{paradigm}/{branch.certificate}"
                )
                for paradigm, branch in branches.items()
            }
            report = build_report(settings, first.contracts, published, branches, watch)
    return report.in_all(watch.seconds["total"])
