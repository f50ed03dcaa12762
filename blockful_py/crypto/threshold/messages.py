# SPDX-License-Identifier: Apache-2.0
"""Messages between members, who are identified by 1-based indices.

Key generation: `Commitment`, `Reveal`, `Complaint`, `Answer` and `Confirmation` go to everyone, `Share` to
its recipient only, over a confidential channel.  Signing: all go to or from the coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from blockful_py.types import Bytes32, Point


@dataclass(frozen=True, slots=True)
class Commitment:
    """Digest of the later reveal."""

    dealer: int
    digest: Bytes32


@dataclass(frozen=True, slots=True)
class Reveal:
    """Feldman's commitments A_k = a_k G (k < t), and a proof that the dealer knows a_0.

    The proof (R, mu) is Schnorr's: mu G = R + H(DST_dkg-pop || context || dealer || A_0 || R) A_0.
    """

    dealer: int
    commitments: tuple[Point, ...]
    proof_point: Point
    proof_scalar: int


@dataclass(frozen=True, slots=True)
class Share:
    """The secret share f_dealer(recipient)."""

    dealer: int
    recipient: int
    value: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class Complaint:
    """Complaint that `accuser` got no share from `dealer` that matches its commitments."""

    accuser: int
    dealer: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The share that `accuser` missed, disclosed to everyone."""

    dealer: int
    accuser: int
    value: int


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Digest of all broadcast messages that `member` saw."""

    member: int
    transcript: Bytes32


@dataclass(frozen=True, slots=True)
class NonceCommitments:
    """Round 1 of signing: (D, E) for each message of the batch."""

    signer: int
    session: Bytes32
    pairs: tuple[tuple[Point, Point], ...]


@dataclass(frozen=True, slots=True)
class AggregatedNonces:
    """Sums of (D, E) over `signers` (ascending), for each message of the batch."""

    session: Bytes32
    signers: tuple[int, ...]
    pairs: tuple[tuple[Point, Point], ...]


@dataclass(frozen=True, slots=True)
class Task:
    """One collision to compute: open h to `message` at `label`."""

    label: bytes
    message: bytes
    h: int


@dataclass(frozen=True, slots=True)
class SignatureShares:
    """Round 2 of signing: z_i for each message of the batch."""

    signer: int
    session: Bytes32
    values: tuple[int, ...]
