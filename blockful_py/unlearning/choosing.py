# SPDX-License-Identifier: Apache-2.0
"""Which method a request takes where none is named, and what a method does not forget."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.forget import Level
from blockful_py.types import Paradigm
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.clean_line import CleanLine
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead

AUTO = "auto"
"""Stands for the method that `choose` names."""

LEAVE_TRACES = frozenset({"distill", "fine_tune", "fiun", "noisy_restart", "salun", "scrub", "ssd"})
"""Methods that the audits found not to forget a class even where only the request's models were taught it."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known when a request is made.

    Attributes:
        taught_outside: whether an ancestor of an affected model was trained on forgotten samples and stays as
            it is; None where nobody can know.
        machines: every owner's data is on a machine of its own.
        remote: models are trained by `learning.trainer`, elsewhere.
        private: trainings add noise.
        attested: members also sign what they can only take the owners' word for.
    """

    level: Level
    paradigm: Paradigm
    taught_outside: bool | None
    machines: bool
    remote: bool
    private: bool
    attested: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A method, and why it is taken."""

    method: str
    reason: str


@dataclass(frozen=True, slots=True)
class Advice:
    """On a request's method.

    Attributes:
        reason: why `choose` takes it; None where it would take another.
        caveat: what it does not forget in this situation; None where nothing is known.
    """

    reason: str | None = None
    caveat: str | None = None


def choose(situation: Situation) -> Choice:
    """The best method that the situation allows: exact ones, then those whose models the audit cannot tell
    from retrained ones (docs/explanation/unlearning-results.md), then what members can check."""
    own = GradientAscent.name if situation.paradigm is Paradigm.PARALLEL else Retrain.name
    if situation.machines:
        return Choice(own, "it asks each owner for nothing but its own data")
    if situation.private:
        return Choice(own, "it trains with the noise that the models were trained with")
    if situation.remote:
        return Choice(RetrainAhead.name, "the owners train again where their data is")
    if situation.level is Level.CLASS:
        return Choice(RetrainAhead.name, "exact: nothing that met the class enters the new models")
    if situation.attested:
        return Choice(
            CleanIncrements.name, "at this level the audit cannot tell it from retraining, and it takes less"
        )
    return Choice(own, "members sign at this level only what they can compute themselves")


def advise(method: str, situation: Situation) -> Advice:
    """What to know of a method that a request takes, chosen or named."""
    choice = choose(situation)
    return Advice(choice.reason if method == choice.method else None, _caveat(method, situation))


def _caveat(method: str, situation: Situation) -> str | None:
    if method == RetrainAhead.name:
        return None
    if method == CleanLine.name:
        return (
            "takes the data of all owners past the graph: who asks later to be forgotten is known to models "
            "that do not descend from theirs"
        )
    if situation.taught_outside is None:
        return (
            "models that the request leaves as they are teach it again, where they were trained on it: let "
            "the request start at the first models of all who hold it"
        )
    if situation.level is not Level.CLASS and method == CleanIncrements.name:
        return None
    if situation.taught_outside:
        return "does not forget here: models that the request leaves as they are know it, and teach it again"
    if method in LEAVE_TRACES:
        return "leaves traces: see docs/explanation/unlearning-results.md"
    return None
