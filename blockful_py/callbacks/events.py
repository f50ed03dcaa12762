# SPDX-License-Identifier: Apache-2.0
"""Events for callbacks: frozen values without weights, keys and seeds.

Their content is on the chains or in public files, except the figures of a training, which stay with its owner
until the model is published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["AuditDone", "CertificateIssued", "ModelPublished", "ModelTrained", "NewVersion", "RequestDone"]


@dataclass(frozen=True, slots=True)
class ModelTrained:
    """A model that its owner trained but has not published yet.

    Attributes:
        run: identity of the run, as in its run.json.
        model: its name.
        user, round: number of its owner and of the owner's round, from 1.
        references: models whose mean it was trained from, best first; empty for a root.
        accuracy: on the owner's test data, from 0 to 1.
        settings: phi of the paper's eq. 3, and names of data set and architecture.
    """

    run: str
    model: str
    user: int
    round: int
    references: tuple[str, ...]
    accuracy: float
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelPublished:
    """A model's first version on both chains.

    Attributes:
        run, model, user, round, references, accuracy: as in `ModelTrained`; without accuracy if the model was
            made elsewhere.
        position: on the live chain, such as "4:0".
        weights: CID of the sealed weights.
    """

    run: str
    model: str
    user: int
    round: int
    references: tuple[str, ...]
    accuracy: float | None
    position: str
    weights: str


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version that replaced another.

    Attributes:
        version: 1 for the first replacement.
        weights: CID of the sealed weights; None for a withdrawn model.
        ad_f, ad_r: accuracies checked by members, from 0 to 1; None if not applicable.
    """

    model: str
    version: int
    weights: str | None
    ad_f: float | None
    ad_r: float | None


@dataclass(frozen=True, slots=True)
class RequestDone:
    """A completed request; with several machines, this participant's part of it.

    Attributes:
        run: as in `ModelTrained`.
        key: key of the request, hexadecimal.
        forget: the forgotten data, such as "class 3".
        starts: models named in the request.
        paradigm: "parallel" or "sequential".
        method: its name and settings, as in the request.
        versions: the resulting versions, including those made before a crash.
        seconds: wall time by stage; empty with several machines.
    """

    run: str
    key: str
    forget: str
    starts: tuple[str, ...]
    paradigm: str
    method: str
    versions: tuple[NewVersion, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditDone:
    """An audit of the archive, or of the remaining knowledge of models, which a certificate then attaches.

    Attributes:
        run: as in `ModelTrained`.
        request: key of the request whose models were audited; None for the archive.
        passed: whether the archive is whole, or all models have forgotten.
        problems: why it did not pass.
        digest: head of the archive, or SHA-256 of the outcome, hexadecimal.
        figures: such as {"records": 23}.
        models: figures by model (`verdicts.figures.ModelFigures`).
    """

    run: str
    request: str | None
    passed: bool
    problems: tuple[str, ...]
    digest: str
    figures: Mapping[str, float]
    models: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CertificateIssued:
    """An erasure certificate signed by a quorum.

    Attributes:
        run: as in `ModelTrained`.
        request: key of the request.
        models: the certified models.
        document: the certificate as a file, which anybody can verify.
    """

    run: str
    request: str
    models: tuple[str, ...]
    document: bytes


class Callback:
    """Receives the events of a run; a subclass overrides the methods it needs.

    Methods are called one after another, in the process that did the work and after the work is done; the
    next piece of work waits for them.  Exceptions are logged, and the work continues.  A crash in between may
    repeat a training and lose pending events: the chains are the record.
    """

    def training(self, event: ModelTrained) -> None:
        """A model was trained."""

    def publication(self, event: ModelPublished) -> None:
        """A model was published."""

    def request(self, event: RequestDone) -> None:
        """A request was completed."""

    def audit(self, event: AuditDone) -> None:
        """The archive, or the remaining knowledge of models, was audited."""

    def certificate(self, event: CertificateIssued) -> None:
        """The committee signed an erasure certificate."""
