# SPDX-License-Identifier: Apache-2.0
"""The audit that an issuer attaches to a certificate, and signs."""

from __future__ import annotations

from functools import partial

from blockful_py.bounded_json import parse_json
from blockful_py.crypto import curve, signature
from blockful_py.errors import BlockfulError, VerificationError
from blockful_py.record.certificates.document import Attachment, CertificateStatement, attachment_digest
from blockful_py.record.checks import require
from blockful_py.record.fields import octets, of_octets
from blockful_py.verdicts.outcome import AuditOutcome


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
    digest = attachment_digest(statement.committee.domain, statement, attachment.audit)
    must(
        signature.is_by(octets(attachment.issuer), digest, octets(attachment.signature)),
        f"it is not signed by its issuer {attachment.issuer}",
    )
