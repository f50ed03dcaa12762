# SPDX-License-Identifier: Apache-2.0
"""The two stores of a run: folders of its own, or the IPFS nodes that its settings name.

A party's folders are filled from other machines' by CID, as files are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.errors import BlockNotFoundError
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

NOBODY = bytes(20)
"""Key of a machine that has announced none."""
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
    inside = contracts.live.node.chain_id in DEVELOPMENT_CHAINS
    listed = run.settings.committee.members
    return lambda: in_order(contracts.participants.endpoints().values(), listed, inside)


def in_order(announced: Iterable[Endpoint], listed: Sequence[str], inside: bool) -> tuple[Machine, ...]:
    """Machines to ask for a block, those at the `listed` URLs first.

    Anybody may announce anything: another's URL under a key of its own, which takes the URL from nobody, or
    an address of the asker's own network, which is asked only where it is listed, or `inside` is true.
    """
    endpoints = dict.fromkeys(announced)
    known = [Machine(each.url, each.key, inside or each.url in listed) for each in endpoints]
    first = [
        machine
        for url in listed
        for machine in [each for each in known if each.url == url] or [Machine(url, NOBODY)]
    ]
    return (*first, *(machine for machine in known if machine.url not in listed))
