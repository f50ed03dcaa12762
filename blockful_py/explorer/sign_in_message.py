# SPDX-License-Identifier: Apache-2.0
"""The text that an auditor signs to sign in: Sign-In with Ethereum (EIP-4361).

The explorer and `blockful auditor sign-in` both compose it from its parts and never parse it, so an auditor
never signs text chosen by another machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

from blockful_py.crypto import signature
from blockful_py.errors import SettingsError
from blockful_py.types import Address, Bytes32

SIGN_IN_SECONDS = 300
"""Seconds for which a message can be used."""


@dataclass(frozen=True, slots=True)
class SignInMessage:
    """Content of a message to sign.

    Attributes:
        scheme, domain: from the explorer's address, such as "http" and "127.0.0.1:8000".
        address: the auditor's account, 20 bytes.
        chain_id, registry: registry of auditors (20-byte address) and its chain.
        nonce: letters and digits, made by the explorer.
        issued: time of issue in seconds.
    """

    scheme: str
    domain: str
    address: Address
    chain_id: int
    registry: bytes
    nonce: str
    issued: int

    @property
    def expires(self) -> int:
        return self.issued + SIGN_IN_SECONDS

    @property
    def text(self) -> str:
        """The message in the form of EIP-4361."""
        return (
            f"{self.domain} wants you to sign in with your Ethereum account:\n"
            f"{signature.checksummed(self.address)}\n"
            "\n"
            "Read the history that the archive registry "
            f"{signature.checksummed(self.registry)} keeps for auditors.\n"
            "\n"
            f"URI: {self.scheme}://{self.domain}/\n"
            "Version: 1\n"
            f"Chain ID: {self.chain_id}\n"
            f"Nonce: {self.nonce}\n"
            f"Issued At: {_spelt(self.issued)}\n"
            f"Expiration Time: {_spelt(self.expires)}"
        )

    @property
    def digest(self) -> Bytes32:
        """Digest to sign, 32 bytes."""
        return signature.personal_digest(self.text)


def _spelt(seconds: int) -> str:
    """A time in the form of RFC 3339."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def require_origin(text: str) -> str:
    """Normalises an origin (scheme, name and port).  Raises SettingsError if it is malformed."""
    try:
        parts = urlsplit(text.lower().removesuffix("/"))
        plain = parts.scheme in ("http", "https") and parts.netloc == parts.geturl().partition("://")[2]
        if plain and parts.hostname and "@" not in parts.netloc and (parts.port is None or parts.port > 0):
            return parts.geturl()
    except ValueError:
        pass
    raise SettingsError(f"{text!r} is not an address such as https://explorer.example.")
