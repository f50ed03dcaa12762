# SPDX-License-Identifier: Apache-2.0
"""Candidates of the elected committee, and the phases of its elections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from blockful_py.crypto import curve, vrf
from blockful_py.crypto.eip712 import Domain, decision_digest, sign
from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.randomness import SeededRng
from tests.contracts.scene import Panel

ETHER = 10**18
ZERO = "0x" + "00" * 20
RULES = {
    "minStake": ETHER,
    "forfeit": ETHER // 4,
    "minTrust": 400_000,
    "seats": 4,
    "minimum": 3,
    "maxCandidates": 8,
    "reward": 20,
    "creditedVotes": 2,
    "withholding": 2,
    "attempts": 2,
    "epochLength": 1000,
    "commitPeriod": 100,
    "revealPeriod": 100,
    "provePeriod": 100,
    "confirmPeriod": 100,
    "unbondingDelay": 10_000,
}
REGISTRATION = keccak(b"Registration(address registrant)")


class Phase(IntEnum):
    IDLE = 0
    COMMIT = 1
    REVEAL = 2
    PROVE = 3
    CONFIRM = 4


def rules(**changes: int) -> tuple[int, ...]:
    """The ABI's Parameters."""
    return tuple({**RULES, **changes}.values())


def tag(name: str) -> bytes:
    return keccak(f"BlockFUL/sortition/v1/{name}".encode())


def address(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def commitment(domain: Domain, draw: int, registrant: str, secret: bytes) -> bytes:
    place = (domain.chain_id, domain.contract)
    return keccak(words(tag("commitment"), *place, draw, address(registrant), secret))


def typed_digest(domain: Domain, struct: bytes) -> bytes:
    return keccak(b"\x19\x01" + domain.separator() + struct)


@dataclass(frozen=True)
class Candidate:
    """An account with its voting secret, VRF secret and the secret that it commits to."""

    account: Any
    voting: int
    vrf: int
    secret: bytes

    @classmethod
    def seeded(cls, account: Any, label: str = "") -> Candidate:
        rng = SeededRng(b"candidate", account.address, label)
        return cls(account, curve.random_scalar(rng), curve.random_scalar(rng), rng(32))

    @property
    def voter(self) -> str:
        from eth_utils import to_checksum_address

        return str(to_checksum_address(curve.address(curve.multiply_base(self.voting))))

    def proof(self, alpha: int) -> tuple[Any, ...]:
        """The ABI's VRF.Proof."""
        return vrf.prove(self.vrf, alpha).for_chain(curve.multiply_base(self.vrf), alpha)

    def output(self, alpha: int) -> int:
        return vrf.output(vrf.prove(self.vrf, alpha))

    def consent(self, domain: Domain) -> bytes:
        struct = keccak(words(REGISTRATION, address(self.account.address)))
        return sign(self.voting, typed_digest(domain, struct))

    def vote(self, domain: Domain, epoch: int, proposal: bytes, content: bytes) -> bytes:
        return sign(self.voting, decision_digest(domain, epoch, proposal, content))


class Elections:
    """The elected committee under test, and candidates by account."""

    def __init__(self, contract: Any, chain_id: int) -> None:
        self.contract = contract
        self.domain = Domain(chain_id, address(contract.address))
        self.candidates: dict[str, Candidate] = {}

    def registration(self, candidate: Candidate) -> tuple[Any, ...]:
        """Arguments of `register`."""
        alpha = self.contract.possessionAlpha(candidate.account)
        return candidate.voter, candidate.consent(self.domain), candidate.proof(alpha)

    def join(self, account: Any, value: int = 2 * ETHER) -> Candidate:
        candidate = Candidate.seeded(account)
        self.contract.register(*self.registration(candidate), {"from": account, "value": value})
        self.candidates[candidate.voter] = candidate
        return candidate

    @property
    def phase(self) -> Phase:
        return Phase(self.contract.election()[0])

    @property
    def draw(self) -> int:
        return int(self.contract.election()[2])

    def commitment(self, candidate: Candidate) -> bytes:
        return commitment(self.domain, self.draw, candidate.account.address, candidate.secret)

    def commit(self, candidates: Sequence[Candidate]) -> None:
        for each in candidates:
            self.contract.commit(self.commitment(each), {"from": each.account})

    def reveal(self, candidates: Sequence[Candidate]) -> None:
        for each in candidates:
            self.contract.reveal(each.secret, {"from": each.account})

    def prove(self, candidates: Sequence[Candidate]) -> None:
        alpha = self.contract.alpha()
        for each in candidates:
            self.contract.prove(each.proof(alpha), {"from": each.account})

    def confirm(self, panel: Panel, candidates: Sequence[Candidate], threshold: int = 3) -> Any:
        return [
            self.contract.confirmKey(panel.key.x, panel.key.y, threshold, {"from": each.account})
            for each in candidates
        ][-1]

    def wait(self, seconds: int = 100) -> None:
        from brownie import chain

        chain.sleep(seconds)
        chain.mine()

    def expire(self) -> Any:
        """Lets the phase run out, and goes on."""
        self.wait()
        return self.contract.proceed()

    def open(self, candidates: Sequence[Candidate]) -> None:
        """Opens an election and lets `candidates` commit: phase Reveal."""
        self.wait(1000)
        self.contract.openElection()
        self.commit(candidates)
        self.expire()

    def elect(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """An election up to phase Confirm; the elected by roster index."""
        self.open(candidates)
        self.reveal(candidates)
        self.contract.proceed()
        self.prove(candidates)
        self.contract.proceed()
        return self.elected()

    def elected(self) -> list[Candidate]:
        return [self.candidates[voter] for voter in self.contract.elected()]

    def epoch(self, candidates: Sequence[Candidate], label: str) -> tuple[Panel, list[Candidate]]:
        """A whole election that starts an epoch: its panel (voting secrets and trapdoor) and members."""
        members = self.elect(candidates)
        panel = self.panel(members, label)
        quorum = -(-2 * len(members) // 3)
        self.confirm(panel, members[:quorum], quorum)
        return panel, members

    def panel(self, members: Sequence[Candidate], label: str) -> Panel:
        """The members with a trapdoor that `label` determines."""
        rng = SeededRng(b"group key", label)
        return Panel(tuple(each.voting for each in members), curve.random_scalar(rng))

    def trust(self, candidate: Candidate) -> int:
        return int(self.contract.trust(candidate.account))
