# SPDX-License-Identifier: Apache-2.0
"""Variants of methods: names and settings of the rows of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from blockful_lab.experiments.protocol import Store
from blockful_py.errors import SettingsError
from blockful_py.forget import Forget, Level
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import FederationSpec, TrainedModel
from blockful_py.settings.rules import ANALYTIC, MERGED, SUMS
from blockful_py.unlearning.line import store_line
from blockful_py.unlearning.method import Method
from blockful_py.unlearning.registry import FOR_SUMS, METHODS, create_method
from blockful_py.unlearning.stored_increments import StoredIncrement, store_clean_models, store_increments
from blockful_py.verdicts.references import REFERENCES


@dataclass(frozen=True, slots=True)
class Variant:
    """A method of the registry with settings.

    Attributes:
        name: in tables and file names.
        stored: name in `STORES` of the increments stored at publication; "" for no increments.
        only: levels of the settings; None: all levels of the method.
    """

    name: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    stored: str = ""
    only: frozenset[Level] | None = None

    @property
    def levels(self) -> frozenset[Level]:
        """Levels at which the variant has a row."""
        able = self.created().levels
        return able if self.only is None else able & self.only

    def created(self) -> Method:
        """The method with its settings.  Raises SettingsError for an unknown name."""
        return create_method(self.method, (self.method,), **self.settings)

    @property
    def recorded(self) -> dict[str, Any]:
        """The settings of a row, and whether it took stored increments."""
        return {**self.settings, **({"stored": True} if self.stored else {})}

    @property
    def told(self) -> dict[str, Any]:
        """The variant as JSON, for a task of an engine."""
        return {
            "name": self.name,
            "method": self.method,
            "settings": dict(self.settings),
            "stored": self.stored,
            "recorded": self.recorded,
        }


def _of_classes(store: Callable[..., Mapping[int, Mapping[str, StoredIncrement]]]) -> Store:
    """Clean trainings for a request's classes; empty if it forgets no class."""

    def made(
        settings: FederationSpec, models: Iterable[TrainedModel], users: Iterable[UserData], forget: Forget
    ) -> dict[str, StoredIncrement]:
        by_class = store(settings, models, users, forget.classes)
        return {name: kept for each in by_class.values() for name, kept in each.items()}

    return made


STORES: Mapping[str, Store] = MappingProxyType(
    {
        "increments": _of_classes(store_increments),
        "clean models": _of_classes(store_clean_models),
        "line": store_line,
    }
)
"""Increments that owners may store at publication."""

SPECIAL: tuple[Variant, ...] = (
    Variant("clean_increments_short", "clean_increments", {"share": 0.8}, only=frozenset({Level.SAMPLE})),
    Variant("clean_increments_stored", "clean_increments", stored="increments"),
    Variant("clean_line_stored", "clean_line", stored="line"),
    Variant("fiun_all", "fiun", {"layers": "all"}),
    Variant("gradient_ascent_ascended", "gradient_ascent", {"start": "ascended"}),
    Variant("retrain_ahead", "retrain_ahead", stored="clean models"),
)
"""Variants besides a method's defaults; a variant with its method's name replaces the defaults.

With stored increments a request only heals.  Nobody can store increments of samples; shorter ones shorten
the longest path.
"""

_STRENGTHS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "Rescaled": {"factor": (3.0, 0.3)},
    "Noisy": {"share": (0.1, 0.3)},
    "Pruned": {"share": (0.5, 0.8)},
    "Quantised": {"bits": (4, 3)},
    "Silenced": {"share": (0.1, 0.3)},
    "Blended": {"share": (0.5, 0.25)},
    "Mimic": {"batches": (50, 200)},
}

_SUM_STRENGTHS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "Leftover": {"bits": (1, 10)},
    "Shrunk": {"bits": (8, 16)},
    "Hidden": {"bits": (16, 32)},
    "Fingerprint": {"bits": (4, 16)},
}

_MERGED_STRENGTHS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "Leftover": {"bits": (1, 10)},
    "Kept": {"models": (1, 2)},
    "Sheltered": {"share": (1.0, 0.1)},
    "Hidden": {"bits": (16, 32)},
    "Fingerprint": {"bits": (4, 16)},
}


def _cheats(module: str, strengths: Mapping[str, Mapping[str, tuple[float, float]]]) -> tuple[Variant, ...]:
    return tuple(
        Variant(
            f"cheat_{name.lower()}_{value:g}", f"blockful_lab.experiments.{module}:{name}", {setting: value}
        )
        for name, settings in strengths.items()
        for setting, values in settings.items()
        for value in values
    )


CHEATS, SUM_CHEATS = _cheats("cheats", _STRENGTHS), _cheats("sum_cheats", _SUM_STRENGTHS)
MERGED_CHEATS = _cheats("sum_cheats", _MERGED_STRENGTHS)
"""Dishonest methods for networks, for models of sums over samples and for merged models, at two strengths.

The audit must find them out.  All of a kind are named `cheats`.
"""


def variants(names: Iterable[str] = (), model: str | None = None) -> tuple[Variant, ...]:
    """Variants of these names (a method's name stands for all its variants); without names, all but cheats.

    `cheats` stands for all of these, `package.module:Class` for a method of one's own.  Reference rows are
    measured anyway and are no variants.

    Args:
        model: `learning.model`; None for the small network.

    Raises:
        SettingsError: an unknown name, or a method for the other kind of models.
    """
    special = {variant.name for variant in SPECIAL}
    plain = [Variant(name, name, _settings(name, model)) for name in METHODS.keys() - {*special, *REFERENCES}]
    made = [each for each in (*plain, *SPECIAL) if (each.method in FOR_SUMS) == (model in SUMS)]
    honest = sorted(made, key=lambda variant: variant.name)
    kind = "models of sums" if model in SUMS else "networks"
    wanted, cheats = tuple(names), {ANALYTIC: SUM_CHEATS, MERGED: MERGED_CHEATS}.get(model or "", CHEATS)
    known = [*honest, *cheats, *(Variant(name, name) for name in wanted if ":" in name)]
    named = [("cheats" if variant in cheats else variant.method, variant) for variant in known]
    for name in wanted:
        if not any(name in (variant.name, family) for family, variant in named):
            listed = ", ".join(["cheats", *(variant.name for variant in honest)])
            raise SettingsError(
                f"there is no method {name!r} to audit on {kind}. Known: {listed}; or package.module:Class."
            )
    if not wanted:
        return tuple(honest)
    return tuple(variant for family, variant in named if variant.name in wanted or family in wanted)


def _settings(name: str, model: str | None) -> dict[str, Any]:
    return {"merged": True} if name in FOR_SUMS and model == MERGED else {}
