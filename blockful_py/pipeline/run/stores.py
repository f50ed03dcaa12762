# SPDX-License-Identifier: Apache-2.0
"""The two stores of a run: folders of its own, or the IPFS nodes that its settings name.

A party's folders are filled from other machines' by CID, as files are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from blockful_py.errors import BlockNotFoundError
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.storage.arrivals import Arrivals
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.fetch import Machine
from blockful_py.storage.interface import FileStore
from blockful_py.storage.ipfs import IpfsStore
from blockful_py.storage.store import ContentStore
from blockful_py.types import Uri

Machines = Callable[[], Sequence[Machine]]
"""Machines that may have a file, in the order to ask them."""


@dataclass(frozen=True, slots=True, eq=False)
class Stores:
    """The stores of a run: one for the live chain's models, one with every version for auditors."""

    live: FileStore
    archive: FileStore

    @classmethod
    def of(cls, run: RunDirectory, contracts: Contracts) -> Stores:
        """The stores of `run`.  Raises StorageError when one of them is unusable."""
        storage = run.settings.storage
        if storage.api is not None and storage.archive_api is not None:
            return cls(
                IpfsStore(storage.api, storage.seconds), IpfsStore(storage.archive_api, storage.seconds)
            )
        live, archive = ContentStore(run.live_store), ContentStore(run.archive_store)
        if run.party is None:
            return cls(live, archive)
        arrivals, machines = Arrivals(run.arrivals), machines_of(run, contracts)
        return cls(FederatedStore(live, arrivals, machines), FederatedStore(archive, arrivals, machines))


class PartyBlocks:
    """Blocks of the files that a party keeps in either store, for others to fetch."""

    def __init__(self, run: RunDirectory) -> None:
        self._stores = (ContentStore(run.live_store), ContentStore(run.archive_store))

    def kept_block(self, uri: Uri) -> bytes:
        """Raises BlockNotFoundError or IntegrityError."""
        for store in self._stores:
            if store.has_kept_block(uri):
                return store.kept_block(uri)
        raise BlockNotFoundError("the block is of no file that is kept here.")


def machines_of(run: RunDirectory, contracts: Contracts) -> Machines:
    """The members that have announced where they are reached, then other accounts, as the chain has them;
    before any has, the URLs of the federation file."""

    def machines() -> Sequence[Machine]:
        announced = contracts.participants.endpoints().values()
        urls = run.settings.committee.members
        known = {each.url: Machine(each.url, each.key) for each in announced}
        first = [known.pop(url, Machine(url, bytes(20))) for url in urls]
        return (*first, *known.values())

    return machines
