# SPDX-License-Identifier: Apache-2.0
"""Chooses the method of a request that names none, and states the limits of methods."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.forget import Level
from blockful_py.types import Paradigm
from blockful_py.unlearning.clean_increments import CleanIncrements
from blockful_py.unlearning.clean_line import CleanLine
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.registry import METHODS
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.subtract import Subtract

AUTO = "auto"
"""Placeholder for the method that `choose` returns."""

EXACT = "exact given the graph: no weights that the forgotten data reached enter the new models"
SUBTRACTED = "exact given the graph: models are sums, and the forgotten data's are taken away"
NEAREST = "it retrains all models that the forgotten data has reached by the graph"
"""Reasons for `subtract` and `retrain_ahead`."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts known when a request is made.

    Attributes:
        taught_outside: whether an unchanged ancestor of an affected model was trained on forgotten samples;
            None if this cannot be known.
        past_graph: whether such an ancestor was made by a clean line, which takes data past the graph.
        private: trainings add noise.
        attested: members also sign results that only the owners can vouch for.
        emptied: models without references whose owner asks to forget all of its data.
        withdraws: members withdraw models whose owners miss their part.
        sums: models are sums (`learning.sums`).
    """

    level: Level
    paradigm: Paradigm
    taught_outside: bool | None
    past_graph: bool
    private: bool
    attested: bool
    emptied: tuple[str, ...] = ()
    withdraws: bool = False
    sums: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A method, and the reason for it."""

    method: str
    reason: str


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice on a request's method.

    Attributes:
        reason: why `choose` takes the method; None if it would take another.
        caveat: data that the method fails to forget in this situation; None if unknown, as for a custom
            method. loss: models that lose all their knowledge, and the alternative; None if no such model is
            known.
    """

    reason: str | None = None
    caveat: str | None = None
    loss: str | None = None


def choose(now: Circumstances) -> Choice:
    """Chooses an exact method (`audit.exactness`) if members sign for one, else one that they can check.

    See docs/reference/unlearning.md, Auto.
    """
    if now.sums:
        return Choice(Subtract.name, SUBTRACTED)
    own = GradientAscent.name if now.paradigm is Paradigm.PARALLEL else Retrain.name
    if now.private:
        return Choice(own, "it trains with the noise that the models were trained with")
    if now.level is Level.CLASS or now.attested:
        return Choice(RetrainAhead.name, NEAREST if now.past_graph else EXACT)
    return Choice(own, "at this level members sign only results that they can compute themselves")


def advise(method: str, now: Circumstances) -> Advice:
    """Advice on a request's method, whether chosen or named."""
    choice = choose(now)
    return Advice(choice.reason if method == choice.method else None, _caveat(method, now), _loss(now))


def _loss(now: Circumstances) -> str | None:
    if not now.emptied:
        return None
    instead = (
        "To have it withdrawn instead, file the request as sequential and refuse its part: refused_levels = "
        '["client"] in limits.toml'
        if now.withdraws
        else "Build no further model on it"
    )
    return (
        f"{', '.join(now.emptied)} was trained on this data alone, and is left with initial weights or "
        f"noise, no better than chance. {instead}"
    )


def _caveat(method: str, now: Circumstances) -> str | None:
    if method == Subtract.name:
        return None
    if now.past_graph:
        return (
            "clean_line made ancestors that the request leaves unchanged, and they may know the forgotten "
            "data past the graph: let the request start at them"
        )
    if method == RetrainAhead.name or method not in METHODS:
        return None
    if method == CleanLine.name:
        return (
            "forgets exactly, but takes the data of all owners past the graph: models then know data of "
            "later requests although they do not descend from its owners' models"
        )
    if now.taught_outside is None:
        return (
            "unchanged models teach it again if they were trained on it: let the request start at the first "
            "models of all its holders"
        )
    if now.taught_outside and not (method == CleanIncrements.name and now.level is not Level.CLASS):
        return "does not forget here: models that the request leaves unchanged know it, and teach it again"
    if method == Retrain.name:
        return None
    return "is not exact; docs/explanation/unlearning-results.md lists the traces that audits found"
