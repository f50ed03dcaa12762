# SPDX-License-Identifier: Apache-2.0
"""Quality of the models on the held-out test data, class by class."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.learning.metrics import Quality, qualities
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.training import load_models


def evaluate(federation: Federation, names: Sequence[str] | None = None) -> dict[str, Quality]:
    """Quality of the current models, weights verified; of all models unless `names` lists some.

    Raises UnknownModelError, StorageError.
    """
    catalogue = federation.catalogue()
    wanted = tuple(names or catalogue.models)
    for name in wanted:
        catalogue[name]
    models = load_models(catalogue, wanted, federation.weights)
    return qualities(
        federation.setup.architecture,
        {name: model.weights for name, model in models.items()},
        federation.setup.dataset.test,
    )
