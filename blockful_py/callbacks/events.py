# SPDX-License-Identifier: Apache-2.0
"""What callbacks are told: frozen values without weights, keys and seeds.

All else that they hold is on the chains or in the public files, except the figures of a training, which stay
with its owner until the model is published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["AuditDone", "CertificateIssued", "ModelPublished", "ModelTrained", "NewVersion", "RequestDone"]


@dataclass(frozen=True, slots=True)
class ModelTrained:
    """A model that its owner has trained and not published yet.

    Attributes:
        run: identity of the run, as in its run.json.
        model: its name.
        user, round: of its owner, counted from 1.
        references: models whose mean it was trained from, best first; none for a root.
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
        run, model, user, round, references, accuracy: as in `ModelTrained`.
        position: on the live chain, such as "4:0".
        weights: CID of the sealed weights.
    """

    run: str
    model: str
    user: int
    round: int
    references: tuple[str, ...]
    accuracy: float
    position: str
    weights: str


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version that replaced another.

    Attributes:
        version: counted from 1 for the first replacement.
        weights: CID of the sealed weights; None for a withdrawn model.
        ad_f, ad_r: accuracies that members checked, from 0 to 1; None where they do not apply.
    """

    model: str
    version: int
    weights: str | None
    ad_f: float | None
    ad_r: float | None


@dataclass(frozen=True, slots=True)
class RequestDone:
    """A request that was carried out; among machines, this participant's part of it.

    Attributes:
        run: as in `ModelTrained`.
        key: what the request is known by, hexadecimal.
        forget: what was forgotten, such as "class 3".
        starts: models that the request names.
        paradigm: "parallel" or "sequential".
        method: its name and settings, as the request spells them.
        versions: those that came of it, also before a crash.
        seconds: wall time by stage; empty among machines.
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
    """An audit of the archive, or one of what models still know, which a certificate then attaches.

    Attributes:
        run: as in `ModelTrained`.
        request: key of the request whose models were audited; None for the archive.
        passed: the archive is whole; or all models have forgotten.
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
    """An erasure certificate that a quorum has signed.

    Attributes:
        run: as in `ModelTrained`.
        request: key of the request.
        models: those that it certifies.
        document: the certificate as a file, which anybody can verify.
    """

    run: str
    request: str
    models: tuple[str, ...]
    document: bytes
