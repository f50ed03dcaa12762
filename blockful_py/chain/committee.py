# SPDX-License-Identifier: Apache-2.0
"""The elected committee on its home chain (ICommittee): stake, elections, trust."""

from __future__ import annotations

from dataclasses import fields
from typing import ClassVar

from blockful_py.chain import abi
from blockful_py.chain.quorum import HomeCommitteeContract
from blockful_py.chain.sortition import (
    CandidateState,
    ElectionState,
    Equivocation,
    Parameters,
    Phase,
    Registration,
    Reward,
    Stage,
)
from blockful_py.crypto import curve, eip712, multisignature, vrf
from blockful_py.crypto.keccak import keccak, words
from blockful_py.types import Address, Certificate, Point, Receipt

COMMITMENT = keccak(b"BlockFUL/sortition/v1/commitment")


class CommitteeContract(HomeCommitteeContract):
    """Adapter of Committee.

    Every method raises NodeError; methods that send a transaction also raise ContractError.
    """

    NAME: ClassVar[str] = "Committee"

    def election(self) -> ElectionState:
        phase, *others = self._read("election")
        return ElectionState(Phase(phase), *others)

    def candidate(self, registrant: Address) -> CandidateState:
        """State of a candidate; all zero for an unknown account."""
        values = list(self._read("candidate", registrant))
        values[4] = Stage(values[4])
        return CandidateState(*values)

    def trust(self, registrant: Address) -> int:
        """Trust of an account in parts per million."""
        return self._number("trust", registrant)

    def registrant_of(self, voter: Address) -> bytes:
        """The account that registered a voting address; zeros for an unknown address."""
        return self._octets("registrantOf", voter)

    def parameters(self) -> Parameters:
        return Parameters(*self._read("parameters"))

    def elected(self) -> tuple[bytes, ...]:
        """Voting addresses of the most recently elected committee, by roster index."""
        elected: tuple[bytes, ...] = self._read("elected")
        return elected

    def alpha(self) -> int:
        """VRF input of the current draw, once its seed is drawn."""
        return self._number("alpha")

    def rewards(self, reporter: bytes) -> Reward:
        """Amount that `reporter` can claim, and when."""
        return Reward(*self._read("rewards", reporter))

    def excluded(self) -> int:
        """Bitmap: bit i is set if votes of member i of the current epoch do not count."""
        return self._number("excluded")

    def acknowledged(self) -> int:
        """The newest epoch whose committee confirmed that the mirrors had reached it; 0 if no epoch did."""
        return self._number("acknowledged")

    def register(self, registrant: Address, voting_secret: int, vrf_secret: int, stake: int) -> Receipt:
        """Registers the sender, whose address is `registrant`, with `stake` wei.

        The secrets are not sent.
        """
        digest = eip712.digest(self.domain, Registration(registrant))
        alpha: int = self._read("possessionAlpha", registrant)
        proof = self._proof(vrf_secret, alpha)
        key, consent = curve.multiply_base(voting_secret), multisignature.sign(voting_secret, digest)
        return self._send("register", (key.x, key.y), (consent.nonce, consent.s), proof, value=stake)

    def deposit(self, amount: int) -> Receipt:
        """Adds `amount` wei to the sender's stake and cancels its unbonding."""
        return self._send("deposit", value=amount)

    def unbond(self) -> Receipt:
        return self._send("unbond")

    def withdraw(self) -> Receipt:
        return self._send("withdraw")

    def claim(self) -> Receipt:
        """Pays the sender's rewards.  Raises ContractError TooEarly before they can be claimed."""
        return self._send("claim")

    def open_election(self) -> Receipt:
        return self._send("openElection")

    def proceed(self) -> Receipt:
        """Ends a phase that is over.  Raises ContractError TooEarly or WrongPhase otherwise."""
        return self._send("proceed")

    def commit(self, registrant: Address, draw: int, secret: bytes) -> Receipt:
        """Commits the sender, whose address is `registrant`, to a 32-byte secret for this draw."""
        place = (self.chain_id, self.address, draw, registrant)
        return self._send("commit", keccak(words(COMMITMENT, *place, secret)))

    def reveal(self, secret: bytes) -> Receipt:
        return self._send("reveal", secret)

    def prove(self, vrf_secret: int) -> Receipt:
        """Proves the sender's VRF output for the current draw."""
        return self._send("prove", self._proof(vrf_secret, self.alpha()))

    def confirm_key(self, key: Point, threshold: int) -> Receipt:
        return self._send("confirmKey", key.x, key.y, threshold)

    def report(self, certificate: Certificate, chain_id: int, executor: Address) -> Receipt:
        """Credits the voters of a certificate of the current epoch, signed for `executor`."""
        return self._send("report", abi.certificate(certificate), chain_id, executor)

    def acknowledge(self, certificate: Certificate) -> Receipt:
        """Records that the current committee saw the mirrors reach its epoch."""
        return self._send("acknowledge", abi.certificate(certificate))

    def acknowledge_leaf(self, epoch: int) -> bytes:
        """Content of a certificate for `acknowledge`."""
        return self._leaf("acknowledge", 0, 1, keccak(words(epoch)))

    def slash(self, evidence: Equivocation) -> Receipt:
        return self._send("slash", tuple(getattr(evidence, each.name) for each in fields(evidence)))

    def _proof(self, secret: int, alpha: int) -> vrf.ChainProof:
        return vrf.prove(secret, alpha).for_chain(curve.multiply_base(secret), alpha)
