# SPDX-License-Identifier: Apache-2.0
"""Quality of the models on held-out test data, class by class."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.learning.metrics import Quality, quality
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.training import load_model
from blockful_py.pipeline.run.progress import Progress, Silent


def evaluate(
    federation: Federation, names: Sequence[str] | None = None, progress: Progress | None = None
) -> dict[str, Quality]:
    """Quality of the current models, with verified weights; of all models unless `names` lists some.

    Raises UnknownModelError and StorageError.
    """
    catalogue = federation.catalogue()
    wanted = tuple(names or catalogue.models)
    for name in wanted:
        catalogue[name]
    setup, found = federation.setup, dict[str, Quality]()
    with (progress or Silent()).stage("evaluate", len(wanted)) as advance:
        for name in wanted:
            model = load_model(catalogue[name], federation.weights)
            found[name] = quality(setup.architecture, model.weights, setup.dataset.test)
            advance(1)
    return found
