# SPDX-License-Identifier: Apache-2.0
"""How good the models are, class by class, on the held-out test data."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.learning.metrics import Quality, qualities
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.training import load_models


def evaluate(federation: Federation, names: Sequence[str] | None = None) -> dict[str, Quality]:
    """Models as they stand, weights verified; all unless named.

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
