# SPDX-License-Identifier: Apache-2.0
"""What came of a request: accuracies afterwards, and whether the record still holds."""

from __future__ import annotations

from blockful_py.learning.metrics import qualities
from blockful_py.pipeline.claims import measure_all
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.progress import Progress
from blockful_py.pipeline.reporting import Branch
from blockful_py.pipeline.unlearning import Unlearned


def measured(federation: Federation, unlearned: Unlearned, progress: Progress) -> Branch:
    """Measures the models that were replaced, and verifies the whole record."""
    models = federation.models()
    weights = {name: models[name].weights for name in unlearned.nodes}
    laboratory = federation.laboratory
    after = measure_all(laboratory, weights, unlearned.request.forget)
    quality = qualities(laboratory.architecture, weights, laboratory.dataset.test)
    return Branch(unlearned, after, quality, federation.verify(progress=progress))
