# SPDX-License-Identifier: Apache-2.0
"""A committee of members in separate processes: finds, leads and renews it."""

from __future__ import annotations

import threading
from collections import Counter as Counted
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median_low

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.sortition import ElectionState
from blockful_py.committee import codec, wire
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.block_push import push
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.key_leader import Generated, generate_among, settle
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import Deadlines, IndexedClient, MemberClient, identify
from blockful_py.committee.service.messages import Empty, Identity
from blockful_py.committee.service.remote import AbsentMember, RemoteMember, Tally
from blockful_py.committee.succession import (
    Acknowledgement,
    Succession,
    SuccessionVoter,
    certify_acknowledgement,
    certify_succession,
)
from blockful_py.crypto import curve, eip712, multisignature
from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.roster import Roster
from blockful_py.crypto.threshold.keys import CommitteeKey
from blockful_py.errors import (
    BlockfulError,
    ContractError,
    QuorumError,
    RefusedError,
    RunError,
    SettingsError,
    UnreachableError,
)
from blockful_py.pipeline.coordination.group_keys import GroupKeys
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS
from blockful_py.pipeline.run.operations import Counter
from blockful_py.settings import CommitteeSettings, quorum_of
from blockful_py.storage.store import ContentStore
from blockful_py.types import Bytes32, Uri

CharterFor = Callable[[tuple[bytes, ...]], Charter]

FIND_SECONDS = 15.0
"""Time for a member to identify itself."""


@dataclass(frozen=True, slots=True)
class ReachableMember:
    """A member that answers at a URL."""

    client: MemberClient
    identity: Identity


Reachable = Mapping[str, ReachableMember | BlockfulError]
"""The member at each URL, or the error of reaching it."""


@dataclass(frozen=True, slots=True)
class _Url:
    """A member's URL; `inside` if it may lead to this host or a private network."""

    index: int
    url: str
    inside: bool


class DownloadCounter:
    """Counts a proposal's model downloads once for all members: the median of their counts."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._told: dict[bytes, dict[int, int]] = {}
        self._turn = threading.Lock()

    def __call__(self, proposal: Bytes32, member: int, downloads: int) -> None:
        with self._turn:
            told = self._told.setdefault(proposal, {})
            before = median_low(told.values()) if told else 0
            told[member] = downloads
            self._counter.downloaded(median_low(told.values()) - before)


class RemoteCommittee:
    """The members at the URLs of the settings; `keys`: folder for the generated public keys."""

    def __init__(
        self,
        settings: CommitteeSettings,
        contracts: Contracts,
        secret: int,
        keys: Path,
        *,
        announced: bool,
    ) -> None:
        """Configures the committee; `announced`: also looks for members at the URLs that they announced."""
        committee = contracts.committee
        self._settings = settings
        self._contracts = contracts
        self._keys = GroupKeys(keys)
        self._domain = eip712.Domain(committee.chain_id, committee.address)
        self._signer = wire.MessageSigner(secret, wire.domain(committee.chain_id, committee.address))
        self._announced = announced
        self._deadlines = Deadlines(settings.review_seconds, settings.round_seconds)

    def reachable(self, needed: int | None = None) -> dict[str, ReachableMember | BlockfulError]:
        """The member at each URL, or the error; waits for all, or for `needed` and a little longer."""
        places = [_Url(index, url, self._is_inside(url)) for index, url in enumerate(self._urls())]
        seconds = min(FIND_SECONDS, self._deadlines.round)
        enough = len(places) if needed is None else needed
        answers = at_once(
            places, lambda place: identify(place.url, self._signer, seconds, place.inside), enough
        )
        reachable: dict[str, ReachableMember | BlockfulError] = {}
        for place in places:
            answer = answers[place.index]
            if isinstance(answer, Refusal):
                reachable[place.url] = answer.reason
            else:
                address, identity = answer
                reachable[place.url] = ReachableMember(
                    MemberClient(place.url, address, self._signer, self._deadlines, place.inside), identity
                )
        return reachable

    def _is_inside(self, url: str) -> bool:
        """Whether a URL may lead to this host or a private network: not if only the member chose it."""
        return url in self._settings.members or self._contracts.live.node.chain_id in DEVELOPMENT_CHAINS

    def _urls(self) -> tuple[str, ...]:
        """The URLs of the settings, then others that members, the ones before and the elected announced."""
        if not self._announced:
            return self._settings.members
        committee, participants = self._contracts.elected, self._contracts.participants
        epoch = committee.current_epoch()
        served = [committee.roster(each)[0].members for each in (epoch, epoch - 1) if each > 0]
        members = {*committee.elected()}.union(*served)
        accounts = sorted(committee.registrant_of(member) for member in members)
        endpoints = filter(None, map(participants.endpoint, accounts))
        return tuple(dict.fromkeys((*self._settings.members, *(each.url for each in endpoints))))

    def coordinator(self, counter: Counter) -> Coordinator:
        """Leads the members of the current epoch; unresponsive members count as absent."""
        contracts = self._contracts
        epoch = contracts.committee.current_epoch()
        roster, quorum = contracts.committee.roster(epoch)
        key = self.key(contracts.committee.key_id(epoch))
        members = self._voters(roster.members, quorum, DownloadCounter(counter), self._excluded())
        live, archive = contracts.live, contracts.archive
        salt, leader = system_rng(16), self._signer.address
        return Coordinator(members, key, roster, self._domain, live, archive, at_once, salt, members, leader)

    def tell_lead(self, request: int) -> None:
        """Tells the members that this member leads the given request.  Returns once a quorum knows."""
        epoch = self._contracts.committee.current_epoch()
        _, quorum = self._contracts.committee.roster(epoch)
        about = (MessageKind.LEAD, epoch, request.to_bytes(32, "big"), Empty())
        at_once(self.seated(quorum), lambda each: each.client.ask(*about), quorum)

    def push(self, files: Sequence[Uri], source: ContentStore) -> None:
        """Pushes all blocks of the files to the members, who keep them, so that their owner may switch off.

        Raises QuorumError unless a quorum accepts them.
        """
        epoch = self._contracts.committee.current_epoch()
        _, quorum = self._contracts.committee.roster(epoch)
        push(files, source, self.seated(quorum), epoch, quorum)

    def seated(self, needed: int | None = None) -> list[IndexedClient]:
        """The reachable members of the current epoch, each once, by their places in its roster."""
        committee = self._contracts.committee
        roster = committee.roster(committee.current_epoch())[0].members
        clients = {each.address: each for each in _of(self.reachable(needed), roster)}
        return [IndexedClient(roster.index(address) + 1, client) for address, client in clients.items()]

    def generate(self) -> Generated:
        """Generates the next epoch's key among the responsive members.  Raises QuorumError for too few."""
        committee = self._contracts.committee
        epoch = committee.current_epoch() + 1

        def charter_for(members: tuple[bytes, ...]) -> Charter:
            threshold = self._threshold(len(members))
            dealers, salt = tuple(range(1, len(members) + 1)), system_rng(32)
            place = (committee.chain_id, committee.address, epoch)
            return Charter(*place, 0, 0, members, dealers, threshold, salt)

        reachable = self.reachable()
        clients = [each.client for each in members_at(reachable)]
        return self._generated(reachable, clients, charter_for, len(reachable))

    def generate_elected(self, election: ElectionState, members: tuple[bytes, ...]) -> Generated:
        """Generates a key for the elected; members that fail keep their seats but get no share.

        Raises QuorumError when fewer than a quorum of them respond.
        """
        committee = self._contracts.committee
        threshold = min(self._settings.shares, quorum_of(len(members)))

        def charter_for(left: tuple[bytes, ...]) -> Charter:
            dealers = tuple(index for index, each in enumerate(members, start=1) if each in left)
            place = (committee.chain_id, committee.address, election.epoch, election.draw, election.attempt)
            return Charter(*place, members, dealers, threshold, system_rng(32))

        reachable = self.reachable()
        clients = _of(reachable, members)
        generated = self._generated(reachable, clients, charter_for, len(members))
        there = {client.address for client in clients}
        silent = [f"0x{each.hex()}: answers at none of the URLs" for each in members if each not in there]
        return replace(generated, excluded=(*generated.excluded, *silent))

    def settle(self, election: ElectionState, members: tuple[bytes, ...]) -> bool:
        """Has the elected confirm a key on chain; False if no quorum of them holds shares of one key."""
        reachable, quorum = self.reachable(), quorum_of(len(members))
        identities = [each.identity for each in members_at(reachable) if each.client.address in members]
        held = Counted(key_id for identity in identities for key_id in identity.key_ids)
        common = [key_id for key_id, times in held.items() if times >= quorum]
        clients = _of(reachable, members)
        return any(settle(clients, election.epoch, key_id, quorum) >= quorum for key_id in common)

    def _generated(
        self, reachable: Reachable, clients: list[MemberClient], charter_for: CharterFor, size: int
    ) -> Generated:
        """A key generated among `clients`, of whom a quorum of `size` members is needed."""
        minimum = quorum_of(size)
        if len(clients) < minimum:
            raise QuorumError(
                f"{len(clients)} of {size} members answer, {minimum} are needed to generate a key; "
                f"nothing was changed. {_reasons(reachable)}"
            )
        generated = generate_among(clients, charter_for, minimum)
        self._keys.keep(generated.key)
        return generated

    def appoint(self, generated: Generated) -> None:
        """Starts the next epoch on the home chain with the members that generated its key.

        Raises QuorumError if a member does not prove possession of its voting secret.
        """
        charter, key = generated.charter, generated.key
        proven = {
            each.client.address: each.identity.voting_key
            for each in members_at(self.reachable())
            if self._is_possessed(each)
        }
        unproven = [f"0x{each.hex()}" for each in charter.members if each not in proven]
        if unproven:
            raise QuorumError(
                f"members do not prove that they have their voting keys: {', '.join(unproven)}; nothing was "
                "changed. Repeat when they answer."
            )
        keys = tuple(proven[each] for each in charter.members)
        self._contracts.appointed.appoint(
            Roster(keys, charter.threshold, self._settings.unanimous, key.group_key)
        )

    def _is_possessed(self, member: ReachableMember) -> bool:
        key, address = member.identity.voting_key, member.client.address
        digest = eip712.digest(self._domain, eip712.Possession(address))
        return curve.address(key) == address and multisignature.verify(
            key, digest, member.identity.possession
        )

    def follow(self, founders: Sequence[SuccessionVoter], founding_key: bytes) -> None:
        """Advances the mirror to the home chain's epoch; each epoch certifies its successor.

        `founders` vote if the outgoing key is theirs, `founding_key`.
        """
        committee, mirror = self._contracts.committee, self._contracts.mirror
        for epoch in range(mirror.current_epoch(), committee.current_epoch()):
            outgoing, quorum = committee.roster(epoch)
            following, _ = committee.roster(epoch + 1)
            succession = Succession.on(mirror, epoch, following)
            voters = founders
            if committee.key_id(epoch) != founding_key:
                voters = self._voters(outgoing.members, quorum, _uncounted)
            action = certify_succession(succession, voters, outgoing, self._domain, mirror, at_once)
            try:
                mirror.advance(epoch + 1, following, action)
            except ContractError:
                if mirror.current_epoch() <= epoch:  # otherwise another leader was first
                    raise

    def acknowledge(self) -> None:
        """Tells the home chain, unless it knows, that the mirror has reached the current epoch.

        Raises QuorumError when too few members of that epoch confirm it.
        """
        committee, mirror = self._contracts.elected, self._contracts.mirror
        epoch = committee.current_epoch()
        if committee.acknowledged() >= epoch:
            return
        roster, quorum = committee.roster(epoch)
        voters = self._voters(roster.members, quorum, _uncounted, self._excluded())
        acknowledgement = Acknowledgement.of(mirror, epoch)
        action = certify_acknowledgement(acknowledgement, voters, roster, self._domain, committee, at_once)
        try:
            committee.acknowledge(action.certificate)
        except ContractError:
            if committee.acknowledged() < epoch:  # otherwise another leader was first
                raise

    def key(self, key_id: Bytes32) -> CommitteeKey:
        """The public half of a group key, from the run or else from members.  Raises RunError if unknown."""
        return self._keys.find(key_id) or self._told(key_id)

    def _told(self, key_id: Bytes32) -> CommitteeKey:
        """The key that f + 1 of the current 3 f + 1 members agree on, one of whom must be honest."""
        committee = self._contracts.committee
        epoch = committee.current_epoch()
        places, members = self.seated(), committee.roster(epoch)[0].members
        enough = (len(members) - 1) // 3 + 1
        answers = at_once(
            places, lambda place: place.client.ask(MessageKind.TELL_KEY, epoch, key_id, Empty()), len(places)
        )
        told = Counted(each.message.body for each in answers.values() if not isinstance(each, Refusal))
        for body in (each for each, times in told.items() if times >= enough):
            key = codec.decode(CommitteeKey, body)
            if key.key_id == key_id:
                self._keys.keep(key)
                return key
        raise RunError(
            f"this run did not see the group key 0x{key_id.hex()} generated, and fewer than {enough} members "
            "of its epoch send it: start them, or generate a new key with `blockful committee keygen` "
            "(appointed members) or `rotate` (elected ones)."
        )

    def _excluded(self) -> int:
        """Bit i is set when the home chain does not count the votes of member i of its current epoch."""
        committee = self._contracts.committee
        return committee.excluded() if isinstance(committee, CommitteeContract) else 0

    def _voters(
        self, addresses: Sequence[bytes], quorum: int, tally: Tally, excluded: int = 0
    ) -> list[RemoteMember | AbsentMember]:
        reachable = self.reachable(quorum)
        clients = {each.client.address: each.client for each in members_at(reachable)}
        silent = _reasons(reachable)
        voters: list[RemoteMember | AbsentMember] = []
        for index, address in enumerate(addresses, start=1):
            if excluded >> (index - 1) & 1:
                reason = "lost its place in this epoch: its votes do not count"
                voters.append(AbsentMember(index, address, RefusedError(reason)))
            elif address in clients:
                voters.append(RemoteMember(index, clients[address], tally))
            else:
                reason = f"answers at none of the URLs in committee.members ({silent or 'all are others'})"
                voters.append(AbsentMember(index, address, UnreachableError(reason)))
        return voters

    def _threshold(self, size: int) -> int:
        quorum = size if self._settings.unanimous else quorum_of(size)
        return min(self._settings.threshold or quorum, size)


def remote_committee_of(run: RunDirectory, contracts: Contracts, leader: int) -> RemoteCommittee:
    """The committee of a run, led with the secret `leader`.

    Raises SettingsError if the members live in the commands' own process.
    """
    if run.settings.committee.roster == "appointed":
        raise SettingsError(
            f"the committee of {run.path} is appointed and lives in the commands' own process: "
            "make a run with committee.roster=services and committee.members to have processes decide."
        )
    return RemoteCommittee(
        run.settings.committee, contracts, leader, run.group_keys, announced=run.party is not None
    )


def members_at(reachable: Reachable) -> list[ReachableMember]:
    """The members that answer."""
    return [each for each in reachable.values() if isinstance(each, ReachableMember)]


def _of(reachable: Reachable, members: Sequence[bytes]) -> list[MemberClient]:
    """Clients of the responsive members among `members`."""
    return [each.client for each in members_at(reachable) if each.client.address in members]


def _reasons(reachable: Reachable) -> str:
    """The errors of the unresponsive URLs."""
    return "; ".join(str(each) for each in reachable.values() if not isinstance(each, ReachableMember))


def _uncounted(proposal: Bytes32, member: int, downloads: int) -> None:
    """Ignores the count, since successions fetch no models."""
