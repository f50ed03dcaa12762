# SPDX-License-Identifier: Apache-2.0
"""Repeats the selection of references (paper, eq. 1) for published models, with the candidates drawn then."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from blockful_py.errors import LearningError
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.data import UserData
from blockful_py.learning.federation import FederationSpec, TrainedModel, candidates_of, choose_references
from blockful_py.learning.scenario import ModelSpec, from_those_there

Waves = tuple[tuple[str, ...], ...]
"""Models in the order of publication; no model is a candidate of another one in its wave."""


@dataclass(frozen=True)
class Selection:
    """Eq. 1 for the models of a federation: the candidates' draw depends on seed and plan, and on no data."""

    settings: FederationSpec

    @classmethod
    def of(cls, settings: FederationSpec) -> Selection | None:
        """The selection of a federation; None if its graph is scripted, or a trainer has the test data."""
        chosen = settings.scenario.scenario == "organic" and settings.trainer is None
        return cls(settings) if chosen else None

    def waves(self, names: Collection[str]) -> Waves:
        """The given models in the plan's waves.  Raises LearningError for a model that is not in the plan."""
        for name in names:
            self._spec(name)
        wanted = {*names}
        waves = (tuple(spec.name for spec in wave if spec.name in wanted) for wave in self.settings.plan())
        return tuple(wave for wave in waves if wave)

    def candidates(self, name: str, published: Collection[str]) -> tuple[str, ...]:
        """All models that eq. 1 may select for a model: the drawn ones, and starts that it may have to take.

        `published`: the federation's models; others are neither drawn nor taken.
        """
        spec = from_those_there(self._spec(name), published)
        if spec.is_root:
            return ()
        forced = (chance.start for chance in spec.last_chances)
        return tuple(dict.fromkeys((*candidates_of(self.settings, spec), *forced)))

    def forced(self, name: str) -> int:
        """Maximum number of starts that a model may have to take, beside or among the N best."""
        return len(self._spec(name).last_chances)

    def choose(
        self, name: str, user: UserData, published: Mapping[str, TrainedModel]
    ) -> tuple[ScoredModel, ...]:
        """The references that a model's owner chooses among its candidates, best first.

        Without test samples the first N of the draw are chosen, unmeasured.

        Args:
            user: the owner, with the test data to score the candidates on.
            published: models by name, in the versions to score; only candidates are read, and the references
                of models that could have taken a start before this one.
        """
        return choose_references(
            self.settings, from_those_there(self._spec(name), published.keys()), user, published
        )

    def bits(self, name: str, published: Collection[str]) -> float:
        """Maximum number of bits that a model's references tell of its candidates' scores; 0 for a root.

        That is `log2 C(K, N)`, the ways to choose N of K candidates.
        """
        count = len(self.candidates(name, published))
        return math.log2(math.comb(count, min(count, self.settings.scenario.references)))

    def _spec(self, name: str) -> ModelSpec:
        if name not in self._specs:
            raise LearningError(f"{name!r} is no model of this federation's plan: its references stay.")
        return self._specs[name]

    @cached_property
    def _specs(self) -> Mapping[str, ModelSpec]:
        return {spec.name: spec for wave in self.settings.plan() for spec in wave}
