# SPDX-License-Identifier: Apache-2.0
"""The leader of a run's committee, and its session with a coordinator and a proposer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.drafting import Proposer
from blockful_py.committee.memory import VolatileMemory
from blockful_py.committee.service.key_leader import Generated
from blockful_py.committee.succession import MirrorVoter
from blockful_py.crypto import eip712
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.engine.journal import Journal
from blockful_py.errors import SettingsError
from blockful_py.keys.appointed_keyring import AppointedKeyring
from blockful_py.keys.sealing import CommitteeKeyring
from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee, remote_committee_of
from blockful_py.pipeline.coordination.remote_keyring import RemoteKeyring
from blockful_py.pipeline.jobs.journaled_sends import journaled_executions
from blockful_py.pipeline.review.content import ContentReviewer
from blockful_py.pipeline.run.contracts import Contracts, appointed_committee, key_shares, roster_of
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import LEADER_KEY, Identities, leader_key
from blockful_py.pipeline.run.operations import Counter


@dataclass(frozen=True, slots=True, eq=False)
class CommitteeSession:
    """A session with a committee: its coordinator, and the proposer that drafts for it."""

    coordinator: Coordinator
    proposer: Proposer


class Leader:
    """Leads the committee of a run, whose members live in this process or in others."""

    def __init__(
        self,
        run: RunDirectory,
        contracts: Contracts,
        identities: Identities | None,
        secret: int | None = None,
    ) -> None:
        """Leads with the run's own secret, or as the member with the voting secret `secret`.

        `identities`: None if no key derives from the seed.
        """
        self._secret = secret
        self._run = run
        self._contracts = contracts
        self._identities = identities

    @property
    def secret(self) -> int:
        """The secret that it leads with.  Raises SettingsError if it has none."""
        if self._secret is not None:
            return self._secret
        if self._identities is not None:
            return self._identities.leader()
        if self._run.party is not None and LEADER_KEY not in os.environ:
            raise SettingsError(
                f"{self._run.path} is a participant's run, and only its user has the keys: use `blockful "
                "participant` as that user, or give a laboratory's run."
            )
        return leader_key()

    @property
    def has_secret(self) -> bool:
        """Whether there is a secret to lead with."""
        return self._secret is not None or self._identities is not None or LEADER_KEY in os.environ

    @property
    def _derived(self) -> Identities:
        if self._identities is None:
            raise SettingsError("appointed members' keys derive from the seed: for development chains only.")
        return self._identities

    @cached_property
    def _shares(self) -> tuple[KeyShare, ...]:
        """Shares of the appointed members; an elected committee has none here."""
        elected = self._run.settings.committee.roster == "elected"
        return () if elected else key_shares(self._run.settings, self._derived)

    @property
    def is_local(self) -> bool:
        """Whether the members live in this process."""
        return self._run.settings.committee.roster == "appointed"

    def session(self, reviewer: ContentReviewer, counter: Counter) -> CommitteeSession:
        """The committee of the current epoch.

        `reviewer`: reviews for the members in this process.  `counter`: counts remote members' model
        downloads.
        """
        live, settings = self._contracts.live, self._run.settings
        if self.is_local:
            job = Journal(self._run.journal).open_job()
            voted = [each.settlement.decision for each in journaled_executions(job)] if job else []
            coordinator = appointed_committee(
                settings, self._derived, self._shares, self._contracts, reviewer, voted
            )
        else:
            coordinator = self.remote().coordinator(counter)
        proposer = Proposer(
            live,
            self._contracts.archive,
            coordinator.group_key,
            self._contracts.committee.current_epoch(),
            settings.chain.chunk_models,
        )
        return CommitteeSession(coordinator, proposer)

    def keyring(self) -> CommitteeKeyring:
        """The members' keyring."""
        if not self.is_local:
            return RemoteKeyring(self._contracts, self.remote)
        secrets = {share.index: self._derived.voter(share.index) for share in self._shares}
        return AppointedKeyring(self._run.vaults, secrets)

    def remote(self) -> RemoteCommittee:
        """The members in separate processes.  Raises SettingsError when the run has none."""
        return remote_committee_of(self._run, self._contracts, self.secret)

    def hand_over(self) -> Generated:
        """Starts an epoch: remote members generate a key, the home chain appoints them, the mirror follows.

        Raises QuorumError when too few members respond; the current epoch then stays in force.
        """
        committee = self.remote()
        generated = committee.generate()
        committee.appoint(generated)
        self.follow()
        return generated

    def follow(self) -> None:
        """Advances the mirror to the home chain's epoch; completes an interrupted `hand_over`."""
        committee, mirror = self._contracts.committee, self._contracts.mirror
        domain = eip712.Domain(committee.chain_id, committee.address)
        founders, founding_key = [], b""
        if self._shares:
            founding_key = self._shares[0].public.key_id
            roster = roster_of(self._run.settings, self._derived, self._shares)
            founders = [
                MirrorVoter(
                    CertificateSigner(
                        self._derived.voter(share.index), roster, domain, VolatileMemory(), system_rng
                    ),
                    committee,
                    mirror,
                )
                for share in self._shares
            ]
        self.remote().follow(founders, founding_key)
