# SPDX-License-Identifier: Apache-2.0
"""A certificate is bound to one voting key, and to the TLS key that it is of."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from blockful_py.crypto import curve
from blockful_py.crypto.tls import BINDING, make_transport_key, voter_of
from blockful_py.errors import InvalidSignatureError

VOTER = curve.address(curve.multiply_base(7))


def der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


def made() -> x509.Certificate:
    return x509.load_pem_x509_certificate(make_transport_key(7).certificate)


def other(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey, bound: bytes | None) -> bytes:
    """A certificate of another key, with an extension of these bytes."""
    name = x509.Name([])
    begin = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + datetime.timedelta(1))
    if bound is not None:
        builder = builder.add_extension(x509.UnrecognizedExtension(BINDING, bound), critical=False)
    return der(builder.sign(key, hashes.SHA256() if isinstance(key, ec.EllipticCurvePrivateKey) else None))


def test_a_certificate_names_its_voter() -> None:
    assert voter_of(der(made())) == VOTER


def test_a_binding_does_not_fit_another_key() -> None:
    bound = made().extensions.get_extension_for_oid(BINDING).value
    assert isinstance(bound, x509.UnrecognizedExtension)
    assert voter_of(other(ec.generate_private_key(ec.SECP256R1()), bound.value)) != VOTER


@pytest.mark.parametrize(
    "certificate",
    [
        b"",
        b"x" * 100,
        other(ec.generate_private_key(ec.SECP256R1()), None),
        other(ec.generate_private_key(ec.SECP256R1()), b""),
        other(ec.generate_private_key(ec.SECP256R1()), bytes(64)),
        other(ed25519.Ed25519PrivateKey.generate(), bytes(64)),
    ],
    ids=["empty", "no DER", "unbound", "short", "zeros", "another curve"],
)
def test_what_is_bound_to_nobody_is_refused(certificate: bytes) -> None:
    with pytest.raises(InvalidSignatureError):
        voter_of(certificate)


def test_the_key_is_encrypted() -> None:
    key = make_transport_key(7)
    assert b"ENCRYPTED" in key.key
    with pytest.raises(ValueError, match=r"[Ii]ncorrect password"):
        serialization.load_pem_private_key(key.key, b"another")
    serialization.load_pem_private_key(key.key, key.password)
