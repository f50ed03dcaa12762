# SPDX-License-Identifier: Apache-2.0
"""TLS 1.3 between machines: certificates are bound to voting keys, and no authority is trusted.

A certificate is self-signed.  An extension holds the voting key's signature of

    keccak256(DST_transport || sha256(SubjectPublicKeyInfo))

so a client that knows the voting address needs no certificate authority.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from blockful_py.crypto import signature
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.randomness import system_rng
from blockful_py.errors import CryptoError, InvalidSignatureError, MessageError
from blockful_py.types import Address

DST_TRANSPORT = tag("transport")
BINDING = x509.ObjectIdentifier("2.25.206582474903167459014839620958316485127")
"""Identifier of the extension with the voting key's signature (an arc that needs no registration)."""
_NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "BlockFUL member")])
_BEGIN = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_END = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)
"""RFC 5280, 4.1.2.5: a certificate without a well-defined end; the binding identifies its owner."""


@dataclass(frozen=True, slots=True)
class TransportKey:
    """A TLS key and its certificate in PEM; the key is encrypted under `password`."""

    certificate: bytes
    key: bytes
    password: bytes = field(repr=False)


def make_transport_key(voting_secret: int) -> TransportKey:
    """Makes a new key on P-256, bound to a voting key."""
    key = ec.generate_private_key(ec.SECP256R1())
    bound = signature.sign(voting_secret, _digest(key.public_key()))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_BEGIN)
        .not_valid_after(_END)
        .add_extension(x509.UnrecognizedExtension(BINDING, bound), critical=False)
        .sign(key, hashes.SHA256())
    )
    password = system_rng(32).hex().encode()
    return TransportKey(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(password),
        ),
        password,
    )


def voter_of(certificate: bytes) -> bytes:
    """Address of the voting key that a certificate (DER) is bound to.  Raises InvalidSignatureError."""
    try:
        read = x509.load_der_x509_certificate(certificate)
        bound = read.extensions.get_extension_for_oid(BINDING).value
        key = read.public_key()
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension) as error:
        raise InvalidSignatureError(f"the certificate belongs to no member ({error}).") from None
    if not (isinstance(bound, x509.UnrecognizedExtension) and isinstance(key, ec.EllipticCurvePublicKey)):
        raise InvalidSignatureError("the certificate belongs to no member.")
    return signature.recover(_digest(key), bound.value)


def _digest(key: ec.EllipticCurvePublicKey) -> bytes:
    encoded = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return keccak(words(DST_TRANSPORT, hashlib.sha256(encoded).digest()))


def server_context(voting_secret: int) -> ssl.SSLContext:
    """Server context with a new key, bound to a voting key.

    The key's file is encrypted, and deleted before this returns.
    """
    made = make_transport_key(voting_secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with TemporaryDirectory(prefix="blockful-") as folder:
        path = Path(folder) / "transport.pem"
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(made.certificate + made.key)
        context.load_cert_chain(path, password=made.password)
    return context


def client_context() -> ssl.SSLContext:
    """Client context that accepts any certificate; `require_voter` checks it before anything is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def require_voter(certificate: bytes | None, voter: Address | None) -> None:
    """Checks that a certificate (DER) is bound to the voting key `voter`, or to any if None.

    Raises MessageError otherwise.
    """
    try:
        bound = voter_of(certificate or b"")
    except CryptoError as error:
        raise MessageError(f"its TLS certificate is not bound to a voting key: {error}") from None
    if voter not in (None, bound):
        raise MessageError(f"its TLS certificate is bound to 0x{bound.hex()}, not to the member asked.")
