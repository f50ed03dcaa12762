# SPDX-License-Identifier: Apache-2.0
"""Measures the results of a request: accuracies, and the verification of the record."""

from __future__ import annotations

from blockful_py.errors import CommitteeError, RunError
from blockful_py.learning.metrics import qualities
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.review.claims import measure_all
from blockful_py.pipeline.run.progress import Progress
from blockful_py.report.runs.certificate_page import keep
from blockful_py.report.runs.figures import membership
from blockful_py.report.runs.reporting import Branch


def measured(federation: Federation, unlearned: Unlearned, progress: Progress) -> Branch:
    """Measures the replaced models and verifies the whole record."""
    models = federation.models(progress)
    weights = {name: models[name].weights for name in unlearned.nodes}
    left_out = {
        name: node.redaction.left_out for name, node in unlearned.nodes.items() if node.redaction is not None
    }
    setup = federation.setup
    with progress.stage("measure the models", None):
        after = measure_all(setup, weights, unlearned.request.forget, left_out)
        quality = qualities(setup.architecture, weights, setup.dataset.test)
    verified = federation.verify(progress=progress)
    told = membership(setup, weights, unlearned.request.forget)
    return Branch(unlearned, after, quality, told, verified, certified(federation, unlearned))


def certified(federation: Federation, unlearned: Unlearned) -> str | None:
    """Writes the request's certificate into the run; returns its path relative to the run.

    Returns None if too few members signed it, or it could not be written.  The models are replaced
    nevertheless, and `blockful certificate issue` asks the members again.
    """
    try:
        certificate = federation.certify_erasure(unlearned.request)
        path = keep(certificate, federation.run.certificates)
    except (CommitteeError, RunError):
        return None
    return str(path.relative_to(federation.run.path))
