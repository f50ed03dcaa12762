# SPDX-License-Identifier: Apache-2.0
"""Unlearning methods by name: built in, from other packages, or custom ones by import path."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from blockful_py.errors import SettingsError
from blockful_py.learning.plugins import find, known
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.clean_line import CleanLine
from blockful_py.unlearning.distill import Distill
from blockful_py.unlearning.fine_tune import FineTune
from blockful_py.unlearning.fiun import Fiun
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.head_mask import HeadMask
from blockful_py.unlearning.method import Method, Review
from blockful_py.unlearning.noisy_restart import NoisyRestart
from blockful_py.unlearning.ppnr import Ppnr
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.salun import SalUn
from blockful_py.unlearning.scrub import Scrub
from blockful_py.unlearning.ssd import Ssd
from blockful_py.unlearning.subtract import Subtract
from blockful_py.unlearning.withdraw import Withdraw

INTERFACE = ("name", "paradigms", "needs", "levels", "review", "unlearn", "steps")
"""Attributes that every method must have."""

METHODS: Mapping[str, Callable[..., Method]] = MappingProxyType(
    {
        Retrain.name: Retrain,
        GradientAscent.name: GradientAscent,
        Distill.name: Distill,
        FineTune.name: FineTune,
        Fiun.name: Fiun,
        Ssd.name: Ssd,
        SalUn.name: SalUn,
        Scrub.name: Scrub,
        HeadMask.name: HeadMask,
        NoisyRestart.name: NoisyRestart,
        CleanIncrements.name: CleanIncrements,
        Ppnr.name: Ppnr,
        RetrainAhead.name: RetrainAhead,
        CleanLine.name: CleanLine,
        Subtract.name: Subtract,
        Withdraw.name: Withdraw,
    }
)

FOR_SUMS = frozenset({Subtract.name})
"""Methods for models of sums; the others change networks."""
FOR_ADOPTED = frozenset({Withdraw.name})
"""Methods for models that were made elsewhere."""

GROUP = "blockful.methods"
"""Entry points of other packages."""


def create_method(name: str, own: Collection[str] = (), /, **settings: Any) -> Method:
    """Creates a method with its own settings, e.g. `create_method("gradient_ascent", alpha=0.5)`.

    A member that reviews a request creates the method named there, so an import path is accepted only if it
    is in `own`, the paths in this machine's own settings.

    Raises:
        SettingsError: an unknown method, a custom one whose review members cannot do, or a setting that is
            unknown or out of range.
    """
    if ":" in name and name not in own:
        raise SettingsError(
            f"there is no method {name!r} here: custom code runs only if this run's own settings "
            f"name it (run.allow). Known: {', '.join(sorted({*own, *known(METHODS, GROUP)}))}."
        )
    factory = find(name, "method", METHODS, GROUP)
    try:
        method = factory(**settings)
    except TypeError:
        raise SettingsError(f"method {name!r} has no such settings: {', '.join(sorted(settings))}.") from None
    if name not in METHODS:
        _require_reviewable(name, method)
    return method


def _require_reviewable(name: str, method: Method) -> None:
    missing = [each for each in INTERFACE if not hasattr(method, each)]
    if missing:
        raise SettingsError(
            f"{name!r} is not a method, it lacks {', '.join(missing)}: give it all of "
            "unlearning.method.Method."
        )
    if method.review is Review.RECOMPUTED:
        raise SettingsError(
            f"method {name!r} says that members recompute its results, which they do only for "
            "gradient_ascent and subtract: set its review to Review.REMEASURED."
        )
