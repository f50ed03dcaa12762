# SPDX-License-Identifier: Apache-2.0
"""Converts training settings and privacy to and from a model's statement."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from blockful_py.errors import FormatError
from blockful_py.forget import Forget
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.data import UserData
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.privacy import Spent, spent
from blockful_py.pipeline.review.methods import named_method, parse_method
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.parts import is_replaced
from blockful_py.record.request import Request
from blockful_py.record.statement import Reference, Statement
from blockful_py.record.statement_parts import Privacy
from blockful_py.settings import PrivacySettings, TrainingSettings
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.registry import METHODS
from blockful_py.unlearning.retrain import Retrain


def recorded_training(settings: TrainingSettings) -> dict[str, Any]:
    """phi of eq. 3 in the form of a statement; privacy has a field of its own."""
    left_out = {"privacy"} if settings.trainer else {"privacy", "trainer"}
    return {name: value for name, value in asdict(settings).items() if name not in left_out}


def renewed_references(
    statement: Statement, catalogue: Catalogue, affected: Collection[str]
) -> tuple[Reference, ...]:
    """References of a statement on new weights, made at a request that affects these models.

    They name current versions.  The accuracy of a version that is replaced, or has been, is left out: it
    would tell how well the model knew the forgotten data.
    """

    def renewed(each: Reference) -> Reference:
        if not each.used:
            return each
        version = catalogue[each.name].version
        stays = version == each.version and each.name not in affected
        return each.model_copy(update={"version": version, "accuracy": each.accuracy if stays else None})

    return tuple(map(renewed, statement.references))


def chosen_references(
    statement: Statement,
    catalogue: Catalogue,
    request: Request,
    affected: Collection[str],
    chosen: Sequence[ScoredModel],
) -> tuple[Reference, ...]:
    """References of a statement on new weights whose owner has chosen again, at a request.

    All references that the model had stay, in their order, without their accuracies; those not chosen are not
    in use.  New ones follow.  The chosen ones name the version that was scored, and its accuracy.
    """
    accuracies = {each.name: each.accuracy for each in chosen}
    had = {each.name for each in statement.references}

    def settled(each: Reference) -> Reference:
        if each.name not in accuracies:
            return each.model_copy(update={"accuracy": None, "used": False})
        return stated(each.name)

    def stated(name: str) -> Reference:
        placed = catalogue[name]
        comes = name in affected and not is_replaced(placed, request)
        return Reference(
            name=name,
            position=str(placed.position),
            accuracy=accuracies[name],
            version=placed.version + comes,
        )

    added = (stated(each.name) for each in chosen if each.name not in had)
    return (*map(settled, statement.references), *added)


def recorded_privacy(privacy: Spent | None) -> Privacy | None:
    """Privacy spent by a training, in the form of a statement."""
    return None if privacy is None else Privacy(**asdict(privacy))


def training_of(statement: Statement) -> TrainingSettings:
    """phi of eq. 3 of a published model.  Raises FormatError for unusable settings."""
    noise = statement.privacy
    privacy = None if noise is None else PrivacySettings(noise.noise, noise.clip, noise.delta)
    try:
        return TrainingSettings(**statement.training, privacy=privacy)
    except TypeError as error:
        raise FormatError(f"model {statement.name}: unusable training settings: {error}") from None


def spent_of(statement: Statement) -> Spent | None:
    """Privacy spent by the training of a published model."""
    return None if statement.privacy is None else Spent(**statement.privacy.model_dump())


def retrained_privacy(
    statement: Statement, request: Request, owner: UserData, earlier: Iterable[Forget] = ()
) -> Privacy | None:
    """Privacy spent when the owner made a request's new weights from its retained data.

    None for a training without noise: only retraining adds noise, and a client without retained data does not
    train.

    Args:
        owner: the owner's data before any request.
        earlier: data that earlier requests made the model forget.
    """
    kept = retained_after(owner, (request.forget, *earlier))
    if statement.privacy is None or not len(kept) or not _retrains(request):
        return None
    return recorded_privacy(spent(training_of(statement), len(kept)))


def _retrains(request: Request) -> bool:
    """Whether the method only retrains, with the statement's own settings; False if it is not built in."""
    if named_method(request.method)[0] not in METHODS:
        return False
    method = parse_method(request.method)
    return isinstance(method, Retrain) or (isinstance(method, GradientAscent) and method.start == "retrained")
