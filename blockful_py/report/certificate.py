# SPDX-License-Identifier: Apache-2.0
"""The page of an erasure certificate: one file, readable offline and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.forget import Forget
from blockful_py.record.certificates.document import FiguresBefore
from blockful_py.record.recall.listed import RecipientList
from blockful_py.report.assets import page_templates
from blockful_py.types import Checked


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A replaced model; figures are in [0, 1], or None if there is no class to measure on.

    A version without weights is withdrawn.

    Attributes:
        start: whether the request started here.
        before: figures of the previous version.
        logit_auc: AUC of the forgotten class's logit (`Claimed.logit_auc`).
        at_chance: whether it is no better than chance on the data to be kept.
        is_loss: whether it is worse there than before, by more than chance explains.
        left_out: classes that earlier requests removed; AD_r is measured without them.
        auc: from the attached audit (`ModelFigures.auc`); None without one.
    """

    name: str
    position: str
    start: bool
    version_before: int
    version_after: int
    old_weights: str | None
    new_weights: str | None
    record: int
    head: str
    ad_f: float | None
    ad_r: float | None
    logit_auc: float | None
    before: FiguresBefore
    at_chance: bool
    is_loss: bool
    left_out: tuple[int, ...]
    auc: float | None


@dataclass(frozen=True, slots=True)
class WorkRow:
    """The work that is left for a withdrawn adopted model, in words (`record.reach.RemainingWork`)."""

    name: str
    start: bool
    edges: Sequence[tuple[str, str]]
    owner: str | None
    remedy: str


@dataclass(frozen=True, slots=True)
class VoteRow:
    """Votes on a decision, or the signatures of the certificate."""

    what: str
    epoch: int
    voters: Sequence[int]
    members: int
    needed: int
    digest: str


@dataclass(frozen=True, slots=True)
class CertificatePage:
    """Content of the page; times are UTC texts, identifiers `0x...`.

    Attributes:
        asked: the data to be forgotten, in words.
        requesters: name and position of a start, and the account that signed the request.
        identifiers: values that a verifier must compare, by name.
        kind, warnings: power and limits of the members' check and of the method (`record.shown.Shown`).
        work: of models that were made elsewhere; empty for others.
        checked: members' checks of the new weights before they signed, in words.
        how: the same as an enum.
        spot_checks: names of models, and the part of their owners' training that members recomputed.
        audit: the issuer's audit in a few words; None without one.
        development: the development chain that the times come from; None for other chains.
        recipients: of the versions before; None without any on the record.
    """

    digest: str
    asked: str
    forget: Forget
    method: str
    paradigm: str
    kind: str
    warnings: Sequence[str]
    checked: str
    how: Checked
    requested: str
    decided: str
    requesters: Sequence[tuple[str, str, str]]
    models: Sequence[ModelRow]
    work: Sequence[WorkRow]
    spot_checks: Sequence[tuple[str, str]]
    left_alone: Sequence[str]
    votes: Sequence[VoteRow]
    deleted: Sequence[str]
    words: str
    keys_destroyed: Sequence[str]
    identifiers: Sequence[tuple[str, str]]
    audit: str | None
    development: int | None
    file: str
    recipients: RecipientList | None = None


@dataclass(frozen=True, slots=True)
class PlainPart:
    """A question of the requester, and its answer in paragraphs."""

    heading: str
    paragraphs: Sequence[str]


def render_certificate(page: CertificatePage, plain: Sequence[PlainPart]) -> str:
    """The self-contained page, which begins with a summary in plain language."""
    return page_templates().get_template("certificate.html.j2").render(page=page, plain=plain)
