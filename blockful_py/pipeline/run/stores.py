# SPDX-License-Identifier: Apache-2.0
"""The two stores of a run: folders of its own, or the IPFS nodes that its settings name.

A party's folders are filled from other machines by CID, as files are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.committee import wire
from blockful_py.committee.service.member_client import signed_fetch
from blockful_py.errors import BlockNotFoundError, BusyError
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS
from blockful_py.storage.arrivals import Arrivals
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.fetch import Machine, Sign, unsigned
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
        cls,
        run: RunDirectory,
        contracts: Contracts,
        arrived: Callable[[], None] = lambda: None,
        secret: int | None = None,
    ) -> Stores:
        """The stores of `run`.  Raises StorageError when one of them is unusable.

        `arrived` is called for each block that a party's stores get from other machines.  `secret`: the
        secret of a voting key or account for which members reserve slots; without one, the party asks as a
        stranger.
        """
        storage = run.settings.storage
        if storage.api is not None and storage.archive_api is not None:
            return cls(
                IpfsStore(storage.api, storage.seconds), IpfsStore(storage.archive_api, storage.seconds)
            )
        live, archive = ContentStore(run.live_store), ContentStore(run.archive_store)
        if run.party is None:
            return cls(live, archive)
        arrivals, machines, sign = Arrivals(run.arrivals), machines_of(run, contracts), _as(contracts, secret)
        return cls(
            FederatedStore(live, arrivals, machines, sign=sign, arrived=arrived),
            FederatedStore(archive, arrivals, machines, sign=sign, arrived=arrived),
        )


class PartyBlocks:
    """Blocks of the files that a party keeps in either store, for others to fetch."""

    def __init__(self, run: RunDirectory) -> None:
        self._stores = (ContentStore(run.live_store), ContentStore(run.archive_store))
        self._arrivals = Arrivals(run.arrivals)

    def kept_block(self, uri: Uri) -> bytes:
        """A block of a kept file.  Raises BlockNotFoundError, IntegrityError or BusyError."""
        for store in self._stores:
            if store.has_kept_block(uri):
                return store.kept_block(uri)
        with suppress(BlockNotFoundError):
            self._arrivals.get(uri)
            raise BusyError("the block has arrived, and is kept once the record names its file.")
        raise BlockNotFoundError("the block is of no file that is kept here.")


def _as(contracts: Contracts, secret: int | None) -> Sign:
    """Signs requests for blocks with a key."""
    if secret is None:
        return unsigned
    committee = contracts.committee
    signer = wire.MessageSigner(secret, wire.domain(committee.chain_id, committee.address))
    return signed_fetch(signer, committee.current_epoch)


def machines_of(run: RunDirectory, contracts: Contracts) -> Machines:
    """The machines to ask for a block, by the chain's present state (`in_order`).

    These are members and joined participants, never strangers.  Every account can announce any URL; it counts
    as a member's if the account registered its voting key and that key is in the roster of the previous, this
    or the next epoch.
    """
    inside = contracts.live.node.chain_id in DEVELOPMENT_CHAINS
    listed = run.settings.committee.members

    def machines() -> Sequence[Machine]:
        announced = contracts.participants.endpoints()
        keys, committee = _voting_keys(contracts), contracts.elected
        members = {
            account: each
            for account, each in announced.items()
            if each.key in keys and committee.registrant_of(each.key) == account
        }
        joined = contracts.participants.joined() & announced.keys() - members.keys()
        participants = {account: announced[account] for account in announced if account in joined}
        return in_order(members.values(), participants, listed, inside)

    return machines


def _voting_keys(contracts: Contracts) -> set[bytes]:
    """Addresses of the members of the previous and the current epoch, and of members elected for the next."""
    committee = contracts.elected
    epoch, keys = committee.current_epoch(), {*committee.elected()}
    for each in range(max(1, epoch - 1), epoch + 1):
        keys |= {*committee.roster(each)[0].members}
    return keys


def in_order(
    members: Iterable[Endpoint], participants: Mapping[bytes, Endpoint], listed: Sequence[str], inside: bool
) -> tuple[Machine, ...]:
    """Orders machines for requests: members, then participants by account.

    Members with an announced endpoint come first, led by the `listed` URLs; then the remaining listed URLs,
    with any key.  An address in the asker's own network is used only if it is listed, or `inside` is true.
    """
    known = [Machine(each.url, each.key, inside or each.url in listed) for each in dict.fromkeys(members)]
    known.sort(key=lambda machine: listed.index(machine.url) if machine.url in listed else len(listed))
    announced = {machine.url for machine in known}
    silent = [Machine(url, None) for url in listed if url not in announced]
    others = (Machine(each.url, each.key, inside, account) for account, each in participants.items())
    return (*known, *silent, *others)
