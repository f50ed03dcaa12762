# SPDX-License-Identifier: Apache-2.0
"""Checks an attestation against the erasure certificate that it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path

from blockful_py.crypto.pem import PublicKey
from blockful_py.errors import FormatError
from blockful_py.record.attestation.deriving import (
    Subject,
    clear_name,
    node_digests,
    predicate_of,
    subject_names,
)
from blockful_py.record.attestation.envelope import opened
from blockful_py.record.attestation.predicate import ErasurePredicate
from blockful_py.record.certificates.checking import CheckedStatement
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.checks import require

CHECK = "attestation"


def check_attestation(
    data: bytes, key: PublicKey, certificate: ErasureCertificate, checked: CheckedStatement
) -> tuple[tuple[Subject, ...], ErasurePredicate]:
    """Subjects and predicate of an envelope that `key` signed for this certificate.

    `checked`: the certificate's checked statement.
    Raises FormatError if the bytes are no such envelope; VerificationError (`attestation`) unless the key
    signed it, its predicate follows from the certificate, and its subjects are the new versions.
    """
    subjects, predicate = opened(data, key)
    expected = predicate_of(certificate, checked, predicate.issuer)
    differing = [
        name for name in ErasurePredicate.model_fields if getattr(predicate, name) != getattr(expected, name)
    ]
    require(CHECK, "the predicate", not differing, f"{', '.join(differing)} differs from the certificate")
    names = subject_names(certificate)
    weights = {clear_name(each.name) for each in certificate.statement.replaced if each.new_weights}
    found = {each.name: each.uri for each in subjects if each.name not in weights}
    require(
        CHECK,
        "the subjects",
        len({each.name for each in subjects}) == len(subjects) and found == names,
        "they are not the new versions of the certificate",
    )
    nodes = node_digests(certificate)
    for each in subjects:
        require(
            CHECK,
            f"subject {each.name}",
            nodes.get(each.name, each.sha256) == each.sha256,
            "its digest differs from the node's in the certificate",
        )
    return subjects, predicate


def require_subject(subjects: Sequence[Subject], path: Path) -> Subject:
    """The subject with a file's digest.

    Raises FormatError when the file cannot be read, VerificationError (`attestation`) when it is no subject.
    """
    try:
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FormatError(f"the weights {path} cannot be read: {error.strerror}.") from None
    found = [each for each in subjects if each.sha256 == digest]
    require(CHECK, str(path), bool(found), f"its SHA-256 {digest} is no subject's")
    return found[0]
