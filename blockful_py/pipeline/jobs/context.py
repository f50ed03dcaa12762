# SPDX-License-Identifier: Apache-2.0
"""The context that all jobs of one federation share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from blockful_py.committee.protocols import Clock
from blockful_py.engine.journal import Journal
from blockful_py.keys.auditor_keys import AuditorKeys
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.keys.sealing import SealedWeights, random_keys
from blockful_py.keys.weight_keys import WeightKeys
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.pipeline.coordination.motions import OwnMotions
from blockful_py.pipeline.coordination.reader_keyring import ReaderKeyring
from blockful_py.pipeline.jobs.history import RequestHistory
from blockful_py.pipeline.jobs.journaled_sends import JournaledExecutor
from blockful_py.pipeline.jobs.leader import CommitteeSession, Leader
from blockful_py.pipeline.review.content import ContentReviewer
from blockful_py.pipeline.review.sources import ReviewSources
from blockful_py.pipeline.run.accounts import Accounts, OwnAccount, accounts_of, identities_in
from blockful_py.pipeline.run.contracts import Contracts, clock_for
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import Identities
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.pipeline.run.stores import Stores
from blockful_py.pipeline.run.training_data import setup_of
from blockful_py.record.catalogue import RecordReaders
from blockful_py.record.docket import Docket
from blockful_py.storage.federated import FederatedStore
from blockful_py.storage.interface import FileStore
from blockful_py.types import Uri
from blockful_py.unlearning.model_job import Changer, change_here

HandOut = Callable[[Sequence[Uri]], None]
"""Pushes files to the members.  Raises QuorumError unless a quorum has them."""


@dataclass(frozen=True, eq=False)
class FederationContext:
    """Chains, stores, data and keys of one federation.

    Attributes:
        hand_out: pushes files to the members, unless they read the same store.
        changer: applies a method's changes of single models.
    """

    opened: OpenedRun
    setup: TrainingSetup
    keys: WeightKeys
    accounts: Accounts
    leader: Leader
    clock: Clock
    journal: Journal
    hand_out: HandOut
    changer: Changer = change_here

    @classmethod
    def of(
        cls,
        opened: OpenedRun,
        participant: ReaderKeys | None = None,
    ) -> FederationContext:
        """The context of an opened run, led with the run's secret; `participant`: keys of its participant.

        Raises SettingsError or LearningError when the settings do not fit the data or the chains.
        """
        run, nodes, contracts, stores = opened.run, opened.nodes, opened.contracts, opened.stores
        identities = identities_in(run, nodes)
        leader = Leader(run, contracts, identities, opened.secret)
        keyring = leader.keyring()
        if participant is not None:
            keyring = ReaderKeyring(opened, leader.remote, participant)
        new_key = identities.data_key if identities and nodes.place.own else random_keys
        auditors = AuditorKeys(run.auditors, contracts.archive)
        return cls(
            opened=opened,
            setup=setup_of(run, stores.live),
            keys=WeightKeys(new_key, keyring, auditors),
            accounts=_accounts(run, identities, opened.secret),
            leader=leader,
            clock=clock_for(nodes, contracts),
            journal=run.opened_journal(),
            hand_out=_hand_out(leader, stores.live),
        )

    @property
    def run(self) -> RunDirectory:
        return self.opened.run

    @property
    def contracts(self) -> Contracts:
        return self.opened.contracts

    @property
    def stores(self) -> Stores:
        return self.opened.stores

    @property
    def record(self) -> RecordReaders:
        return self.opened.record

    @property
    def docket(self) -> Docket:
        """The filed requests of a federation of machines."""
        return self.opened.docket

    @property
    def weights(self) -> SealedWeights:
        """The current weights in the live store, decrypted with the members' keys."""
        return SealedWeights(self.stores.live, self.keys.keyring, self.setup.form)

    @property
    def archived_weights(self) -> SealedWeights:
        """The weights in the archive's store, decrypted with the members' keys."""
        return SealedWeights(self.stores.archive, self.keys.keyring, self.setup.form)

    @property
    def history(self) -> RequestHistory:
        """The earlier requests on the record."""
        return RequestHistory(self.record, self.stores.archive)

    def executor(self, stopwatch: Stopwatch) -> JournaledExecutor:
        """Certifies and executes decisions, with each step in the run's journal."""
        return JournaledExecutor(self.journal, self.contracts.archive, self.contracts.live, stopwatch)

    def session(self, counter: Counter) -> CommitteeSession:
        """The committee of the current epoch; `counter` counts the models that it fetches."""
        sources = ReviewSources(
            self.contracts,
            self.record,
            self.stores.live,
            self.keys.keyring,
            self.setup,
            self.run.settings.committee.attested,
            self.run.allowed_code,
        )
        return self.leader.session(ContentReviewer(sources, OwnMotions(self.contracts), counter), counter)


def _hand_out(leader: Leader, store: FileStore) -> HandOut:
    if isinstance(store, FederatedStore):
        return lambda files: leader.remote().push(files, store.own)
    return lambda files: None


def _accounts(run: RunDirectory, identities: Identities | None, secret: int | None) -> Accounts:
    """The accounts of the run's users; a party's run opened without keys has none and is read-only."""
    if run.party is None:
        return accounts_of(run.settings, identities)
    return OwnAccount(None, 0) if secret is None else OwnAccount(run.party.user, secret)
