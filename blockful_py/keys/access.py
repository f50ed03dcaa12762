# SPDX-License-Identifier: Apache-2.0
"""Access control: a member's checks before it gives a data key to a reader.

The live chain decides: its registry holds the readers and their registration heights, and its transactions
hold the current versions.  A reader's own claims do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from blockful_py.chain.reader_registry import Reader
from blockful_py.committee.service.messages import ReadRequest
from blockful_py.crypto import envelope
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.keccak import words
from blockful_py.errors import ContractError, RefusedError
from blockful_py.keys.sealing import Keyring
from blockful_py.ledger.protocols import LiveLedger, Store
from blockful_py.record.model_node import MAX_NODE_BYTES, parse_node
from blockful_py.record.request_state import RequestStanding
from blockful_py.settings import AccessSettings
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Address, ModelTransaction, Point, Position, Uri

DST_READER = tag("reader")


class Readers(Protocol):
    """A member's view of the reader registry."""

    def reader(self, account: Address) -> Reader: ...


class Access:
    """Applies the access rule of the settings to the state of the live chain."""

    def __init__(
        self,
        live: LiveLedger,
        readers: Readers,
        store: Store,
        settings: AccessSettings,
        status: Callable[[int], RequestStanding],
        trains: Callable[[Address], bool],
    ) -> None:
        """Reads the chain and the requests' states; `store` has the nodes of current versions and parts.

        `trains`: whether an account is a participant, which trains from clean models as from references.
        """
        self._live = live
        self._readers = readers
        self._store = store
        self._settings = settings
        self._status = status
        self._trains = trains

    def wrapped(self, account: Address, wanted: ReadRequest, keyring: Keyring) -> bytes:
        """The version's data key, wrapped for the reader's registered key.

        Raises RefusedError, with the reason, unless the account may read it; KeyDestroyedError if the keyring
        lacks its key.
        """
        reader = self._admitted(account, wanted.position)
        sealed = self._handed_in(account, wanted) if wanted.request else self._current(account, wanted)
        context = self.context(account, wanted)
        return envelope.wrap(keyring.find((sealed,))[sealed], reader, context)

    def context(self, account: Address, wanted: ReadRequest) -> bytes:
        """Context of a key wrapped for a reader: chain, contract, position, version, file and reader."""
        place = (
            self._live.chain_id,
            self._live.address,
            wanted.position.packed,
            wanted.version,
            wanted.request,
            wanted.increment,
        )
        return words(DST_READER, *place, account)

    def _admitted(self, account: Address, position: Position) -> Point:
        """The encryption key of a reader that may read the model."""
        reader, name = self._readers.reader(account), "0x" + account.hex()
        if reader.barred:
            raise RefusedError(f"{name} was barred by the committee: it may read nothing.")
        if reader.key is None:
            raise RefusedError(
                f"{name} is not a registered reader: register with `blockful reader register` first."
            )
        if self._settings.joined_by == "publication" and reader.joined > position.height:
            raise RefusedError(
                f"{name} joined before block {reader.joined}, the model at {position} was published in block "
                f"{position.height}: readers that joined later may not read it (access.joined_by)."
            )
        return reader.key

    def _handed_in(self, account: Address, wanted: ReadRequest) -> Uri:
        """The sealed file of a part from which a part that the account owes starts."""
        uri = self._status(wanted.request).parts_above(account).get(wanted.position)
        if uri is None:
            raise RefusedError(
                f"request {wanted.request} asks 0x{account.hex()} for no part that starts from the model at "
                f"{wanted.position}."
            )
        return parse_node(self._store.read(uri, MAX_NODE_BYTES)).weights

    def _current(self, account: Address, wanted: ReadRequest) -> Uri:
        """A sealed file of the current version: its weights, or a clean model for a participant."""
        try:
            transaction: ModelTransaction = self._live.transaction(wanted.position)
        except ContractError:
            raise RefusedError(f"there is no model at {wanted.position}.") from None
        if transaction.version != wanted.version:
            raise RefusedError(
                f"version {wanted.version} of the model at {wanted.position} is not current; version "
                f"{transaction.version} is. Keys of replaced versions are destroyed."
            )
        if not transaction.settled:
            raise RefusedError(f"the model at {wanted.position} is being replaced: ask again.")
        node = parse_node(self._store.read(transaction.uri, MAX_NODE_BYTES))
        if not wanted.increment:
            return node.weights
        if not self._trains(account):
            raise RefusedError(f"0x{account.hex()} is no participant: only they train from clean models.")
        if not 1 <= wanted.increment <= len(node.increments):
            raise RefusedError(f"the model at {wanted.position} names {len(node.increments)} increments.")
        return parse_cid(node.increments[wanted.increment - 1].weights)
