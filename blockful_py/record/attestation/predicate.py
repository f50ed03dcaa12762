# SPDX-License-Identifier: Apache-2.0
"""The predicate of an erasure (docs/reference/erasure-predicate.md explains each field).

All fields outside `issuer` follow from the erasure certificate; `issuer` holds the signer's own statements.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from blockful_py.record.certificates.decisions import Member
from blockful_py.record.fields import Address, ChainId, Cid, Hash, Part, Place, Small
from blockful_py.types import Checked, Paradigm

PREDICATE_TYPE: Final = "urn:blockful:erasure/v3"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Time = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
"""A time in UTC, RFC 3339."""
Share = Annotated[float, Field(ge=0, le=1)]


class PredicatePart(Part):
    """A part of the predicate; its JSON fields are spelt as in in-toto, for example `requestedOn`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True
    )


class Digest(PredicatePart):
    """A digest set of in-toto, with one algorithm."""

    sha256: Sha256


class CertificateDescriptor(PredicatePart):
    """The erasure certificate: a resource descriptor of in-toto."""

    name: str
    digest: Digest


class Endorsers(PredicatePart):
    """The committee members that signed the certificate.

    Attributes:
        members: indices of the signers, out of `size`.
        statement: EIP-712 digest that they signed.
    """

    chain_id: ChainId
    contract: Address
    epoch: Small
    members: tuple[Member, ...]
    size: Small
    statement: Hash


class AskedStart(PredicatePart):
    """A model that the request starts from, and the account that signed for it."""

    model: str
    position: Place
    owner: Address


class AskedErasure(PredicatePart):
    """The request; exactly one of `classes`, `clients` and `samples` is not empty."""

    starts: Annotated[tuple[AskedStart, ...], Field(min_length=1)]
    classes: tuple[int, ...]
    clients: tuple[int, ...]
    samples: tuple[str, ...]
    paradigm: Paradigm
    method: str


class ErasedModel(PredicatePart):
    """A model whose version was replaced; without new weights it is withdrawn.

    Attributes:
        accuracy_forgotten, accuracy_retained, logit_auc: as members of the committee measured them; the
            fields `_before` of the version before.
    """

    model: str
    position: Place
    version_before: Small
    version_after: Small
    old_weights: Cid | None
    new_weights: Cid | None
    accuracy_forgotten_before: Share | None
    accuracy_forgotten: Share | None
    logit_auc_before: Share | None
    logit_auc: Share | None
    accuracy_retained_before: Share | None
    accuracy_retained: Share | None


class AuditedModel(PredicatePart):
    """An audit's figures of one model on held-out data (`verdicts.figures.ModelFigures`)."""

    model: str
    accuracy_forgotten: Share
    accuracy_retained: Share
    membership: Share
    auc: Share
    relearn: float | None
    divergence: float


class AttachedAudit(PredicatePart):
    """The audit that is attached to the certificate, measured by its issuer."""

    digest: Digest
    issuer: Address
    forgotten: bool
    intact: bool
    models: tuple[AuditedModel, ...]


class Controller(PredicatePart):
    """The party responsible for the erasure."""

    name: str
    contact: str | None


class ResidualCopy(PredicatePart):
    """A readable copy of erased data; `ends` is None if it is kept without limit."""

    what: str
    holder: str
    ends: Time | None


class IssuerStatement(PredicatePart):
    """The signer's own statements, which no certificate contains.

    Attributes:
        recipients_told: recipients of the data that were told of the erasure.
    """

    controller: Controller
    processors: tuple[str, ...]
    recipients_told: tuple[str, ...]
    residual_copies: tuple[ResidualCopy, ...]
    stated_on: Time


class ErasurePredicate(PredicatePart):
    """The whole predicate; `review`, `kind` and `warnings` are as in `record.shown.Shown`.

    Attributes:
        other_owners: as in `CertificateStatement`.
    """

    kind: str
    warnings: tuple[str, ...]
    review: Checked
    other_owners: Small | None
    certificate: CertificateDescriptor
    committee: Endorsers
    request: AskedErasure
    requested_on: Time
    completed_on: Time
    models: Annotated[tuple[ErasedModel, ...], Field(min_length=1)]
    left_alone: tuple[str, ...]
    keys_destroyed: tuple[Cid, ...]
    blocks_deleted: tuple[Cid, ...]
    audit: AttachedAudit | None
    issuer: IssuerStatement
