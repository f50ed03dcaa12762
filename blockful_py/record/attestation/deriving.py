# SPDX-License-Identifier: Apache-2.0
"""Derives the predicate and the subjects of an erasure certificate."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from blockful_py.bounded_json import parse_json
from blockful_py.forget import Forget
from blockful_py.ledger.erasure import erasure_digest
from blockful_py.record.attestation.predicate import (
    AskedErasure,
    AskedStart,
    AttachedAudit,
    AuditedModel,
    CertificateDescriptor,
    Digest,
    Endorsers,
    ErasedModel,
    ErasurePredicate,
    IssuerStatement,
)
from blockful_py.record.certificates.checking import CheckedStatement
from blockful_py.record.certificates.document import Attachment, ErasureCertificate, ReplacedModel
from blockful_py.record.fields import of_octets
from blockful_py.record.shown import shown
from blockful_py.types import Paradigm
from blockful_py.verdicts.outcome import AuditOutcome


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject of a statement.

    Attributes:
        uri: `ipfs://` and the CID; empty for unencrypted weights, which have no CID.
        sha256: digest of the file's bytes, in hexadecimal.
    """

    name: str
    uri: str
    sha256: str


def subject_names(certificate: ErasureCertificate) -> dict[str, str]:
    """URIs of the new versions' files, by name: sealed weights, or the node of a withdrawn model."""
    return {
        **{
            sealed_name(each.name): ipfs(each.new_weights)
            for each in certificate.statement.replaced
            if each.new_weights
        },
        **{
            node_name(each.name): ipfs(each.new_node)
            for each in certificate.statement.replaced
            if not each.new_weights
        },
    }


def node_digests(certificate: ErasureCertificate) -> dict[str, str]:
    """SHA-256 of the new nodes of withdrawn models, in hexadecimal, by the subject's name."""
    nodes = {each.transaction.position: each.node for each in certificate.statement.record.models}
    return {
        node_name(each.name): sha256(nodes[each.position].encode()).hexdigest()
        for each in certificate.statement.replaced
        if each.new_weights is None
    }


def node_name(model: str) -> str:
    """The subject's name of a withdrawn model's node."""
    return f"{model}.node.json"


def sealed_name(model: str) -> str:
    """The subject's name of a model's sealed weights."""
    return f"{model}.sealed"


def clear_name(model: str) -> str:
    """The subject's name of a model's unencrypted weights."""
    return f"{model}.safetensors"


def predicate_of(
    certificate: ErasureCertificate, checked: CheckedStatement, issuer: IssuerStatement
) -> ErasurePredicate:
    """The predicate; `checked`: the certificate's checked statement."""
    statement, endorsed, request = certificate.statement, certificate.endorsed, certificate.statement.request
    rosters = {each.epoch: each for each in statement.committee.rosters}
    owners = {start.position: checked.record.transactions[start.place()].owner for start in request.starts}
    told = shown(statement)
    digest = erasure_digest(statement.committee.domain, endorsed.epoch, statement.to_bytes())
    return ErasurePredicate(
        kind=told.kind,
        warnings=told.warnings,
        review=told.review,
        other_owners=statement.other_owners,
        certificate=CertificateDescriptor(
            name=f"erasure-{request.created}.json",
            digest=Digest(sha256=sha256(certificate.to_bytes()).hexdigest()),
        ),
        committee=Endorsers(
            chain_id=statement.committee.chain_id,
            contract=statement.committee.contract,
            epoch=endorsed.epoch,
            members=endorsed.votes.voters,
            size=len(rosters[endorsed.epoch].keys),
            statement=of_octets(digest),
        ),
        request=AskedErasure(
            starts=tuple(
                AskedStart(model=start.name, position=start.position, owner=of_octets(owners[start.position]))
                for start in request.starts
            ),
            classes=request.classes,
            clients=request.clients,
            samples=request.samples,
            paradigm=Paradigm(request.paradigm),
            method=request.method,
        ),
        requested_on=utc(request.created),
        completed_on=utc(statement.decided),
        models=tuple(_erased(each, request.forget) for each in statement.replaced),
        left_alone=statement.left_alone,
        keys_destroyed=statement.erasure.keys_destroyed,
        blocks_deleted=statement.erasure.deleted,
        audit=None if certificate.attachment is None else _audit(certificate.attachment),
        issuer=issuer,
    )


def _erased(each: ReplacedModel, forget: Forget) -> ErasedModel:
    before, after = each.figures_before(forget), each.claims
    return ErasedModel(
        model=each.name,
        position=each.position,
        version_before=each.version_before,
        version_after=each.version_after,
        old_weights=each.old_weights,
        new_weights=each.new_weights,
        accuracy_forgotten_before=before.ad_f,
        accuracy_forgotten=None if after is None else after.ad_f,
        logit_auc_before=before.logit_auc,
        logit_auc=None if after is None else after.logit_auc,
        accuracy_retained_before=before.ad_r,
        accuracy_retained=None if after is None else after.ad_r,
    )


def _audit(attachment: Attachment) -> AttachedAudit:
    outcome = AuditOutcome.from_json(parse_json(attachment.audit))
    verdict = outcome.verdict()
    return AttachedAudit(
        digest=Digest(sha256=outcome.digest().hex()),
        issuer=attachment.issuer,
        forgotten=verdict.forgotten,
        intact=verdict.intact,
        models=tuple(
            AuditedModel(
                model=each.model,
                accuracy_forgotten=each.ad_f_test,
                accuracy_retained=each.ad_r_test,
                membership=each.membership,
                auc=each.auc,
                relearn=each.relearn,
                divergence=each.divergence,
            )
            for each in outcome.row.models
        ),
    )


def ipfs(cid: str) -> str:
    return f"ipfs://{cid}"


def utc(seconds: int) -> str:
    """A time in the format of RFC 3339, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
