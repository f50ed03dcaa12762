# SPDX-License-Identifier: Apache-2.0
"""What all jobs of one federation share, and the committee that decides on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.drafting import Proposer
from blockful_py.committee.protocols import Clock
from blockful_py.committee.service.key_leader import Generated
from blockful_py.committee.succession import Outgoing
from blockful_py.crypto import eip712
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.engine.journal import Journal
from blockful_py.keys.appointed_keyring import AppointedKeepers
from blockful_py.keys.auditor_keys import AuditorKeys
from blockful_py.keys.sealing import (
    Keepers,
    NewKey,
    SealedFile,
    SealedWeights,
    random_keys,
    seal_weights,
)
from blockful_py.learning.training_setup import Laboratory
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.coordination.motions import OwnMotions
from blockful_py.pipeline.coordination.remote_committee import Services, services_of
from blockful_py.pipeline.coordination.remote_keyring import ServiceKeepers
from blockful_py.pipeline.jobs.journaled_sends import Settler
from blockful_py.pipeline.review.content import ContentReviewer
from blockful_py.pipeline.run.accounts import Accounts, accounts_of
from blockful_py.pipeline.run.contracts import Contracts, appointed_committee, clock_for, key_shares
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import Identities
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.pipeline.run.stores import archive_store, live_store
from blockful_py.record.catalogue import ArchiveReader, CatalogueReader
from blockful_py.settings import Settings
from blockful_py.storage.interface import FileStore


@dataclass(frozen=True, eq=False)
class Panel:
    """A committee at work: what its members check with, who leads them, who drafts for them."""

    reviewer: ContentReviewer
    coordinator: Coordinator
    proposer: Proposer


@dataclass(frozen=True, eq=False)
class Workbench:
    """Chains, stores, data and keys of one federation.

    Attributes:
        accounts: the users'.
        leader: secret under which members of other processes are led.
        new_key: data keys for weights to be sealed.
        keepers: the members as keepers of data keys.
    """

    run: RunDirectory
    contracts: Contracts
    laboratory: Laboratory
    live_store: FileStore
    archive_store: FileStore
    catalogue: CatalogueReader
    archive: ArchiveReader
    identities: Identities
    accounts: Accounts
    shares: tuple[KeyShare, ...]
    clock: Clock
    leader: int
    new_key: NewKey
    keepers: Keepers
    journal: Journal

    @classmethod
    def of(
        cls, run: RunDirectory, nodes: Nodes, contracts: Contracts, leader: int | None = None
    ) -> Workbench:
        """`leader` is the run's own unless given.

        Raises SettingsError or LearningError where the settings do not fit the data or the chains.
        """
        identities = Identities(run.settings.seed, (nodes.live.chain_id, nodes.archive.chain_id))
        live = live_store(run)
        shares = _founders(run.settings, identities)
        leader = leader or identities.leader()
        return cls(
            run=run,
            contracts=contracts,
            laboratory=Laboratory.of(run.settings),
            live_store=live,
            archive_store=archive_store(run),
            catalogue=CatalogueReader(contracts.live, live),
            archive=ArchiveReader(contracts.archive),
            identities=identities,
            accounts=accounts_of(run.settings, identities),
            shares=shares,
            clock=clock_for(nodes, contracts),
            leader=leader,
            new_key=identities.data_key if nodes.place.own else random_keys,
            keepers=_keepers(run, contracts, identities, shares, leader),
            journal=Journal(run.journal),
        )

    @property
    def weights(self) -> SealedWeights:
        """What stands in the live store, opened with the members' keys."""
        return SealedWeights(self.live_store, self.keepers)

    @property
    def auditors(self) -> AuditorKeys:
        return AuditorKeys(self.run.auditors, self.contracts.archive)

    def give_keys(self, files: Iterable[SealedFile]) -> None:
        """The keys of sealed files, to the members and to the archive's auditors."""
        keys = {file.uri: file.key for file in files}
        self.keepers.deliver(keys)
        self.auditors.wrap(keys)

    def seal(self, weights: Weights) -> SealedFile:
        """Weights under a data key of their own, which no member has yet."""
        return seal_weights(weights, self.new_key)

    def settler(self, stopwatch: Stopwatch) -> Settler:
        """Certifies and settles decisions by way of the run's journal."""
        return Settler(self.journal, self.contracts.archive, self.contracts.live, stopwatch)

    def panel(self, counter: Counter) -> Panel:
        """The committee of the settings; its transfers are counted in `counter`."""
        live, settings = self.contracts.live, self.run.settings
        reviewer = ContentReviewer(
            live,
            self.catalogue,
            self.archive,
            self.live_store,
            self.keepers,
            self.laboratory,
            counter,
            OwnMotions(self.contracts),
            settings.committee.attested,
        )
        if settings.committee.roster != "appointed":
            coordinator = self.services().coordinator(counter)
        else:
            coordinator = appointed_committee(
                settings, self.identities, self.shares, self.contracts, reviewer
            )
        proposer = Proposer(
            live,
            self.contracts.archive,
            coordinator.group_key,
            self.contracts.committee.current_epoch(),
            settings.chain.chunk_models,
            partial(self.identities.rng, "openings", live.address),
        )
        return Panel(reviewer, coordinator, proposer)

    def services(self) -> Services:
        """The members that are processes of their own. Raises SettingsError when the run has none."""
        return services_of(self.run, self.contracts, self.leader)

    def hand_over(self) -> Generated:
        """A new epoch: the services generate a key, the home chain appoints them, the mirror follows.

        Raises QuorumError when too few members work; what stands goes on to hold then.
        """
        services = self.services()
        generated = services.generate()
        services.appoint(generated)
        self.follow()
        return generated

    def follow(self) -> None:
        """Brings the mirror to the home chain's epoch; finishes a `hand_over` that a crash interrupted."""
        committee, mirror = self.contracts.committee, self.contracts.mirror
        domain = eip712.Domain(committee.chain_id, committee.address)
        founders = [
            Outgoing(self.identities.voter(share.index), share.index, domain, committee, mirror)
            for share in self.shares
        ]
        founding_key = self.shares[0].public.key_id if self.shares else b""
        self.services().follow(founders, founding_key)


def _keepers(
    run: RunDirectory, contracts: Contracts, identities: Identities, shares: tuple[KeyShare, ...], leader: int
) -> Keepers:
    if run.settings.committee.roster == "appointed":
        return AppointedKeepers(run.vaults, {each.index: identities.voter(each.index) for each in shares})
    return ServiceKeepers(contracts, services_of(run, contracts, leader))


def _founders(settings: Settings, identities: Identities) -> tuple[KeyShare, ...]:
    """Shares of the appointed members; an elected committee has none."""
    return () if settings.committee.roster == "elected" else key_shares(settings, identities)
