# SPDX-License-Identifier: Apache-2.0
"""A member's custody of data keys: it stores them, lends them to its peers and destroys them.

Keys are wrapped in transit: to the member's encryption key on delivery, to the peer's one-time key when lent.
No log or refusal contains a key.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from blockful_py.committee.service.messages import (
    DeliveredKey,
    Empty,
    KeyDelivery,
    KeyRequest,
    Versions,
)
from blockful_py.committee.vault import Vault
from blockful_py.crypto import curve, eip712, envelope
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import keccak, words
from blockful_py.errors import KeyDestroyedError, MessageError, RefusedError
from blockful_py.types import Address, Point, Uri

DST_ENCRYPTION = tag("encryption-secret")
DST_DELIVERY = tag("delivery")
MAX_KEYS = 10_000
"""Maximum number of keys in one message, delivered or requested."""


class Records(Protocol):
    """The state of versions on the chains and in the store."""

    def require_decrypts(self, uri: Uri, key: bytes) -> None:
        """Checks that the key decrypts the sealed file in the live store.  Raises RefusedError."""

    def require_borrower(self, address: Address) -> None:
        """Checks that an account may borrow keys.  Raises RefusedError."""

    def replaced(self, uris: Collection[Uri]) -> frozenset[Uri]:
        """The replaced versions among `uris`: archived as superseded, and not current on the live chain.

        Raises NodeError when two looks at the chains disagree.
        """


@dataclass(frozen=True, slots=True)
class KeyCustody:
    """Answers messages about the keys in a vault.

    Attributes:
        secret: secret of the member's encryption key.
        domain: EIP-712 domain of the committee's messages.
        records: the member's view of the versions.
    """

    vault: Vault
    secret: int
    domain: eip712.Domain
    records: Records

    def keep(self, delivery: KeyDelivery) -> Empty:
        """Stores keys.  Raises RefusedError for a key that does not decrypt its version."""
        _require_few(len(delivery.keys), "delivered")
        keys = {}
        for each in delivery.keys:
            context = delivery_context(self.domain, each.version)
            key = envelope.unwrap(each.wrapped, self.secret, context)
            self.records.require_decrypts(each.version, key)
            keys[each.version.digest] = key
        self.vault.put(keys)
        return Empty()

    def lend(self, borrower: Address, borrow: KeyRequest) -> KeyDelivery:
        """The requested keys that this member has.

        Raises KeyDestroyedError if it has none, so that the borrower waits for other members.
        """
        self.records.require_borrower(borrower)
        _require_few(len(borrow.versions), "asked for")
        keys = self.vault.find([uri.digest for uri in borrow.versions])
        if not keys:
            raise KeyDestroyedError(
                f"this member has none of the {len(borrow.versions)} keys: they were erased, or never "
                "delivered here"
            )
        return KeyDelivery(
            tuple(
                DeliveredKey(
                    uri, envelope.wrap(keys[uri.digest], borrow.reply_to, delivery_context(self.domain, uri))
                )
                for uri in borrow.versions
                if uri.digest in keys
            )
        )

    def destroy(self, versions: Versions) -> Versions:
        """Destroys keys of replaced versions.  Raises RefusedError unless all versions were replaced."""
        asked = frozenset(versions.versions)
        replaced = self.records.replaced(asked)
        if asked != replaced:
            raise RefusedError(
                f"{len(asked - replaced)} of {len(asked)} versions were not replaced; no key was destroyed"
            )
        self.vault.destroy([uri.digest for uri in asked])
        return versions


def _require_few(count: int, what: str) -> None:
    if count > MAX_KEYS:
        raise MessageError(f"{count} keys are {what} at once, {MAX_KEYS} are allowed.")


def delivery_context(domain: eip712.Domain, version: Uri) -> bytes:
    """Context of a key wrapped between members: chain, committee and version."""
    return words(DST_DELIVERY, domain.chain_id, domain.contract, version.digest, int(version.codec))


def encryption_secret(voting_secret: int) -> int:
    """Secret of the encryption key that receives data keys, derived from the voting secret.

    It differs from the voting secret, so that uses of one key do not endanger the other.
    """
    return int.from_bytes(keccak(words(DST_ENCRYPTION, voting_secret)), "big") % curve.N or 1


def encryption_key(voting_secret: int) -> Point:
    return curve.multiply_base(encryption_secret(voting_secret))
