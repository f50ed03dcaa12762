# SPDX-License-Identifier: Apache-2.0
"""How a model was trained, as its statement records it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from blockful_py.errors import FormatError
from blockful_py.forget import Forget
from blockful_py.learning.data import UserData
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.privacy import Spent, spent
from blockful_py.pipeline.review.methods import parse_method
from blockful_py.record.model_node import Request, Statement
from blockful_py.record.statement_parts import Privacy
from blockful_py.settings import PrivacySettings, TrainingSettings
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.retrain import Retrain


def recorded_training(settings: TrainingSettings) -> dict[str, Any]:
    """phi of eq. 3 as a statement holds it; privacy has a field of its own."""
    return {name: value for name, value in asdict(settings).items() if name != "privacy"}


def recorded_privacy(privacy: Spent | None) -> Privacy | None:
    """What training spent, as a statement holds it."""
    return None if privacy is None else Privacy(**asdict(privacy))


def training_of(statement: Statement) -> TrainingSettings:
    """phi of eq. 3 of a published model.  Raises FormatError for settings that are none."""
    noise = statement.privacy
    privacy = None if noise is None else PrivacySettings(noise.noise, noise.clip, noise.delta)
    try:
        return TrainingSettings(**statement.training, privacy=privacy)
    except TypeError as error:
        raise FormatError(f"model {statement.name}: unusable training settings: {error}") from None


def spent_of(statement: Statement) -> Spent | None:
    """What the training of a published model spent."""
    return None if statement.privacy is None else Spent(**statement.privacy.model_dump())


def retrained_privacy(
    statement: Statement, request: Request, owner: UserData, earlier: Iterable[Forget] = ()
) -> Privacy | None:
    """What the owner spent when it made the new weights that a request asks for, on what it keeps.

    None where it trains without noise: every method but retraining descends by itself, without any, and
    a client that keeps nothing does not train.

    Args:
        owner: its data before anything is forgotten.
        earlier: what the model was made to forget before.
    """
    kept = retained_after(owner, (request.forget, *earlier))
    if statement.privacy is None or not len(kept) or not _retrains(request):
        return None
    return recorded_privacy(spent(training_of(statement), len(kept)))


def _retrains(request: Request) -> bool:
    """Whether owners train by the statement's own settings, privacy included, and do nothing else."""
    method = parse_method(request.method)
    return isinstance(method, Retrain) or (isinstance(method, GradientAscent) and method.start == "retrained")
