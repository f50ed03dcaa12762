# SPDX-License-Identifier: Apache-2.0
"""In-toto statements in DSSE envelopes, made and opened by in-toto's own packages (extra `sign`).

https://github.com/in-toto/attestation/tree/main/spec/v1 and https://github.com/secure-systems-lab/dsse
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from blockful_py.bounded_json import parse_json
from blockful_py.crypto.pem import PrivateKey, PublicKey
from blockful_py.errors import FormatError, VerificationError
from blockful_py.extras import needed_by
from blockful_py.record.attestation.deriving import Subject
from blockful_py.record.attestation.predicate import PREDICATE_TYPE, ErasurePredicate
from blockful_py.record.fields import first_error

PAYLOAD_TYPE = "application/vnd.in-toto+json"
WHAT = "an attestation"


def signed(subjects: Sequence[Subject], predicate: ErasurePredicate, key: PrivateKey) -> bytes:
    """The envelope of a statement, signed with ECDSA; JSON."""
    with needed_by(WHAT):
        from in_toto_attestation.v1.statement import STATEMENT_TYPE_URI
        from securesystemslib.dsse import Envelope
        from securesystemslib.signer import CryptoSigner
    statement = {
        "_type": STATEMENT_TYPE_URI,
        "subject": [
            {"name": each.name, "digest": {"sha256": each.sha256}} | ({"uri": each.uri} if each.uri else {})
            for each in subjects
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate.model_dump(mode="json", by_alias=True),
    }
    _check(statement)
    envelope = Envelope(json.dumps(statement, sort_keys=True).encode(), PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key))
    return json.dumps(envelope.to_dict(), indent=1).encode() + b"\n"


def opened(data: bytes, key: PublicKey) -> tuple[tuple[Subject, ...], ErasurePredicate]:
    """Subjects and predicate of an envelope.

    Raises FormatError if the bytes are no envelope of such a statement, VerificationError (`attestation`)
    unless `key` signed it.
    """
    with needed_by(WHAT):
        from securesystemslib.dsse import Envelope
        from securesystemslib.exceptions import FormatError as NotSigned
        from securesystemslib.exceptions import VerificationError as Refused
        from securesystemslib.signer import SSlibKey
    try:
        envelope = Envelope.from_dict(parse_json(data))
    except (ValueError, KeyError, TypeError, AttributeError, NotSigned) as error:
        raise FormatError(f"this is no DSSE envelope: {error!r:.200}.") from None
    try:
        envelope.verify([SSlibKey.from_crypto(key)], 1)
    except Refused:
        raise VerificationError(
            "attestation",
            "the envelope",
            "it does not carry a valid signature of the public key that you gave",
        ) from None
    if envelope.payload_type != PAYLOAD_TYPE:
        raise FormatError(f"the envelope holds {envelope.payload_type!r:.200}, not {PAYLOAD_TYPE!r}.")
    return _parsed(envelope.payload)


def _parsed(payload: bytes) -> tuple[tuple[Subject, ...], ErasurePredicate]:
    try:
        statement = parse_json(payload)
        _check(statement)
        if statement["predicateType"] != PREDICATE_TYPE:
            raise ValueError(f"its predicate is of type {statement['predicateType']!r:.200}")
        subjects = tuple(
            Subject(each["name"], each.get("uri", ""), each["digest"]["sha256"])
            for each in statement["subject"]
        )
        predicate = ErasurePredicate.model_validate_json(json.dumps(statement["predicate"]))
    except ValidationError as error:
        raise FormatError(f"this is no predicate {PREDICATE_TYPE}: {first_error(error)}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"this is no in-toto statement of an erasure: {error!r:.200}.") from None
    return subjects, predicate


def _check(statement: dict[str, Any]) -> None:
    """Checks a statement with in-toto's package.  Raises ValueError, KeyError or TypeError."""
    with needed_by(WHAT):
        from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
        from in_toto_attestation.v1.statement import Statement
    subjects = [
        ResourceDescriptor(name=each["name"], uri=each.get("uri", ""), digest=each["digest"]).pb
        for each in statement["subject"]
    ]
    made = Statement(subjects, statement["predicateType"], statement["predicate"])
    made.pb.type = statement["_type"]
    made.validate()
