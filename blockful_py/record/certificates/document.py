# SPDX-License-Identifier: Apache-2.0
"""The erasure certificate: a statement that a quorum signed, and the issuer's attachment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from blockful_py.crypto import eip712
from blockful_py.crypto.keccak import keccak
from blockful_py.forget import Forget
from blockful_py.html_table import html_table
from blockful_py.record.certificates.decisions import CertifiedDecision, Members, Votes
from blockful_py.record.fields import (
    Address,
    ChainId,
    Cid,
    Part,
    Place,
    Seconds,
    Signature,
    Small,
    octets,
    parsed,
    spelt,
)
from blockful_py.record.model_node import ModelNode, parse_node
from blockful_py.record.proofs.record import ArchiveHistory, LiveRecord
from blockful_py.record.recall.listed import RecipientList
from blockful_py.record.request import Request
from blockful_py.record.statement_parts import Claimed

FORMAT: Final = "blockful-erasure/3"


WORDS = (
    "The live store of this federation, as the members who signed see it, no longer has the blocks of these "
    "CIDs, and none of these members has a key that is said to be destroyed. Copies that others made of "
    "those weights are not reached by this; without the keys they are unreadable. The archive keeps the "
    "sealed weights; whoever was a registered auditor in time may have keys of them."
)


class Committee(Part):
    """The contract whose members decide, on its home chain, and the rosters that voted here."""

    chain_id: ChainId
    contract: Address
    rosters: Annotated[tuple[Members, ...], Field(min_length=1)]

    @property
    def domain(self) -> eip712.Domain:
        """EIP-712 domain of votes."""
        return eip712.Domain(self.chain_id, octets(self.contract))


@dataclass(frozen=True, slots=True)
class FiguresBefore:
    """Figures of the version before, in [0, 1]; None if unknown.

    Attributes:
        ad_f, ad_r, logit_auc: on held-out data, as members measured them for this request.  If they did
            not, as in older nodes, AD_r is of the request before, and so is AD_f if that was to forget the
            same data.
        accuracy: on its owner's own test data, as the owner signed it.
    """

    ad_f: float | None
    ad_r: float | None
    accuracy: float | None
    logit_auc: float | None


class ReplacedModel(Part):
    """A replaced model; its claims are accuracies on held-out data, in [0, 1], verified by members.

    Attributes:
        old_node, new_node, old_weights, new_weights: CIDs.  A version without weights is withdrawn; it has
            no claims.
        record: index of the archive's record of the version before.
        before: the bytes of the old node as text.
    """

    name: str
    position: Place
    version_before: Small
    version_after: Small
    old_node: Cid
    new_node: Cid
    old_weights: Cid | None
    new_weights: Cid | None
    claims: Claimed | None
    record: Small
    before: str

    @property
    def old(self) -> ModelNode:
        """The old node.  Raises FormatError when it is invalid."""
        return parse_node(self.before.encode())

    def figures_before(self, forget: Forget) -> FiguresBefore:
        """The recorded figures of the version before a request to forget this."""
        old = self.old
        if old.is_withdrawn:
            return FiguresBefore(None, None, None, None)
        earlier = old.redaction.claims if old.redaction else None
        same = old.redaction is not None and old.redaction.request.forget == forget
        known = self.claims
        ad_f, ad_r = (known.ad_f_before, known.before) if known else (None, None)
        return FiguresBefore(
            ad_f=ad_f if ad_f is not None or not (earlier and same) else earlier.ad_f,
            ad_r=ad_r if ad_r is not None or not earlier else earlier.ad_r,
            accuracy=None if old.statement.adopted is not None else old.statement.accuracy,
            logit_auc=known.logit_auc_before if known else None,
        )


class Bytes(Part):
    """Deleted files and destroyed keys.

    Attributes:
        deleted: CIDs of nodes and weights that the live store no longer has.
        keys_destroyed: CIDs of sealed weights, and of files stored with them, whose data keys the signing
            members no longer have.
    """

    deleted: tuple[Cid, ...]
    words: str
    keys_destroyed: tuple[Cid, ...]

    @field_validator("words")
    @classmethod
    def _no_more_and_no_less(cls, words: str) -> str:
        if words != WORDS:
            raise ValueError("it says something else than certificates of this format do")
        return words


class CertificateStatement(Part):
    """Facts that the signing members verified on the chains themselves.

    Attributes:
        request: as the owners of its starts signed it.
        record: the models in their state after the request.
        archive: records up to the time of the statement.
        left_alone: affected models that were not replaced because their update was at most epsilon.
        other_owners: number of owners that can teach forgotten classes again if they hold them
            (`verifying.other_owners`); null unless classes are forgotten.
        decisions: the committee's decisions, as executed on both chains.
        decided: time of the last decision, seconds.
        recipients: of the replaced models' earlier versions, with their answers; left out without any.
    """

    format: Literal["blockful-erasure/3"]
    request: Request
    committee: Committee
    record: LiveRecord
    archive: ArchiveHistory
    replaced: Annotated[tuple[ReplacedModel, ...], Field(min_length=1)]
    left_alone: tuple[str, ...]
    other_owners: Small | None
    decisions: Annotated[tuple[CertifiedDecision, ...], Field(min_length=1)]
    erasure: Bytes
    decided: Seconds
    recipients: RecipientList | None = None

    @model_serializer(mode="wrap")
    def _leave_out_no_recipients(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        if self.recipients is None:
            document.pop("recipients", None)
        return document

    @model_validator(mode="after")
    def _counts_owners_for_classes(self) -> CertificateStatement:
        if (self.other_owners is not None) != bool(self.request.classes):
            raise ValueError("other_owners is a number for a request to forget classes, else null")
        return self

    def to_bytes(self) -> bytes:
        return spelt(self)


class Endorsed(Part):
    """The quorum's signatures of the statement (EIP-712 `ErasureStatement`)."""

    epoch: Small
    votes: Votes


class Attachment(Part):
    """An audit (AuditOutcome, canonical spelling) added by the issuer and not measured by the committee."""

    audit: str
    issuer: Address
    signature: Signature


class ErasureCertificate(Part):
    """The whole document; `attachment` is null without an audit."""

    statement: CertificateStatement
    endorsed: Endorsed
    attachment: Attachment | None

    def _repr_html_(self) -> str:
        said = self.statement
        rows = [self._row(each) for each in said.replaced]
        keys = len(said.erasure.keys_destroyed)
        counted = f"{len(rows)} models, {keys} data keys destroyed"
        caption = f"Erasure certificate: {said.request.forget}, {counted}"
        heads = (
            "model",
            "version",
            "accuracy before, signed by its owner",
            "AD_f",
            "AUC of the logit",
            "AD_r",
        )
        return html_table(caption, heads, rows)

    def _row(self, each: ReplacedModel) -> tuple[str, ...]:
        before = each.figures_before(self.statement.request.forget)
        after = ("withdrawn",) * 3
        if each.claims is not None:
            lost = (
                ", no better than chance"
                if each.claims.is_at_chance
                else ", a loss"
                if each.claims.is_loss
                else ""
            )
            after = (
                _passage(before.ad_f, each.claims.ad_f),
                _passage(before.logit_auc, each.claims.logit_auc),
                _passage(before.ad_r, each.claims.ad_r) + lost,
            )
        versions = f"{each.version_before} → {each.version_after}"
        return each.name, versions, _percent(before.accuracy), *after

    def to_bytes(self) -> bytes:
        return spelt(self)


def _passage(before: float | None, after: float | None) -> str:
    return _percent(after) if before is None else f"{_percent(before)} → {_percent(after)}"


def _percent(share: float | None) -> str:
    return "not measured" if share is None else f"{share:.1%}"


def parse_certificate(data: bytes) -> ErasureCertificate:
    """Parses a certificate.  Raises FormatError, which names the invalid field."""
    return parsed(ErasureCertificate, data, "certificate")


def parse_statement(data: bytes) -> CertificateStatement:
    """Parses a statement of an erasure.  Raises FormatError, which names the invalid field."""
    return parsed(CertificateStatement, data, "statement of an erasure")


@dataclass(frozen=True, slots=True)
class ErasureAudit:
    """keccak256 of a statement and of an audit that belongs to it."""

    statement: bytes = eip712.typed("bytes32")
    audit: bytes = eip712.typed("bytes32")


def attachment_digest(domain: eip712.Domain, statement: CertificateStatement, audit: str) -> bytes:
    """The digest that the issuer signs, of the statement and the audit by their keccak256."""
    return eip712.digest(domain, ErasureAudit(keccak(statement.to_bytes()), keccak(audit.encode())))
