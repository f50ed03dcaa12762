# SPDX-License-Identifier: Apache-2.0
"""The references of retrained models, kept or chosen again by eq. 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from blockful_py.errors import SettingsError, UnlearningError
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.forget_sets import scored_after
from blockful_py.learning.weights import Weights
from blockful_py.on_demand import OnDemand
from blockful_py.types import References
from blockful_py.unlearning.cost import FORWARD, Work
from blockful_py.unlearning.task import UnlearningTask


def require_references(references: str) -> None:
    """Checks a method's setting `references`.  Raises SettingsError."""
    if references not in set(References):
        raise SettingsError(f"references must be {' or '.join(References)}, not {references!r}.")


def references_of(task: UnlearningTask, references: str) -> KeptReferences:
    """The references of a method with this setting.  Raises UnlearningError as `ChosenAgain`."""
    return ChosenAgain(task) if references == References.CHOSEN_AGAIN else KeptReferences(task)


class KeptReferences:
    """References as models have them.

    Attributes:
        task: the request, whose references a training starts from.
        chosen: references that were chosen again, best first, by model.
    """

    def __init__(self, task: UnlearningTask) -> None:
        self.task = task
        self.chosen: dict[str, tuple[ScoredModel, ...]] = {}

    def waves(self, names: Collection[str]) -> Sequence[Sequence[str]]:
        """The models in waves, each after all models that it may be trained from."""
        return self.task.graph.waves(names)

    def above(self, name: str) -> tuple[str, ...]:
        """The models that a model may be trained from."""
        return self.task.references(name)

    def choose(self, name: str, clean: Mapping[str, Weights], work: Work) -> None:
        """Settles a model's references, before it is trained.

        Args:
            clean: new state dicts by model; others count as published.
            work: counts the sample passes.
        """

    def of_affected(self) -> dict[str, tuple[ScoredModel, ...]]:
        """References that affected models chose again."""
        return {name: self.chosen[name] for name in self.task.affected() if name in self.chosen}


class ChosenAgain(KeptReferences):
    """References chosen again, model by model in the order of publication.

    The candidates are those drawn at publication.  Their new weights are scored on the owner's test data, as
    `scored_after` leaves them; a forgotten client has none, and takes the first of its draw.

    Raises UnlearningError if eq. 1 did not choose the references, or models are not in the order of the plan.
    """

    def __init__(self, task: UnlearningTask) -> None:
        if task.selection is None:
            raise UnlearningError(
                "references can be chosen again only where eq. 1 chose them, on test data that are here: in "
                "scenario 'organic', without learning.trainer. Ask with unlearning.references = 'kept'."
            )
        self._selection, self._used = task.selection, dict(task.used)
        super().__init__(replace(task, used=self._used))
        names = task.graph.topological_order()
        wave_of = {name: at for at, wave in enumerate(self.waves(names)) for name in wave}
        if [*map(wave_of.__getitem__, names)] != sorted(wave_of.values()):
            raise UnlearningError("give the models in the order in which they were published.")

    def waves(self, names: Collection[str]) -> Sequence[Sequence[str]]:
        return self._selection.waves(names)

    def above(self, name: str) -> tuple[str, ...]:
        return self._selection.candidates(name, self.task.models.keys())

    def choose(self, name: str, clean: Mapping[str, Weights], work: Work) -> None:
        task = self.task
        samples = scored_after(task.owner(name), task.forgets(name))

        def scored(other: str) -> TrainedModel:
            model = task.models[other]
            references = self.chosen.get(other, model.references)
            return replace(model, weights=clean.get(other, model.weights), references=references)

        owner = replace(task.owner(name), test=samples)
        chosen = self._selection.choose(name, owner, OnDemand(task.models.keys(), scored))
        self.chosen[name] = chosen
        self._used[name] = tuple(each.name for each in chosen)
        work.passes += FORWARD * len(samples) * len(self.above(name))
