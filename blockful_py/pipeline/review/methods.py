# SPDX-License-Identifier: Apache-2.0
"""Unlearning methods in requests: the name, a space, and the settings as JSON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from blockful_py.bounded_json import parse_json
from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.forget import Forget, Level
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.record.fields import canonical_json
from blockful_py.record.request import Request, parse_sample
from blockful_py.record.shown import BY_PARTS, by_waves, is_exact
from blockful_py.settings import UnlearningSettings
from blockful_py.settings.rules import MERGED, RETRAINING
from blockful_py.types import Checked, Paradigm
from blockful_py.unlearning.method import Method, Need, Review
from blockful_py.unlearning.recompute import is_recomputable
from blockful_py.unlearning.registry import create_method
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.subtract import Subtract

TOGETHER = frozenset({Need.HOLDERS_DATA, Need.FORGOTTEN_DATA, Need.PUBLISHED_FISHER})
"""Needs of methods that use several users' data at once, which only a laboratory has."""


def method_settings(name: str, settings: UnlearningSettings, model: str) -> dict[str, Any]:
    """A method's part of the settings for `learning.model`; its `options` override alpha and epsilon.

    Raises SettingsError if references are to be chosen again, and the method trains from none.
    """
    common: dict[str, Any] = {}
    if name == "gradient_ascent":
        common = {"alpha": settings.alpha, "epsilon": settings.epsilon}
    if name == Subtract.name and model == MERGED:
        common = {"merged": True}
    if settings.references == "chosen again":
        if name not in RETRAINING and ":" not in name:
            raise SettingsError(
                f"method {name!r} does not train models from their references, so it cannot choose them "
                f"again: take {', '.join(RETRAINING)}, or leave unlearning.references 'kept'."
            )
        common["references"] = settings.references
    return {**common, **settings.options.get(name, {})}


def forget_of(settings: UnlearningSettings) -> Forget:
    """The data that the settings ask to forget.  Raises UnlearningError, FormatError."""
    if settings.clients and settings.samples:
        raise UnlearningError("unlearning.clients and unlearning.samples are two requests: leave one out.")
    if settings.clients:
        return Forget.of_clients(settings.clients)
    if settings.samples:
        return Forget.of_samples(parse_sample(text) for text in settings.samples)
    return Forget.of_classes(settings.classes)


def forget_asked(
    classes: Sequence[int] | None,
    clients: Sequence[int] | None,
    samples: Sequence[str] | None,
    datasets: Sequence[str] | None = None,
) -> Forget | None:
    """The data that options ask to forget; None without any.  Raises UnlearningError, FormatError."""
    if sum(map(bool, (classes, clients, samples, datasets))) > 1:
        raise UnlearningError("a request forgets classes, clients, samples or data sets: name one kind.")
    if datasets:
        return Forget.of_datasets(datasets)
    if clients:
        return Forget.of_clients(clients)
    if samples:
        return Forget.of_samples(parse_sample(text) for text in samples)
    return Forget.of_classes(classes) if classes else None


def how_checked(method: Method, forget: Forget, paradigm: Paradigm) -> Checked:
    """How a member checks the method's results before it signs."""
    if forget.level is Level.DATASET:
        return Checked.EXACT  # no weights to check
    if is_recomputable(method, paradigm):
        exact = isinstance(method, Subtract) and forget.level not in BY_PARTS[method.merged]
        return Checked.EXACT if exact else Checked.RECOMPUTED
    return Checked.MEASURED if forget.level is Level.CLASS else Checked.ATTESTED


def is_shown(method: Method) -> bool:
    """Whether each owner among machines can show that its part has forgotten a client or samples.

    It lets members check its training, or takes the mean of its references' new weights (`SpotChecks`).
    """
    return method.name in (Retrain.name, RetrainAhead.name)


def require_review(
    method: Method, forget: Forget, paradigm: Paradigm, attested: bool, machines: bool
) -> None:
    """Checks that members would sign a method's results.  Raises UnlearningError if not.

    Args:
        attested: members also sign results that only the owners attest.
        machines: owners are participants on machines of their own.
    """
    if method.review is Review.NONE:
        raise UnlearningError(
            f"method {method.name!r} is a control for audits: no member signs its results; "
            "choose another method, e.g. clean_increments."
        )
    shown = attested or (machines and is_shown(method))
    if not shown and how_checked(method, forget, paradigm) is Checked.ATTESTED:
        able = "retrain_ahead, gradient_ascent (parallel)" if machines else "gradient_ascent (parallel)"
        raise UnlearningError(
            f"no public data shows whether a model has forgotten {forget}, so members sign only what they "
            f"can check, and {method.name!r} ({paradigm}) they cannot: choose {able}, or a committee that "
            "takes the owners' word (committee.attested=true)."
        )


def method_text(name: str, settings: dict[str, Any]) -> str:
    """A method and its settings as text, for example `gradient_ascent {"alpha":1.0,"epsilon":0.0}`."""
    return f"{name} {canonical_json(settings).decode()}"


def named_method(text: str) -> tuple[str, dict[str, Any]]:
    """Name and settings of a request's method.  Raises SettingsError if the text is no method."""
    name, _, document = text.partition(" ")
    try:
        settings = parse_json(document or "{}")
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise SettingsError(f"{text!r} is not a method: its name and its settings as a JSON object.")
    return name, settings


def parse_method(text: str, own: Collection[str] = ()) -> Method:
    """The method of a request.  Raises SettingsError if the text is no known method.

    `own`: import paths that the run's owner has named (`RunDirectory.allowed_code`).
    """
    name, settings = named_method(text)
    return create_method(name, own, **settings)


def require_paradigm(method: Method, paradigm: Paradigm) -> None:
    """Checks that a method supports the paradigm.  Raises SettingsError if not."""
    if paradigm not in method.paradigms:
        able = ", ".join(sorted(method.paradigms))
        raise SettingsError(f"method {method.name!r} works in paradigm {able}, not in {paradigm}.")


def require_parts(request: Request, method: Method, graph: InheritanceGraph) -> None:
    """Checks that each owner can do its part with only its own data.  Raises UnlearningError if not.

    By waves an owner also needs the clean models of its references, which their owners hand in before.  Of
    sums `review.sums.require_lines` is the rule.

    `method`: the method that the request names.
    """
    if request.chooses_again:
        raise UnlearningError(
            "among machines an owner waits for the new versions of its references, not of all candidates, so "
            "references are not chosen again: ask with unlearning.references = 'kept'."
        )
    if by_waves(request) or is_exact(request):
        return
    paradigm = Paradigm(request.paradigm)
    together = sorted(method.needs & TOGETHER)
    one_by_one = paradigm is Paradigm.PARALLEL or Need.DESCENDANT_DATA in method.needs
    if together or not one_by_one:
        raise UnlearningError(
            f"method {method.name!r} ({paradigm}) needs more than each owner's own data "
            f"({', '.join(together) or 'the models of others'}): among machines take retrain_ahead, "
            "gradient_ascent (parallel) or retrain (sequential)."
        )
    starts = {start.name for start in request.starts}
    below = sorted(start for start in starts if starts.intersection(graph.ancestors([start])))
    if paradigm is Paradigm.PARALLEL and below:
        raise UnlearningError(
            f"{', '.join(below)} inherits from another start, whose new weights its owner does not have yet: "
            "take the sequential paradigm, or one request after the other."
        )
