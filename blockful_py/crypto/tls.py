# SPDX-License-Identifier: Apache-2.0
"""TLS 1.3 between machines: certificates are bound to voting keys, and no authority is trusted."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.transport import make_transport_key, voter_of
from blockful_py.errors import CryptoError, MessageError
from blockful_py.types import Address


def server_context(voting_secret: int) -> ssl.SSLContext:
    """Server context with a new key, bound to a voting key.

    The key's file is encrypted, and deleted before this returns.
    """
    made = make_transport_key(voting_secret, system_rng)
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
