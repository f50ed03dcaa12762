# SPDX-License-Identifier: Apache-2.0
"""The users' training data by class, before any training."""

from __future__ import annotations

from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.report.plots.holdings import Holdings
from blockful_py.settings import Settings


def holdings(settings: Settings, setup: TrainingSetup) -> Holdings:
    """Training samples by user and class, divided as in the settings."""
    dataset = setup.dataset
    labels = range(dataset.class_count)
    return Holdings(
        counts=[user.train.y.bincount(minlength=dataset.class_count).tolist() for user in setup.users],
        title=f"Training samples of {dataset.name!r}, {settings.federation.situation}, seed {settings.seed}",
        forget=tuple(label for label in settings.unlearning.classes if label in labels),
        holders=setup.federation.starting_users,
    )
