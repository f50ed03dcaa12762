# SPDX-License-Identifier: Apache-2.0
"""Candidates of the elected committee: their registrations, commitments, proofs and evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from blockful_py.crypto import curve, multisignature, vrf
from blockful_py.crypto.eip712 import Domain
from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.randomness import SeededRng
from blockful_py.types import Point
from tests.contracts.scene import Panel

ETHER = 10**18
RULES = {
    "minStake": ETHER,
    "forfeit": ETHER // 4,
    "minTrust": 400_000,
    "seats": 4,
    "minimum": 3,
    "maxCandidates": 8,
    "reward": 10,
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


def voter_of(x: int, y: int) -> str:
    """The voting address of a key."""
    from eth_utils import to_checksum_address

    return str(to_checksum_address(curve.address(Point(x, y))))


@dataclass(frozen=True)
class Candidate:
    """An account with its voting secret, VRF secret and committed secret."""

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
        key = curve.multiply_base(self.voting)
        return voter_of(key.x, key.y)

    def proof(self, alpha: int) -> tuple[Any, ...]:
        """The ABI's VRF.Proof."""
        return vrf.prove(self.vrf, alpha).for_chain(curve.multiply_base(self.vrf), alpha)

    def output(self, alpha: int) -> int:
        return vrf.output(vrf.prove(self.vrf, alpha))

    def consent(self, domain: Domain) -> tuple[str, int]:
        """The ABI's Signature by its voting key."""
        struct = keccak(words(REGISTRATION, address(self.account.address)))
        signed = multisignature.sign(self.voting, typed_digest(domain, struct))
        return "0x" + signed.nonce.hex(), signed.s


class Elections:
    """The elected committee under test."""

    def __init__(self, contract: Any, chain_id: int) -> None:
        self.contract = contract
        self.domain = Domain(chain_id, address(contract.address))

    def registration(self, candidate: Candidate) -> tuple[Any, ...]:
        """Arguments of `register`."""
        alpha = self.contract.possessionAlpha(candidate.account)
        key = curve.multiply_base(candidate.voting)
        return (key.x, key.y), candidate.consent(self.domain), candidate.proof(alpha)

    def join(self, account: Any, value: int = 2 * ETHER) -> Candidate:
        candidate = Candidate.seeded(account)
        self.contract.register(*self.registration(candidate), {"from": account, "value": value})
        return candidate

    @property
    def draw(self) -> int:
        return int(self.contract.election()[2])

    def commitment(self, candidate: Candidate) -> bytes:
        return commitment(self.domain, self.draw, candidate.account.address, candidate.secret)

    def wait(self, seconds: int = 100) -> None:
        from brownie import chain

        chain.sleep(seconds)
        chain.mine()


def equivocation(elections: Elections, panel: Panel, index: int, epoch: int = 1) -> tuple[Any, ...]:
    """Evidence of two votes of one member on one proposal."""
    proposal, first, second = b"\7" * 32, b"\1" * 32, b"\2" * 32
    votes = [panel.vote(elections.domain, epoch, proposal, each, index) for each in (first, second)]
    return (epoch, proposal, index, first, votes[0], second, votes[1])
