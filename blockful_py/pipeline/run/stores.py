# SPDX-License-Identifier: Apache-2.0
"""The two stores of a run: folders of its own, or the IPFS nodes that its settings name.

A party's folders are filled from other machines' by CID, as files are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.errors import BlockNotFoundError, BusyError
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS
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
    def of(
        cls, run: RunDirectory, contracts: Contracts, arrived: Callable[[], None] = lambda: None
    ) -> Stores:
        """The stores of `run`.  Raises StorageError when one of them is unusable.

        `arrived` is called for each block that a party's stores get from other machines.
        """
        storage = run.settings.storage
        if storage.api is not None and storage.archive_api is not None:
            return cls(
                IpfsStore(storage.api, storage.seconds), IpfsStore(storage.archive_api, storage.seconds)
            )
        live, archive = ContentStore(run.live_store), ContentStore(run.archive_store)
        if run.party is None:
            return cls(live, archive)
        arrivals, machines = Arrivals(run.arrivals), machines_of(run, contracts)
        return cls(
            FederatedStore(live, arrivals, machines, arrived=arrived),
            FederatedStore(archive, arrivals, machines, arrived=arrived),
        )


class PartyBlocks:
    """Blocks of the files that a party keeps in either store, for others to fetch."""

    def __init__(self, run: RunDirectory) -> None:
        self._stores = (ContentStore(run.live_store), ContentStore(run.archive_store))
        self._arrivals = Arrivals(run.arrivals)

    def kept_block(self, uri: Uri) -> bytes:
        """Raises BlockNotFoundError, IntegrityError or BusyError."""
        for store in self._stores:
            if store.has_kept_block(uri):
                return store.kept_block(uri)
        with suppress(BlockNotFoundError):
            self._arrivals.get(uri)
            raise BusyError("the block has arrived, and is kept once the record names its file.")
        raise BlockNotFoundError("the block is of no file that is kept here.")


def machines_of(run: RunDirectory, contracts: Contracts) -> Machines:
    """Whom to ask for a block, as the chain has it now (`in_order`).

    Every account can announce any URL; it counts as a member's with the voting key that the account
    registered.
    """
    inside = contracts.live.node.chain_id in DEVELOPMENT_CHAINS
    listed = run.settings.committee.members
    registered: set[tuple[bytes, bytes]] = set()

    def is_member(account: bytes, key: bytes) -> bool:
        if (account, key) not in registered and contracts.elected.registrant_of(key) == account:
            registered.add((account, key))
        return (account, key) in registered

    def machines() -> Sequence[Machine]:
        members, others = list[Endpoint](), list[Endpoint]()
        for account, each in contracts.participants.endpoints().items():
            (members if is_member(account, each.key) else others).append(each)
        return in_order(members, others, listed, inside)

    return machines


def in_order(
    members: Iterable[Endpoint], others: Iterable[Endpoint], listed: Sequence[str], inside: bool
) -> tuple[Machine, ...]:
    """The members that have announced where they are reached, those at the `listed` URLs first; listed URLs
    of members that have not, under any key; the others.

    An address of the asker's own network is asked only where it is listed, or `inside` is true.
    """
    known = [Machine(each.url, each.key, inside or each.url in listed) for each in dict.fromkeys(members)]
    known.sort(key=lambda machine: listed.index(machine.url) if machine.url in listed else len(listed))
    announced = {machine.url for machine in known}
    silent = [Machine(url, None) for url in listed if url not in announced]
    return (*known, *silent, *(Machine(each.url, each.key, inside) for each in dict.fromkeys(others)))
