# SPDX-License-Identifier: Apache-2.0
"""The first line of a certificate, and the warnings that follow from its fields."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from blockful_py.forget import Level
from blockful_py.record.certificates.document import CertificateStatement
from blockful_py.record.model_node import ModelNode, parse_node
from blockful_py.record.request import Request
from blockful_py.types import Checked, Paradigm
from blockful_py.verdicts.methods import caveat, exact_words, warning

STARTS_ONLY = frozenset({"gradient_ascent"})
"""Methods that need only the starts' owners' data, since members recompute the other models.

Other methods, except exact ones, need the data of all affected owners.
"""
EXACT = frozenset({"subtract"})
"""Methods whose results members recompute in both paradigms: bit for bit a federation without the data.

They need data of the owners of samples to forget, of merged models of all starts' owners, and no others'.
"""
BY_PARTS = {False: frozenset({Level.SAMPLE}), True: frozenset({Level.SAMPLE, Level.CLASS})}
"""Levels at which exact methods need new parts of the starts' owners: of sums over samples, and if merged."""
BY_OWNERS = frozenset({Checked.EXACT, Checked.REPLAYED, Checked.SPOT_CHECKED})
"""Checks that show the forgetting of each owner's part."""
WITHDRAWN = (
    "Withdrawn: the record names no weights of these models any more. Copies elsewhere are their holders' to "
    "delete."
)
"""The first words of a certificate of adopted models."""
MERGED = (
    "Recomputed: members computed the new models without the client's parts. They are exact if the owners of "
    "the other parts trained them from the base alone; nobody saw them do it."
)
"""The first words of a certificate of merged models that a client leaves."""
BY_WAVES = frozenset({"retrain_ahead"})
"""Methods whose parts need the clean models of all references, affected or not."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A certificate in a few words, the same in commands, on pages and in attestations.

    Attributes:
        review: the members' check of the new weights before they signed.
        kind: the first line: the check, its limits, and the owners who can teach the data again.
        warnings: data that the method is known not to forget, as far as the certificate tells.  At filing a
            laboratory also knows who holds the data, and which ancestors a clean line made.
    """

    review: Checked
    kind: str
    warnings: tuple[str, ...]


def shown(statement: CertificateStatement) -> Shown:
    """The meaning of a statement.  Raises FormatError for an invalid node."""
    nodes = [parse_node(each.node.encode()) for each in statement.record.models]
    request, review = statement.request, checked_in(statement.request, nodes)
    method = request.method.partition(" ")[0]
    replaced = {each.position for each in statement.replaced}
    unchanged = any(each.position not in replaced for node in nodes for each in node.statement.in_use)
    by_owner = request.forget.level is not Level.CLASS and review in BY_OWNERS
    taught_outside = None if unchanged and not by_owner else False  # admission: the owners' models are starts
    exact = exact_words(method, request.references, taught_outside)
    said = caveat(method, request.forget.level, taught_outside)
    begun = nodes if method in BY_WAVES and not by_owner else ()
    if request.datasets:
        reviewed = WITHDRAWN
    elif request.is_merged and review is Checked.EXACT:
        reviewed = MERGED
    else:
        reviewed = _reviewed(review, nodes, exact, len(request.starts))
    words = (reviewed, _exactness(method, review, begun, exact), _others(statement))
    warnings = () if said is None else (warning(method, said),)
    return Shown(review, " ".join(filter(None, words)), warnings)


def _reviewed(review: Checked, nodes: Sequence[ModelNode], exact: str | None, starts: int) -> str:
    if review is Checked.EXACT:
        return f"{_capital(exact or 'exact')}, recomputed: members computed the new models without the data."
    if review is Checked.RECOMPUTED:
        return (
            "Recomputed: the new models are what the method makes. Whether they have forgotten is not shown."
            f"{_starts_checked(nodes, starts)}"
        )
    if review is Checked.MEASURED:
        return (
            "Measured: the output of the new models, and nothing else. They may still know what they do not "
            "say."
        )
    if review is Checked.ATTESTED:
        return "Attested: the owners give their word that they left the data out. Nobody checked it."
    checks = [node.spot_check for node in nodes if node.spot_check is not None]
    means = sum(node.redaction is not None and node.redaction.untrained for node in nodes)
    untrained = f" Members computed the {means} that nobody trained." * bool(means)
    if review is Checked.REPLAYED:
        auditors = sorted({each.replay.auditor for each in checks if each.replay is not None})
        agreed = [len(node.statement.auditors) for node in nodes if node.spot_check is not None]
        begun = "Replayed" if exact is None else f"{_capital(exact)}, replayed"
        return (
            f"{begun}: an auditor, drawn for each new training from {min(agreed)} or more that its owner had "
            f"agreed to, repeated all of it without the data and signed ({', '.join(auditors)}).{untrained}"
        )
    least = min(checks, key=lambda each: each.chance)
    each = "each new training" if len({*checks}) == 1 else "the least checked new training"
    begun = "Spot-checked" if exact is None else f"{_capital(exact)}, spot-checked"
    return (
        f"{begun}: {least.challenged} of {least.intervals} intervals of {each}, drawn by lot, were repeated "
        f"without the data.{untrained}"
    )


def _starts_checked(nodes: Sequence[ModelNode], starts: int) -> str:
    """The checks of the starts' own trainings, from which members recomputed the other models."""
    checks = [node.spot_check for node in nodes if node.spot_check is not None]
    if not checks:
        return ""
    least = min(checks, key=lambda each: each.chance)
    repeated = "drawn by lot, were repeated" if least.replay is None else "were replayed by an auditor"
    return (
        f" Of the starts, {len(checks)} of {starts} showed a training without the data: "
        f"{least.challenged} of {least.intervals} intervals of the least checked one, {repeated}."
    )


def _capital(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}"


def _exactness(method: str, review: Checked, begun: Sequence[ModelNode], exact: str | None) -> str | None:
    """Limits of the check; `begun`: the new models that started from clean models of ancestors."""
    if exact is None or review is Checked.EXACT:
        return None
    if review in (Checked.REPLAYED, Checked.SPOT_CHECKED):
        ahead = f" {_started(begun)}" if begun else ""
        if review is Checked.REPLAYED:
            return f"This holds if the auditors are honest.{ahead}"
        return f"This holds if the rest was done in the same way.{ahead}"
    return f"If its owners carried it out as written, {method} is {exact}; nobody saw them do it."


def _started(nodes: Sequence[ModelNode]) -> str:
    """Whether the clean models that the new ones start from were checked, which no request publishes."""
    if all(node.spot_check.from_initial for node in nodes if node.spot_check is not None):
        return (
            "The clean models that they start from were checked too, down to the initial weights, in the "
            "share that each owner discloses."
        )
    return "Not all clean models that they start from were checked."


def _others(statement: CertificateStatement) -> str | None:
    """The owners who can teach a class again; None for clients and samples, whose owners asked."""
    count = statement.other_owners
    if count is None:
        return None
    if count == 0:
        return "No other owner has a model that the request left unchanged."
    have, owners = ("has", "owner") if count == 1 else ("have", "owners")
    return (
        f"{count} other {owners} {have} models that the request left unchanged, and can teach it again if "
        "they hold it."
    )


def by_waves(request: Request) -> bool:
    """Whether owners need the clean models of their references, affected or not, for their parts."""
    return request.method.partition(" ")[0] in BY_WAVES


def is_exact(request: Request) -> bool:
    """Whether members compute all new models by an exact method, but for the parts that owners make."""
    return request.method.partition(" ")[0] in EXACT


def needs_parts(request: Request) -> bool:
    """Whether owners make new parts of starts, from which members compute all models by an exact method."""
    return is_exact(request) and request.forget.level in BY_PARTS[request.is_merged]


def is_passing(request: Request) -> bool:
    """Whether members pass the starts' changes on to descendants, which may be left alone."""
    return request.paradigm == Paradigm.PARALLEL and request.method.partition(" ")[0] in STARTS_ONLY


def checked_by_members(request: Request) -> Checked:
    """How members check a request's results before they sign (`pipeline.review.methods`)."""
    if request.datasets or (is_exact(request) and not needs_parts(request)):
        return Checked.EXACT
    if is_exact(request) or is_passing(request):
        return Checked.RECOMPUTED
    return Checked.MEASURED if request.forget.level is Level.CLASS else Checked.ATTESTED


def checked_in(request: Request, nodes: Iterable[ModelNode]) -> Checked:
    """How members checked a request's new versions: the weakest check of any of them."""
    checks = [_checked(node, request) for node in nodes if not node.is_withdrawn]
    by_class = request.forget.level is Level.CLASS
    nothing_made = checked_by_members(request) if by_class else Checked.EXACT
    return max(checks, key=list(Checked).index, default=nothing_made)


def _checked(node: ModelNode, request: Request) -> Checked:
    if is_exact(request) and node.shared is not None:
        return Checked.EXACT  # of samples, members compared the new part with the old one
    if checked_by_members(request) is Checked.RECOMPUTED:
        return Checked.RECOMPUTED  # a start's training that was checked shows nothing of the other models
    if node.redaction is not None and node.redaction.untrained:
        return Checked.EXACT
    if node.spot_check is None:
        return checked_by_members(request)
    return Checked.SPOT_CHECKED if node.spot_check.replay is None else Checked.REPLAYED
