# SPDX-License-Identifier: Apache-2.0
"""Binds nonces to one use: signers pledge them to a session, and a quorum attests that it knows no other use.

Guarantees after members were restored from snapshots: docs/explanation/chameleon-hash.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.committee.memory import MAX_NUMBER
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.threshold.messages import NonceCommitments
from blockful_py.types import Address, Bytes32, Bytes64, Point


@dataclass(frozen=True, slots=True)
class CollisionSession:
    """One attempt to make the collisions of a draft; an EIP-712 struct, whose digest identifies it.

    Attributes:
        content: digest of the draft.
        leader: address of the leader; zero for members in the leader's process.
        signers: bit i - 1 is set for the member with index i.
        salt: distinguishes the leader's attempts.
    """

    epoch: int = eip712.typed("uint64")
    proposal: Bytes32 = eip712.typed("bytes32")
    content: Bytes32 = eip712.typed("bytes32")
    leader: Address = eip712.typed("address")
    signers: int = eip712.typed("uint256")
    salt: Bytes32 = eip712.typed("bytes32")

    @property
    def indices(self) -> tuple[int, ...]:
        """1-based indices of the signers, ascending."""
        return tuple(i for i in range(1, self.signers.bit_length() + 1) if self.signers >> (i - 1) & 1)

    def identifier(self, domain: eip712.Domain) -> bytes:
        """The session's identifier (32 bytes); `domain` is the domain of votes.

        Raises ValueError for a number or length out of range.
        """
        return eip712.digest(domain, self)


@dataclass(frozen=True, slots=True)
class Pledge:
    """A signer's promise to use these nonces in this session alone; an EIP-712 struct.

    Attributes:
        session: identifier of the session.
        signer: 1-based index.
        generation: number of the session in the signer's memory; differs for each session.
        nonces: `pairs_digest` of its commitments.
    """

    session: Bytes32 = eip712.typed("bytes32")
    signer: int = eip712.typed("uint32")
    generation: int = eip712.typed("uint64")
    nonces: Bytes32 = eip712.typed("bytes32")


@dataclass(frozen=True, slots=True)
class SignedPledge:
    """A pledge and its signer's signature (64 bytes)."""

    pledge: Pledge
    signature: Bytes64

    def is_by(self, address: Address, domain: eip712.Domain) -> bool:
        """Whether the member with this voting address signed it, for a generation that a memory can store.

        `domain`: of votes.
        """
        return 0 < self.pledge.generation <= MAX_NUMBER and signature.is_by(
            address, eip712.digest(domain, self.pledge), self.signature
        )


@dataclass(frozen=True, slots=True)
class Attestation:
    """A member's statement that it knows no other use of the pledged nonces; an EIP-712 struct.

    Attributes:
        session: identifier of the session.
        pledges: hashes of its signers' pledges (EIP-712 `hashStruct`), in their order.
        nonces: `pairs_digest` of the sums of nonces that signers are shown.
    """

    session: Bytes32 = eip712.typed("bytes32")
    pledges: tuple[Bytes32, ...] = eip712.typed("bytes32[]")
    nonces: Bytes32 = eip712.typed("bytes32")


@dataclass(frozen=True, slots=True)
class SignedAttestation:
    """Signature (64 bytes) of the member with a 1-based index; the pledges determine the attestation."""

    member: int
    signature: Bytes64


@dataclass(frozen=True, slots=True)
class PledgedNonces:
    """Round 1 of a session: nonce commitments, with the rest of their pledge."""

    commitments: NonceCommitments
    generation: int
    signature: Bytes64

    @property
    def pledge(self) -> SignedPledge:
        given = self.commitments
        nonces = pairs_digest(given.pairs)
        return SignedPledge(Pledge(given.session, given.signer, self.generation, nonces), self.signature)


@dataclass(frozen=True, slots=True)
class AttestedNonces:
    """Input of round 2: pledges and the sums of nonces, bound to the session by a quorum.

    A signer is not shown the nonces of others: FROST3 allows a leader to add them up wrongly.

    Attributes:
        sums: (D, E) for each message.
    """

    session: CollisionSession
    pledges: tuple[Pledge, ...]
    sums: tuple[tuple[Point, Point], ...]
    attestations: tuple[SignedAttestation, ...]


def pairs_digest(pairs: Sequence[tuple[Point, Point]]) -> bytes:
    """keccak256 of all D and E, compressed.  Raises OverflowError for coordinates beyond 32 bytes."""
    return keccak(b"".join(curve.compress(point) for pair in pairs for point in pair))


def attestation_digest(
    domain: eip712.Domain, session: bytes, pledges: Sequence[Pledge], nonces: Bytes32
) -> bytes:
    """The digest that attesting members sign; `domain` is the domain of votes.

    It fixes signers, draft and the sums of nonces (`nonces`, their `pairs_digest`), and so every challenge of
    the session.
    """
    hashes = tuple(map(eip712.hash_struct, pledges))
    return eip712.digest(domain, Attestation(session, hashes, nonces))
