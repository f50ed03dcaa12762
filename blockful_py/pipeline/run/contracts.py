# SPDX-License-Identifier: Apache-2.0
"""Deploys and opens a federation's contracts; its appointed committee and its clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

from blockful_py.chain import deployments
from blockful_py.chain.alarm_registry import AlarmRegistryContract
from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.contract import Contract
from blockful_py.chain.deployments import Deployment
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.node import Node
from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.chain.quorum import AppointedCommitteeContract, QuorumMirrorContract
from blockful_py.chain.reader_registry import ReaderRegistryContract
from blockful_py.chain.sender import SENDER_KEY, Sender
from blockful_py.chain.sortition import Parameters
from blockful_py.committee.certificate_signer import CertificateSigner
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.member import Member
from blockful_py.committee.memory import Ballot, VolatileMemory
from blockful_py.committee.protocols import Clock, Reviewer
from blockful_py.crypto import curve, eip712
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.roster import Roster
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.crypto.threshold.local import generate_key
from blockful_py.errors import DeploymentError, ReorganisedError, RunError, SettingsError
from blockful_py.pipeline.run.clock import LogicalClock, WallClock
from blockful_py.pipeline.run.identities import Identities, identities_of
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.settings import CommitteeSettings, Settings
from blockful_py.types import Certificate

EVENTS = "events"
"""Folder of past events, kept even after nodes prune them."""
EPOCH_OF_TIME = 1_767_225_600
"""2026-01-01T00:00:00Z, the start of a new devnet's logical clock, in seconds."""

Opened = TypeVar("Opened", bound=Contract)


@dataclass(frozen=True, slots=True)
class Followers:
    """The contracts on the archive chain."""

    mirror: QuorumMirrorContract
    archive: ArchiveRegistryContract


@dataclass(frozen=True, slots=True)
class Contracts:
    """The contracts of a federation; an elected committee has no followers before its first epoch.

    `mirror` and `archive` raise RunError until then.
    """

    committee: AppointedCommitteeContract | CommitteeContract
    live: LiveChainContract
    participants: ParticipantRegistryContract
    readers: ReaderRegistryContract
    alarms: AlarmRegistryContract
    followers: Followers | None

    @property
    def mirror(self) -> QuorumMirrorContract:
        return self._followers().mirror

    @property
    def archive(self) -> ArchiveRegistryContract:
        return self._followers().archive

    def require_unchanged(self) -> None:
        """Compares both chains with the read blocks.  Raises ReorganisedError, once, for changed ones."""
        changed = []
        for contract in (self.live, *(() if self.followers is None else (self.followers.archive,))):
            try:
                contract.require_unchanged()
            except ReorganisedError as error:
                changed.append(str(error))
        if changed:
            raise ReorganisedError(" ".join(changed))

    @property
    def elected(self) -> CommitteeContract:
        """The elected committee's contract.  Raises SettingsError when the committee is appointed."""
        if not isinstance(self.committee, CommitteeContract):
            raise SettingsError(
                "this run's committee is not elected: make a run with committee.roster=elected to have "
                "members join, be elected and leave."
            )
        return self.committee

    @property
    def appointed(self) -> AppointedCommitteeContract:
        """The appointed committee's contract.  Raises SettingsError when the committee is elected."""
        if not isinstance(self.committee, AppointedCommitteeContract):
            raise SettingsError("this run's committee is elected: have it elected with `committee rotate`.")
        return self.committee

    def _followers(self) -> Followers:
        if self.followers is None:
            raise RunError(
                "the committee has no epoch yet: let members join with `blockful committee join`, then elect "
                "the first ones with `blockful committee rotate`."
            )
        return self.followers


def key_shares(settings: Settings, identities: Identities) -> tuple[KeyShare, ...]:
    """The appointed members' shares of the group key, from a key generation among them."""
    committee = settings.committee
    context = keccak(b"blockful appointed roster" + settings.seed.to_bytes(8, "big"))
    rngs = [identities.rng("dkg", index) for index in range(1, committee.size + 1)]
    return generate_key(committee.shares, committee.size, context, rngs)


def roster_of(settings: Settings, identities: Identities, shares: tuple[KeyShare, ...]) -> Roster:
    """The roster of epoch 1: voting keys by member, and their group key."""
    keys = tuple(curve.multiply_base(identities.voter(share.index)) for share in shares)
    return Roster(keys, settings.committee.shares, settings.committee.unanimous, shares[0].group_key)


def deploy(nodes: Nodes, settings: Settings, directory: Path) -> Contracts:
    """Deploys the contracts and writes the deployments files.

    An elected committee begins without an epoch and without followers (`found_followers` deploys them).
    """
    seats = settings.federation.users
    paid = nodes.live_sender.pays and nodes.archive_sender.pays
    wanted = () if paid else (f"${SENDER_KEY}, the private key that pays for transactions",)
    identities = identities_of(settings, (nodes.live.chain_id, nodes.archive.chain_id), wanted)
    if settings.committee.roster == "elected" or identities is None:
        founders = [bytes.fromhex(each[2:]) for each in settings.committee.election.founders]
        rules = rules_of(settings.committee)
        made = deployments.deploy_elected(nodes.live_sender, rules, founders, seats=seats)
        made.write(directory)
        return open_contracts(nodes, directory)
    roster = roster_of(settings, identities, key_shares(settings, identities))
    live = deployments.deploy_live(nodes.live_sender, roster, seats=seats)
    committee = live.address("AppointedCommittee")
    archive = deployments.deploy_archive(nodes.archive_sender, nodes.live.chain_id, committee, roster)
    if nodes.one_chain:
        live.merged(archive).write(directory)
    else:
        live.write(directory)
        archive.write(directory)
    return open_contracts(nodes, directory)


def rules_of(committee: CommitteeSettings) -> Parameters:
    """The election's parameters in the contract's form."""
    rules = asdict(committee.election)
    minimum = rules.pop("minimum")
    del rules["founders"]
    return Parameters(seats=committee.size, minimum=minimum or min(4, committee.size), **rules)


def open_contracts(nodes: Nodes, directory: Path, kept: Path | None = None) -> Contracts:
    """The deployed contracts.

    `directory`: folder of the deployments files.  `kept`: folder for past events of both chains, by default
    beside `directory`.

    Raises DeploymentError if a contract is missing or they do not fit together.
    """
    kept = kept or directory.parent / EVENTS
    live = deployments.load(deployments.deployments_path(directory, nodes.live.chain_id), nodes.live)
    chain = _opened(LiveChainContract, live, nodes.live, nodes.live_sender, kept)
    participants = _opened(ParticipantRegistryContract, live, nodes.live, nodes.live_sender, kept)
    readers = _opened(ReaderRegistryContract, live, nodes.live, nodes.live_sender)
    alarms = _opened(AlarmRegistryContract, live, nodes.live, nodes.live_sender)
    if "Committee" not in live.contracts:
        appointed = _opened(AppointedCommitteeContract, live, nodes.live, nodes.live_sender)
        followers = _followers(nodes, directory, kept)
        contracts = Contracts(appointed, chain, participants, readers, alarms, followers)
        _require_fitting(contracts, directory)
        return contracts
    elected = _opened(CommitteeContract, live, nodes.live, nodes.live_sender)
    contracts = Contracts(elected, chain, participants, readers, alarms, None)
    path = deployments.deployments_path(directory, nodes.archive.chain_id)
    if path.exists() and "QuorumMirror" in deployments.load(path, nodes.archive).contracts:
        contracts = replace(contracts, followers=_followers(nodes, directory, kept))
        _require_faithful(contracts)
    _require_fitting(contracts, directory)
    return contracts


def _followers(nodes: Nodes, directory: Path, kept: Path) -> Followers:
    archive = deployments.load(deployments.deployments_path(directory, nodes.archive.chain_id), nodes.archive)
    return Followers(
        _opened(QuorumMirrorContract, archive, nodes.archive, nodes.archive_sender),
        _opened(ArchiveRegistryContract, archive, nodes.archive, nodes.archive_sender, kept),
    )


def _opened(
    kind: type[Opened], among: Deployment, node: Node, sender: Sender | None, kept: Path | None = None
) -> Opened:
    address = among.address(kind.NAME)
    return kind(node, address, sender, kept, since=among.contracts[kind.NAME].block)


def _require_fitting(contracts: Contracts, directory: Path) -> None:
    """Checks that the contracts name one another.

    Raises DeploymentError if one names another committee or live chain than the deployments file.
    """
    live, participants, readers = contracts.live, contracts.participants, contracts.readers
    followers = contracts.followers
    asked: list[tuple[Contract, bytes, Contract]] = [
        (live, live.quorum(), contracts.committee),
        (participants, participants.quorum(), contracts.committee),
        (participants, participants.live(), live),
        (readers, readers.quorum(), contracts.committee),
        (readers, readers.live(), live),
        (contracts.alarms, contracts.alarms.quorum(), contracts.committee),
    ]
    if followers is not None:
        asked.append((followers.archive, followers.archive.quorum(), followers.mirror))
    for contract, address, named in asked:
        if address != named.address:
            raise DeploymentError(
                f"{directory}/{contract.chain_id}.json was altered: its {contract.NAME} at "
                f"0x{contract.address.hex()} asks 0x{address.hex()}, not the {named.NAME} at "
                f"0x{named.address.hex()}. Put the file back from a copy of the run, and trust no other."
            )


def _require_faithful(contracts: Contracts) -> None:
    """Checks the mirror's rosters, so that its deployer need not be trusted.  Raises DeploymentError."""
    committee, mirror = contracts.committee, contracts.mirror
    epochs = [epoch for epoch in range(1, mirror.current_epoch() + 1) if any(mirror.key_id(epoch))]
    wrong = [epoch for epoch in epochs if mirror.roster(epoch) != committee.roster(epoch)]
    if wrong or mirror.domain_separator() != committee.domain_separator():
        raise DeploymentError(
            f"the mirror at 0x{mirror.address.hex()} does not follow the committee at "
            f"0x{committee.address.hex()} (epochs that differ: {wrong or 'none, but another committee'}): "
            "use the deployments file of the run, and trust no other."
        )


def appointed_committee(
    settings: Settings,
    identities: Identities,
    shares: tuple[KeyShare, ...],
    contracts: Contracts,
    reviewer: Reviewer,
    voted: Iterable[Certificate],
) -> Coordinator:
    """The coordinator of members in this process, each with its own share and voting key.

    `voted`: unsigned certificates that they voted for in an earlier process, from the run's journal.
    Raises DeploymentError if the key of the chain's current epoch is not the key of these members.
    """
    epoch = contracts.committee.current_epoch()
    if contracts.committee.key_id(epoch) != shares[0].public.key_id:
        raise DeploymentError(
            f"the committee of epoch {epoch} on the chain has another key than seed {settings.seed} gives: "
            "use the settings that the contracts were deployed with."
        )
    domain = eip712.Domain(contracts.committee.chain_id, contracts.committee.address)
    roster, _ = contracts.committee.roster(epoch)
    members, decided = [], tuple(voted)
    for share in shares:
        rng, memory = identities.rng("nonces", share.index, contracts.live.address), VolatileMemory()
        for each in decided:
            memory.vote(
                Ballot(domain.chain_id, domain.contract, each.epoch, each.proposal), each.content_hash
            )
        certifying = identities.rng("certificates", share.index, contracts.live.address, len(decided))
        voter = CertificateSigner(identities.voter(share.index), roster, domain, memory, certifying)
        members.append(Member(voter, share, contracts.live, contracts.archive, reviewer, rng, memory))
    return Coordinator(members, shares[0].public, roster, domain, contracts.live, contracts.archive)


def clock_for(nodes: Nodes, contracts: Contracts) -> Clock:
    """A logical clock on our own devnets, so that runs repeat; the machine's clock elsewhere."""
    if not nodes.place.own:
        return WallClock((nodes.live, nodes.archive))
    height = contracts.live.height()
    latest = contracts.live.timestamp(height) if height else EPOCH_OF_TIME
    length = contracts.archive.length()
    if length:
        latest = max(latest, contracts.archive.records(length - 1, 1)[0].timestamp)
    return LogicalClock(latest)
