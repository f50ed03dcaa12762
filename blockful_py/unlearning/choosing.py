# SPDX-License-Identifier: Apache-2.0
"""Chooses the method of a request that names none, and states the limits of methods."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.forget import Level
from blockful_py.types import Paradigm, References
from blockful_py.unlearning.gradient_ascent import GradientAscent
from blockful_py.unlearning.retrain import Retrain
from blockful_py.unlearning.retrain_ahead import RetrainAhead
from blockful_py.unlearning.subtract import Subtract
from blockful_py.verdicts.methods import caveat

AUTO = "auto"
"""Placeholder for the method that `choose` returns."""

EXACT = "no weights that the forgotten data reached enter the new models"
NEAREST = "it retrains all models that the forgotten data has reached by the graph"
SUBTRACTED = "exact given the graph: models are sums, and the forgotten data's are taken away"
"""Reasons for `retrain_ahead` and `subtract`."""
FROZEN = (
    "the network of learning.options.weights keeps what it learnt: the request forgets exactly only if that "
    "network never saw the data"
)
"""Caveat of features, or of a base, that were learnt."""
OTHERS = (
    "parts of models that are no starts keep a class if their owners hold it: let the request start at the "
    "models of all its holders"
)
"""Caveat of a class in merged models."""
SHOWN = (
    "an owner that lets members check its training trains again, and any other model "
    "becomes the mean of its references' new versions"
)
"""Reason for retraining of clients and samples among machines."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts known when a request is made.

    Attributes:
        taught_outside, past_graph: as for `verdicts.methods.caveat`.
        private: trainings add noise.
        attested: members also sign results that only the owners can vouch for.
        machines: owners are participants on machines of their own.
        emptied: models without references whose owner asks to forget all of its data.
        unshown: other models without references that have to be trained again, whose owners let nobody check
            that.
        withdraws: members withdraw models whose owners miss their part; among machines alone.
        references: of the models that the request retrains.
        sums: models are sums (`learning.sums`).
        frozen: their features, or their base, are of a network that was trained before.
        others: they are merged, a class is to be forgotten, and they inherit parts of others than the starts,
            whose owners' data is not here.
    """

    level: Level
    paradigm: Paradigm
    taught_outside: bool | None
    past_graph: bool
    private: bool
    attested: bool
    emptied: tuple[str, ...] = ()
    unshown: tuple[str, ...] = ()
    machines: bool = False
    withdraws: bool = False
    references: References = References.KEPT
    sums: bool = False
    frozen: bool = False
    others: bool = False


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
        more_starts: whether a request that starts at more models has not this caveat.
    """

    reason: str | None = None
    caveat: str | None = None
    loss: str | None = None
    more_starts: bool = False


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
        return Choice(RetrainAhead.name, NEAREST if now.past_graph else f"{now.references.exact}: {EXACT}")
    if now.machines:
        shown = RetrainAhead if now.paradigm is Paradigm.PARALLEL else Retrain
        return Choice(shown.name, f"{now.references.exact}: {SHOWN}")
    return Choice(own, "at this level members sign only results that they can compute themselves")


def advise(method: str, now: Circumstances) -> Advice:
    """Advice on a request's method, whether chosen or named."""
    choice = choose(now)
    said = caveat(method, now.level, now.taught_outside, now.past_graph)
    more_starts = said != caveat(method, now.level, taught_outside=False)
    said = "; ".join(said for said, holds in ((FROZEN, now.frozen), (OTHERS, now.others)) if holds) or said
    return Advice(choice.reason if method == choice.method else None, said, _loss(method, now), more_starts)


def _loss(method: str, now: Circumstances) -> str | None:
    shown = now.machines and not now.attested and method in (Retrain.name, RetrainAhead.name)
    if shown and now.unshown:
        return (
            f"{', '.join(now.unshown)} has no references, and its owner lets nobody check a training: it "
            f"{'is withdrawn' if now.withdraws else 'becomes untrained, no better than chance'}. "
            f"{GradientAscent.name} (parallel) keeps it, but is not exact; to keep later models, join with "
            "--disclose or --replay-by before publishing them"
        )
    if not now.emptied:
        return None
    names = ", ".join(now.emptied)
    if now.withdraws and method in (Retrain.name, RetrainAhead.name):
        return f"{names} was trained on this data alone, and is withdrawn"
    instead = f"{RetrainAhead.name} withdraws it" if now.withdraws else "Build no further model on it"
    left = "without sums" if now.sums else "with initial weights or noise"
    return f"{names} was trained on this data alone, and is left {left}, no better than chance. {instead}"
