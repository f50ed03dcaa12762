# SPDX-License-Identifier: Apache-2.0
"""The audit that an issuer attaches to a certificate, and signs."""

from __future__ import annotations

from functools import partial
from hashlib import sha256

from blockful_py.bounded_json import parse_json
from blockful_py.crypto import curve, signature
from blockful_py.errors import BlockfulError, VerificationError
from blockful_py.record.certificates.document import Attachment, CertificateStatement, attachment_digest
from blockful_py.record.checks import require
from blockful_py.record.fields import octets, of_octets, spelt
from blockful_py.types import Bytes32
from blockful_py.verdicts.outcome import AuditOutcome


def audit_beacon(statement: CertificateStatement) -> Bytes32:
    """SHA-256 of the decisions on a request, whose openings no single member could know before.

    An audit of the request is drawn from it (`audit.drawn`), so nobody could fit weights to the audit.
    """
    return sha256(b"".join(map(spelt, statement.decisions))).digest()


def attach(statement: CertificateStatement, outcome: AuditOutcome, secret: int) -> Attachment:
    """Signs an audit as its issuer."""
    audit = outcome.canonical().decode()
    digest = attachment_digest(statement.committee.domain, statement, audit)
    return Attachment(
        audit=audit,
        issuer=of_octets(curve.address(curve.multiply_base(secret))),
        signature=of_octets(signature.sign(secret, digest)),
    )


def check_attachment(statement: CertificateStatement, attachment: Attachment) -> None:
    """Checks an attached audit.  Raises VerificationError (`audit`)."""
    subject = "the attached audit"
    must = partial(require, "audit", subject)
    try:
        outcome = AuditOutcome.from_json(parse_json(attachment.audit))
        canonical = outcome.canonical().decode()
        models = {model.model for model in outcome.row.models}
    except (BlockfulError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise VerificationError("audit", subject, str(error)) from None
    must(canonical == attachment.audit, "it is not in its canonical spelling")
    must(
        outcome.starts == tuple(start.name for start in statement.request.starts)
        and {each.name for each in statement.replaced} <= models,
        "it is of other starts, or not of all models",
    )
    must(
        outcome.draw is not None and outcome.draw.beacon == audit_beacon(statement).hex(),
        "it was not drawn from the committee's decisions: draw it from their audit_beacon, and audit again",
    )
    digest = attachment_digest(statement.committee.domain, statement, attachment.audit)
    must(
        signature.is_by(octets(attachment.issuer), digest, octets(attachment.signature)),
        f"it is not signed by its issuer {attachment.issuer}",
    )
