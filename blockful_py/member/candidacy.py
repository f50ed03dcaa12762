# SPDX-License-Identifier: Apache-2.0
"""A member on the home chain: joins with a stake, takes part in elections, and leaves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from blockful_py.chain.calls import Call
from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.ether import format_ether
from blockful_py.chain.node import Node
from blockful_py.chain.sender import Sender
from blockful_py.chain.sortition import CandidateState, ElectionState, Phase, Stage
from blockful_py.committee.keystore import MemberKeys
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.errors import ChainError, ContractError, RunError, SettingsError
from blockful_py.pipeline.run.clock import tick
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS
from blockful_py.types import Address

if TYPE_CHECKING:
    from blockful_py.member.office import MemberOffice

GAS_RESERVE = 5_000_000
"""Gas that a member should be able to pay in addition to its stake, to join and for some elections."""

PLENTY = 20
"""Multiple of GAS_RESERVE that `fund` leaves on an account."""

TOO_LATE = {"TooLate", "WrongPhase"}
"""Errors for a phase that ended after its state was read."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A member that joined; `stake` in wei."""

    account: Address
    voter: Address
    stake: int


@dataclass(frozen=True, slots=True)
class Leaving:
    """The state of a member that leaves.

    Attributes:
        state: "serving" (until another committee is in force), "replaced" (until the archive chain follows
            that committee), "waiting" (until `at`, seconds) or "left".
        stake: wei to be paid, or just paid.
    """

    state: str
    stake: int
    at: int | None = None


class Candidate:
    """A member as a candidate of the Committee contract; its account sends the transactions."""

    def __init__(self, committee: CommitteeContract, keys: MemberKeys) -> None:
        self._committee = committee
        self._keys = keys

    def state(self) -> CandidateState:
        return self._committee.candidate(self._keys.account)

    def join(self, stake: int) -> Joined:
        """Registers with `stake` wei, or tops up the stake of a member that has joined.

        Raises SettingsError for too little stake, ChainError when the account cannot pay, and ContractError.
        """
        before = self.state()
        least = self._committee.parameters().min_stake
        if stake < least:
            raise SettingsError(
                f"the stake is {format_ether(stake)} ether, this committee asks for {format_ether(least)} "
                "at least."
            )
        known = any(before.voter)
        missing = max(0, stake - before.stake)
        if not known or missing or before.unbonding_since:
            self._require_funds(missing)
            keys = self._keys
            if known:
                self._committee.deposit(missing)
            else:
                self._committee.register(keys.account, keys.voting_secret, keys.vrf_secret, stake)
        return Joined(self._keys.account, self._keys.address, max(stake, before.stake))

    def leave(self) -> Leaving:
        """Asks for the stake back, and withdraws it after the delay; can be repeated.

        Raises RunError for a member that never joined, and ContractError Engaged during an election.
        """
        before = self.state()
        if not any(before.voter):
            raise RunError(f"account 0x{self._keys.account.hex()} has not joined this committee.")
        if not before.unbonding_since:
            self._unbond()
        elif before.stake == 0:
            return Leaving("left", 0)
        tick(self._committee.node)
        try:
            self._committee.withdraw()
        except ContractError as error:
            if error.name == "TooEarly":
                return Leaving("waiting", before.stake, int(error.arguments["at"]))
            if error.name == "Engaged":
                return Leaving("serving", before.stake)
            if error.name == "MirrorsBehind":
                return Leaving("replaced", before.stake)
            raise
        return Leaving("left", before.stake)

    def _unbond(self) -> None:
        try:
            self._committee.unbond()
        except ContractError as error:
            if error.name != "Engaged":
                raise
            until = datetime.fromtimestamp(self._committee.election().deadline, UTC)
            raise RunError(
                "the member takes part in the current election, and can leave when it is over; its phase "
                f"ends at {until:%Y-%m-%d %H:%M:%S} UTC."
            ) from None

    def _require_funds(self, stake: int) -> None:
        node, account = self._committee.node, self._keys.account
        balance, needed = node.balance(account), stake + reserve(node)
        if balance < needed:
            raise ChainError(
                f"account 0x{account.hex()} has {format_ether(balance)} ether on chain {node.chain_id}; a "
                f"stake of {format_ether(stake)} and gas take {format_ether(needed)}: send it "
                f"{format_ether(needed - balance)} ether, or use --fund on a development chain."
            )


def reserve(node: Node) -> int:
    """Price of GAS_RESERVE in wei."""
    return GAS_RESERVE * int(node.rpc.call("eth_gasPrice"), 16)


def fund(committee: CommitteeContract, payer: Sender, account: Address, stake: int) -> int:
    """Sends `stake` wei and ample gas money from `payer` to `account`, if it lacks either.

    Returns the wei sent.  Raises SettingsError unless the chain is a development chain.
    """
    node = payer.node
    if node.chain_id not in DEVELOPMENT_CHAINS:
        raise SettingsError(
            f"chain {node.chain_id} is not a development chain: send 0x{account.hex()} ether yourself."
        )
    gas, balance = reserve(node), node.balance(account)
    if balance >= stake + gas:
        return 0
    sent = stake + PLENTY * gas - balance
    payer.send(Call(committee.interface, account, b"", value=sent))
    return sent


class ElectionDuty:
    """Takes part in elections: commits, reveals, proves, and confirms the key it has a share of.

    The committed secret is derived from the keystore, so the process can be killed at any time.
    """

    name = "election"

    def __init__(self, office: MemberOffice, folder: MemberFolder) -> None:
        self._office = office
        self._folder = folder

    def step(self) -> None:
        """Does the step of the current phase.

        Raises ContractError when the contract refuses, for example for lack of trust.
        """
        view = self._office.view_if_any()
        if view is None:
            return
        committee = view.contracts.committee
        if not isinstance(committee, CommitteeContract):
            return
        election = committee.election()
        if election.phase is Phase.IDLE:
            return
        me = committee.candidate(self._folder.keys.account)
        try:
            self._take_part(committee, election, me)
        except ContractError as error:
            if error.name not in TOO_LATE:
                raise

    def _take_part(self, committee: CommitteeContract, election: ElectionState, me: CandidateState) -> None:
        keys, stage = self._folder.keys, me.stage if me.draw == election.draw else Stage.NONE
        joined = any(me.voter) and not me.slashed and not me.unbonding_since and me.barred != election.epoch
        if election.phase is Phase.COMMIT and stage is Stage.NONE and joined:
            committee.commit(keys.account, election.draw, self._secret(committee, election))
        elif election.phase is Phase.REVEAL and stage is Stage.COMMITTED:
            committee.reveal(self._secret(committee, election))
        elif election.phase is Phase.PROVE and stage is Stage.REVEALED:
            committee.prove(keys.vrf_secret)
        elif election.phase is Phase.CONFIRM and stage is Stage.ELECTED and me.attempt != election.attempt:
            self._confirm(committee, election)

    def _secret(self, committee: CommitteeContract, election: ElectionState) -> bytes:
        """The secret to commit to; the seed stays the previous draw's until every secret is revealed."""
        place = (committee.chain_id, committee.address, election.epoch, election.draw)
        return self._folder.keys.election_secret(*place, election.seed)

    def _confirm(self, committee: CommitteeContract, election: ElectionState) -> None:
        """Confirms this attempt's settled key if the member's share is readable."""
        origin = self._folder.settled()
        if origin is None:
            return
        charter = origin.charter
        asked = (charter.chain_id, charter.committee, charter.epoch, charter.draw, charter.attempt)
        place = (committee.chain_id, committee.address, election.epoch, election.draw, election.attempt)
        if asked == place and self._folder.share(origin.key.key_id) is not None:
            committee.confirm_key(origin.key.group_key, charter.threshold)
