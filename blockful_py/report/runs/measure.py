# SPDX-License-Identifier: Apache-2.0
"""Measures the results of a request: accuracies, and the verification of the record."""

from __future__ import annotations

from collections.abc import Mapping

from blockful_py.errors import CommitteeError, RunError
from blockful_py.learning.metrics import qualities
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.review.claims import measure_all
from blockful_py.pipeline.run.progress import Progress
from blockful_py.record.certificates.document import FiguresBefore
from blockful_py.report.runs.certificate_page import keep
from blockful_py.report.runs.figures import membership
from blockful_py.report.runs.reporting import Branch
from blockful_py.unlearning.audit import ModelAccuracy


def measured(
    federation: Federation, unlearned: Unlearned, before: Mapping[str, ModelAccuracy], progress: Progress
) -> Branch:
    """Measures the replaced models and verifies the whole record.

    `before` has accuracies before the request, by model, for the certificate's page.
    """
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
    return Branch(unlearned, after, quality, told, verified, certified(federation, unlearned, before))


def certified(
    federation: Federation, unlearned: Unlearned, before: Mapping[str, ModelAccuracy]
) -> str | None:
    """Writes the request's certificate into the run; returns its path relative to the run.

    Returns None if too few members signed it, or it could not be written.  The models are replaced
    nevertheless, and `blockful certificate issue` asks the members again.
    """
    try:
        certificate = federation.certify_erasure(unlearned.request)
        here = {
            name: FiguresBefore(each.test.ad_f, each.test.ad_r, accuracy=None, measured_here=True)
            for name, each in before.items()
        }
        path = keep(certificate, federation.run.certificates, here)
    except (CommitteeError, RunError):
        return None
    return str(path.relative_to(federation.run.path))
