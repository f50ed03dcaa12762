# SPDX-License-Identifier: Apache-2.0
"""Unlearning methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from blockful_py.errors import SettingsError
from blockful_py.learning.plugins import known
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.distill import Distill
from blockful_py.unlearning.fine_tune import FineTune
from blockful_py.unlearning.fiun import Fiun
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.head_mask import HeadMask
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.ppnr import Ppnr
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.salun import SalUn
from blockful_py.unlearning.scrub import Scrub
from blockful_py.unlearning.ssd import Ssd

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
        CleanIncrements.name: CleanIncrements,
        Ppnr.name: Ppnr,
        RetrainAhead.name: RetrainAhead,
    }
)


GROUP = "blockful.methods"
"""Entry points of other packages.  A member that reviews a request creates the method that it names, so a
name is never an import path: only installed code runs."""


def create_method(name: str, **settings: Any) -> Method:
    """A method with its own settings, e.g. `create_method("gradient_ascent", alpha=0.5)`.

    Raises:
        SettingsError: an unknown method, or a setting that it does not have or that is out of range.
    """
    factory = METHODS.get(name)
    if factory is None:
        offered = entry_points(group=GROUP, name=name)
        if not offered:
            raise SettingsError(f"there is no method {name!r}. Known: {', '.join(known(METHODS, GROUP))}.")
        factory = next(iter(offered)).load()
    try:
        return factory(**settings)
    except TypeError:
        raise SettingsError(f"method {name!r} has no such settings: {', '.join(sorted(settings))}.") from None
