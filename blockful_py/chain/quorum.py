# SPDX-License-Identifier: Apache-2.0
"""The committee on its home chain and its mirror on another chain (IAppointedCommittee, IQuorumMirror)."""

from __future__ import annotations

from typing import ClassVar

from blockful_py.chain import abi
from blockful_py.chain.contract import Contract
from blockful_py.chain.event_list import EventCount
from blockful_py.crypto import eip712
from blockful_py.crypto.roster import Roster
from blockful_py.errors import ChainError
from blockful_py.types import Action, Bytes32, Receipt


class QuorumContract(Contract):
    """Views of both contracts (IQuorum).  Every method raises NodeError if the node fails."""

    def current_epoch(self) -> int:
        """The epoch whose certificates are valid; 0 before the first."""
        return self._number("currentEpoch")

    def key_id(self, epoch: int) -> Bytes32:
        """keccak256(Y.x || Y.y) of an epoch's group key; zeros for an unknown epoch."""
        return self._octets("keyId", epoch)

    def roster(self, epoch: int) -> tuple[Roster, int]:
        """Members of an epoch, and its quorum size."""
        members, quorum = self._read("roster", epoch)
        return abi.to_roster(members), quorum

    def domain_separator(self) -> bytes:
        """EIP-712 domain separator of votes."""
        return self._octets("domainSeparator")


class HomeCommitteeContract(QuorumContract):
    """Common base of the appointed and the elected committee on the home chain.

    Only EpochStarted, one per epoch, is counted: no decision depends on the other events of an elected
    committee.
    """

    COUNT: ClassVar[EventCount] = EventCount("currentEpoch", "EpochStarted")

    @property
    def domain(self) -> eip712.Domain:
        """The EIP-712 domain of votes, registrations and alarms."""
        return eip712.Domain(self.chain_id, self.address)


class AppointedCommitteeContract(HomeCommitteeContract):
    """Adapter of AppointedCommittee."""

    NAME: ClassVar[str] = "AppointedCommittee"

    def acknowledge_leaf(self, epoch: int) -> bytes:
        """Always raises ChainError: an appointed committee has no stake that waits for its mirrors."""
        raise ChainError("an appointed committee locks no stake: there is nothing to acknowledge.")

    def appoint(self, roster: Roster) -> Receipt:
        """Starts the next epoch.  Raises ContractError NotAppointer or InvalidRoster."""
        return self._send("appoint", abi.roster(roster))


class QuorumMirrorContract(QuorumContract):
    """Adapter of QuorumMirror."""

    NAME: ClassVar[str] = "QuorumMirror"

    def advance(self, epoch: int, roster: Roster, action: Action) -> Receipt:
        """Starts `epoch`, certified by the previous epoch.

        Raises ContractError EpochNotNext, InvalidRoster, or an error of IQuorum or ICertified.
        """
        return self._send("advance", epoch, abi.roster(roster), abi.action(action))

    def advance_leaf(self, epoch: int, roster: Roster, chunk: int = 0, chunks: int = 1) -> bytes:
        """Leaf of `advance(epoch, roster)` in a certificate's content."""
        return self._leaf("advance", chunk, chunks, abi.roster_digest(epoch, roster))
