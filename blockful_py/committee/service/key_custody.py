# SPDX-License-Identifier: Apache-2.0
"""A member's custody of data keys: it stores them, lends them to its peers and destroys them.

Keys are wrapped in transit: to the member's encryption key when they are delivered, to a one-time key of the
asking peer when they are lent.  No log or refusal contains a key.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from blockful_py.committee import codec, wire
from blockful_py.committee.service.messages import (
    DeliveredKey,
    Empty,
    KeyDelivery,
    KeyRequest,
    MessageKind,
    Versions,
)
from blockful_py.committee.vault import Vault
from blockful_py.crypto import curve, eip712, envelope
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak, words
from blockful_py.errors import KeyDestroyedError, MessageError, RefusedError
from blockful_py.types import Point, Uri

DST_ENCRYPTION = tag("encryption-secret")
DST_DELIVERY = tag("delivery")
MAX_KEYS = 10_000
"""Maximum number of keys in one message: delivered, or asked for."""


class Records(Protocol):
    """The state of versions on the chains and in the store."""

    def require_decrypts(self, uri: Uri, key: bytes) -> None:
        """Raises RefusedError unless the key decrypts the sealed file in the live store."""

    def replaced(self, uris: Collection[Uri]) -> frozenset[Uri]:
        """Those of `uris` that were replaced: archived as superseded, and not current on the live chain.

        Raises NodeError where two looks at the chains do not agree.
        """


class KeyCustody:
    """Answers messages about the keys in the vault."""

    KINDS = frozenset({MessageKind.KEEP_KEYS, MessageKind.LEND_KEYS, MessageKind.DESTROY_KEYS})

    def __init__(self, vault: Vault, secret: int) -> None:
        """`secret`: secret of the member's encryption key."""
        self._vault = vault
        self._secret = secret

    def answer(
        self, kind: MessageKind, message: wire.Message, domain: eip712.Domain, records: Records
    ) -> Empty | KeyDelivery | Versions:
        """Raises RefusedError, CryptoError or MessageError."""
        if kind is MessageKind.KEEP_KEYS:
            return self._keep(codec.decode(KeyDelivery, message.body), domain, records)
        if kind is MessageKind.LEND_KEYS:
            return self._lend(codec.decode(KeyRequest, message.body), domain)
        return self._destroy(codec.decode(Versions, message.body), records)

    def _keep(self, delivery: KeyDelivery, domain: eip712.Domain, records: Records) -> Empty:
        _require_few(len(delivery.keys), "delivered")
        keys = {}
        for each in delivery.keys:
            context = delivery_context(domain, each.version)
            key = envelope.unwrap(each.wrapped, self._secret, context)
            records.require_decrypts(each.version, key)
            keys[each.version.digest] = key
        self._vault.put(keys)
        return Empty()

    def _lend(self, borrow: KeyRequest, domain: eip712.Domain) -> KeyDelivery:
        """The keys that this member has; it refuses where it has none of them, so that others are awaited."""
        _require_few(len(borrow.versions), "asked for")
        keys = self._vault.find([uri.digest for uri in borrow.versions])
        if not keys:
            raise KeyDestroyedError(
                f"this member has none of the {len(borrow.versions)} keys: they were erased, or never "
                "delivered here"
            )
        return KeyDelivery(
            tuple(
                DeliveredKey(
                    uri, envelope.wrap(keys[uri.digest], borrow.reply_to, delivery_context(domain, uri))
                )
                for uri in borrow.versions
                if uri.digest in keys
            )
        )

    def _destroy(self, versions: Versions, records: Records) -> Versions:
        """The versions whose keys this member no longer has."""
        asked = frozenset(versions.versions)
        replaced = records.replaced(asked)
        if asked != replaced:
            raise RefusedError(
                f"{len(asked - replaced)} of {len(asked)} versions, whose keys are to be destroyed, were not "
                "replaced"
            )
        self._vault.destroy([uri.digest for uri in asked])
        return versions


def _require_few(count: int, what: str) -> None:
    if count > MAX_KEYS:
        raise MessageError(f"{count} keys are {what} at once, {MAX_KEYS} are allowed.")


def delivery_context(domain: eip712.Domain, version: Uri) -> bytes:
    """Context of a key wrapped between members: chain, committee and version."""
    return words(DST_DELIVERY, domain.chain_id, domain.contract, version.digest, int(version.codec))


def encryption_secret(voting_secret: int) -> int:
    """Secret of the key that data keys are delivered to, derived from the voting secret.

    It differs from the voting secret, so that uses of one key do not endanger the other.
    """
    return int.from_bytes(keccak(words(DST_ENCRYPTION, voting_secret)), "big") % curve.N or 1


def encryption_key(voting_secret: int) -> Point:
    return curve.multiply_base(encryption_secret(voting_secret))
