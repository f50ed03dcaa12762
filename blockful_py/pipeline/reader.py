# SPDX-License-Identifier: Apache-2.0
"""A reader's session with a run: registers, asks for keys, reads models, decrypts for verifications."""

from __future__ import annotations

from pathlib import Path

from blockful_py.chain.reader_registry import Reader, ReaderRegistryContract
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.closable import Closable
from blockful_py.committee.service.messages import ReadRequest
from blockful_py.crypto import envelope
from blockful_py.errors import RefusedError, RunError
from blockful_py.keys.appointed_keyring import AppointedKeyring
from blockful_py.keys.auditor_keys import AuditorKeys
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.keys.sealing import SealedWeights, opened
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.coordination.reader_keyring import ask_members
from blockful_py.pipeline.coordination.remote_committee import remote_committee_of
from blockful_py.pipeline.run.accounts import provide
from blockful_py.pipeline.run.contracts import key_shares
from blockful_py.pipeline.run.identities import Identities
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import MAX_NODE_BYTES, parse_node
from blockful_py.types import Position, Uri


class ReaderSession(Closable):
    """A run as one reader sees it.  The reader's own account pays for the reader's transactions."""

    def __init__(self, directory: Path, keys: ReaderKeys, nodes: Nodes | None = None) -> None:
        """Opens the run.  Uses `nodes` if passed, and does not stop them; otherwise starts its own.

        Raises RunError, NodeError or DeploymentError when the run cannot be opened.
        """
        self._keys = keys
        self._opened = opened = OpenedRun.attach(directory, nodes)
        self.run, self._contracts, self._stores = opened.run, opened.contracts, opened.stores
        self._store = self._stores.live
        self._access = opened.access
        live, readers = self._contracts.live, self._contracts.readers
        sender = Sender(live.node, Signer(keys.account_secret.to_bytes(32, "big")))
        self._registry = ReaderRegistryContract(live.node, readers.address, sender)

    def status(self) -> Reader:
        """The reader's entry in the registry."""
        return self._registry.reader(self._keys.account)

    def register(self) -> Reader:
        """Registers the reader, or replaces its key.

        Raises ContractError ReaderIsBarred, and NodeError when its account cannot pay.
        """
        self._provide()
        self._registry.register(self._keys.encryption_key)
        return self.status()

    def leave(self) -> None:
        """Removes the reader from the registry.  Raises ContractError NotRegistered."""
        self._provide()
        self._registry.leave()

    def read(self, name: str) -> Weights:
        """The current weights of a model.

        Raises UnknownModelError, RefusedError with the members' reason, KeyDestroyedError when no member has
        the key, StorageError when the weights are not in the store.
        """
        placed = Catalogue.read(self._contracts.live, self._store)[name]
        return self.open(placed.position, placed.version, placed.node.weights)

    def open(self, position: Position, version: int, weights: Uri) -> Weights:
        """The weights in the sealed file of a current version; raises as `read`."""
        key = self.key(ReadRequest(position, version))
        return opened(self._store, weights, key)

    def read_archived(self, name: str, version: int) -> Weights:
        """An archived version's weights, for an auditor.

        Raises UnknownModelError, RunError for a version that was never archived, RefusedError for a reader
        that is no auditor of it, StorageError when the archive's store lacks it.
        """
        return self.open_archived(self._archived(name, version))

    def open_archived(self, weights: Uri) -> Weights:
        """The weights in a sealed file of the archive; raises as `read_archived`."""
        return opened(self._stores.archive, weights, self._auditors_key(weights))

    def data_key(self, name: str, version: int | None = None) -> bytes:
        """The data key of a model's current version, or of an archived one; raises as `read` or
        `read_archived`.
        """
        if version is not None:
            return self._auditors_key(self._archived(name, version))
        placed = Catalogue.read(self._contracts.live, self._store)[name]
        return self.key(ReadRequest(placed.position, placed.version))

    def key(self, wanted: ReadRequest) -> bytes:
        """The data key of a current version; raises as `read`."""
        appointed = self.run.settings.committee.roster == "appointed"
        if not appointed:
            remote = remote_committee_of(self.run, self._contracts, self._keys.account_secret)
            return ask_members(self._contracts, remote, self._access, self._keys, wanted)
        context = self._access.context(self._keys.account, wanted)
        return envelope.unwrap(self._in_process(wanted), self._keys.encryption_secret, context)

    def _archived(self, name: str, version: int) -> Uri:
        """The sealed weights of a version in the archive."""
        archive = self._contracts.archive
        placed = Catalogue.read(self._contracts.live, self._store)[name]
        for stored in archive.records(0, archive.length()):
            record = stored.record
            if (record.position, record.version) == (placed.position, version):
                return parse_node(self._stores.archive.read(record.uri, MAX_NODE_BYTES)).weights
        raise RunError(f"version {version} of {name} is not in the archive.")

    def _auditors_key(self, weights: Uri) -> bytes:
        auditors = AuditorKeys(self.run.auditors, self._contracts.archive)
        return auditors.unwrap(weights, self._keys.account, self._keys.encryption_secret)

    def close(self) -> None:
        self._opened.close()

    def _in_process(self, wanted: ReadRequest) -> bytes:
        settings = self.run.settings
        identities = Identities(
            settings.seed, (self._opened.nodes.live.chain_id, self._opened.nodes.archive.chain_id)
        )
        members = [share.index for share in key_shares(settings, identities)]
        keyring = AppointedKeyring(self.run.vaults, {index: identities.voter(index) for index in members})
        return self._access.wrapped(self._keys.account, wanted, keyring)

    def _provide(self) -> None:
        """Funds an empty account on a development chain, so that it can pay for gas."""
        provide(self._opened.nodes.live_sender, self._registry.interface, self._keys.account)


class LeaderDecryptor:
    """Decrypts every version with the members' keys."""

    def __init__(self, weights: SealedWeights) -> None:
        self._weights = weights

    def decrypts(self, position: Position, version: int, weights: Uri) -> bool:
        self._weights.read(weights)
        return True


class ReaderDecryptor:
    """Decrypts the current versions whose keys this reader gets from the members.

    If `archived`: the archived versions whose keys are wrapped to this auditor.
    """

    def __init__(self, session: ReaderSession, archived: bool = False) -> None:
        self._session = session
        self._archived = archived

    def decrypts(self, position: Position, version: int, weights: Uri) -> bool:
        try:
            if self._archived:
                self._session.open_archived(weights)
            else:
                self._session.open(position, version, weights)
        except RefusedError:
            return False
        return True
