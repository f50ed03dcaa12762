# SPDX-License-Identifier: Apache-2.0
"""Signing keys in PEM files: NIST elliptic curves, which in-toto and OpenSSF model signing both accept."""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from blockful_py.errors import SettingsError

PrivateKey = EllipticCurvePrivateKey
PublicKey = EllipticCurvePublicKey

CURVES = (SECP256R1, SECP384R1, SECP521R1)
MAKE = "make one with `openssl ecparam -name prime256v1 -genkey -noout -out key.pem`"


def read_private_key(path: Path) -> PrivateKey:
    """Reads an unencrypted private key on P-256, P-384 or P-521.  Raises SettingsError for other content."""
    try:
        key = load_pem_private_key(_read(path), None)
    except TypeError:
        raise SettingsError(
            f"the key {path} is encrypted: decrypt it into a file that only you read."
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise SettingsError(f"{path} holds no private key in PEM: {MAKE}.") from None
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, CURVES):
        raise SettingsError(f"the key {path} is not on P-256, P-384 or P-521: {MAKE}.")
    return key


def read_public_key(path: Path) -> PublicKey:
    """Reads a public key on P-256, P-384 or P-521.  Raises SettingsError for other content."""
    try:
        key = load_pem_public_key(_read(path))
    except (ValueError, UnsupportedAlgorithm):
        raise SettingsError(
            f"{path} holds no public key in PEM: take it from its owner, who writes it with "
            "`openssl ec -in key.pem -pubout -out key.pub.pem`."
        ) from None
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, CURVES):
        raise SettingsError(f"the key {path} is not on P-256, P-384 or P-521.")
    return key


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"the key {path} cannot be read: {error.strerror}.") from None
