# SPDX-License-Identifier: Apache-2.0
"""Distributed key generation after Pedersen.

Nobody knows x = sum of a_i0; member j knows x_j = sum of f_i(j).
    commit   -> digests of the reveals          (no member can choose its key after seeing the others')
    reveal   -> Feldman's commitments and a proof of possession of a_i0  (no rogue keys)
    deal     -> f_i(j) to each member j, confidentially
    receive  -> complaints about shares that do not match
    answer   -> the share in question, to everyone
    confirm  -> digest of all broadcast messages
    finish   -> the member's KeyShare

CheaterError names members whose messages fail verification; the others then start again without them, with
unchanged indices (`dealers`).
Broadcast messages must be the same for everyone; `finish` detects when they were not.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from hmac import compare_digest
from typing import TypeVar

from blockful_py.crypto import curve
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak, words
from blockful_py.crypto.randomness import SeededRng, system_rng
from blockful_py.crypto.threshold.keys import KeyShare, evaluate_public, evaluate_secret
from blockful_py.crypto.threshold.messages import Answer, Commitment, Complaint, Confirmation, Reveal, Share
from blockful_py.errors import CheaterError, CryptoError, InvalidKeyError
from blockful_py.types import Point, Rng

DST_POSSESSION = tag("dkg-pop")

_T = TypeVar("_T")


class DkgPhase(IntEnum):
    """The next step of a participant."""

    COMMIT = 0
    REVEAL = 1
    DEAL = 2
    RECEIVE = 3
    ANSWER = 4
    CONFIRM = 5
    FINISH = 6
    DONE = 7


class Participant:
    """One member of a key generation, with its own secrets only.

    Each method is called once, in the order above, with the messages of all dealers, its own among them.

    Args:
        index: 1 to `size`, one of the dealers.
        threshold: shares needed to use the key (t), 1 to the number of dealers.
        size: members (n).
        context: use of the key (chain, epoch, roster), the same for all members.
        rng: source of the member's secrets, which are bound to the context: they differ between contexts even
            if `rng` repeats itself.
        dealers: indices of the participating members, by default all; the others get no share, and no member
            knows the secret of their verification point.

    Raises:
        CheaterError: names members whose message is missing or fails verification.
        CryptoError: a method is called out of turn, or members saw different broadcasts.
    """

    def __init__(
        self,
        index: int,
        threshold: int,
        size: int,
        context: bytes,
        rng: Rng = system_rng,
        dealers: Sequence[int] | None = None,
    ) -> None:
        if not (1 <= threshold <= size and 1 <= index <= size < 2**32):
            raise ValueError(f"expected 1 <= threshold, index <= size, not {threshold}, {index}, {size}")
        self._dealers = tuple(range(1, size + 1) if dealers is None else sorted(set(dealers)))
        if index not in self._dealers or not {*self._dealers} <= {*range(1, size + 1)}:
            raise ValueError(f"expected dealers from 1 to {size}, {index} among them, not {self._dealers}")
        if len(self._dealers) < threshold:
            raise ValueError(f"expected at least {threshold} dealers, not {self._dealers}")
        self.index = index
        self._threshold = threshold
        self._size = size
        self._context = keccak(context)
        self._phase = DkgPhase.COMMIT
        bound = SeededRng(rng(32), self._context, index)
        self._coefficients = [curve.random_scalar(bound) for _ in range(threshold)]
        self._reveal = self._prove(bound)
        self._commitments: dict[int, Commitment] = {}
        self._reveals: dict[int, Reveal] = {}
        self._shares: dict[int, int] = {}
        self._accusers: list[Complaint] = []
        self._confirmation = Confirmation(index, b"")

    def __repr__(self) -> str:
        return f"Participant({self.index} of {self._size}, threshold {self._threshold}, {self._phase.name})"

    def commit(self) -> Commitment:
        """To everyone: the digest of the later reveal."""
        self._enter(DkgPhase.COMMIT)
        return Commitment(self.index, _digest(self._context, self._reveal))

    def reveal(self, commitments: Sequence[Commitment]) -> Reveal:
        """To everyone: commitments to the polynomial and the proof of possession."""
        self._enter(DkgPhase.REVEAL)
        self._commitments = self._from_everyone({each.dealer: each for each in commitments}, "commitment")
        return self._reveal

    def deal(self, reveals: Sequence[Reveal]) -> tuple[Share, ...]:
        """To each other member, confidentially: its share of this member's polynomial."""
        self._enter(DkgPhase.DEAL)
        self._reveals = self._from_everyone({each.dealer: each for each in reveals}, "reveal")
        wrong = [dealer for dealer, each in self._reveals.items() if not self._checks_out(each)]
        if wrong:
            raise CheaterError(wrong, "the reveal")
        self._shares[self.index] = evaluate_secret(self._coefficients, self.index)
        others = (member for member in self._dealers if member != self.index)
        return tuple(
            Share(self.index, member, evaluate_secret(self._coefficients, member)) for member in others
        )

    def receive(self, shares: Sequence[Share]) -> tuple[Complaint, ...]:
        """To everyone: complaints about dealers whose share is missing or does not match."""
        self._enter(DkgPhase.RECEIVE)
        for share in shares:
            if share.recipient == self.index and self._matches(share.dealer, self.index, share.value):
                self._shares.setdefault(share.dealer, share.value)
        return tuple(
            Complaint(self.index, dealer) for dealer in sorted(self._reveals) if dealer not in self._shares
        )

    def answer(self, complaints: Sequence[Complaint]) -> tuple[Answer, ...]:
        """To everyone: the shares that others complained about.

        Of t accusers at least one is honest, so CheaterError names the dealer that they accuse.
        """
        self._enter(DkgPhase.ANSWER)
        members = self._dealers
        self._accusers = sorted(
            {one for one in complaints if one.accuser in members and one.dealer in members},
            key=lambda each: (each.dealer, each.accuser),
        )
        dealers = [each.dealer for each in self._accusers]
        disqualified = sorted({dealer for dealer in dealers if dealers.count(dealer) >= self._threshold})
        if disqualified:
            raise CheaterError(disqualified, "the shares dealt")
        return tuple(
            Answer(self.index, each.accuser, evaluate_secret(self._coefficients, each.accuser))
            for each in self._accusers
            if each.dealer == self.index
        )

    def confirm(self, answers: Sequence[Answer]) -> Confirmation:
        """To everyone: the digest of all broadcast messages, once every complaint is settled."""
        self._enter(DkgPhase.CONFIRM)
        shown = {(each.dealer, each.accuser): each.value for each in answers}
        wrong = set()
        for complaint in self._accusers:
            value = shown.get((complaint.dealer, complaint.accuser), 0)
            if not self._matches(complaint.dealer, complaint.accuser, value):
                wrong.add(complaint.dealer)
            elif complaint.accuser == self.index:
                self._shares[complaint.dealer] = value
        if wrong:
            raise CheaterError(sorted(wrong), "the answer to a complaint")
        self._confirmation = Confirmation(self.index, self._transcript(shown))
        return self._confirmation

    def finish(self, confirmations: Sequence[Confirmation]) -> KeyShare:
        """The member's share of the group key; deletes its polynomial and the shares dealt to it."""
        self._enter(DkgPhase.FINISH)
        confirmed = self._from_everyone({one.member: one for one in confirmations}, "confirmation")
        mine = self._confirmation.transcript
        others = [member for member, one in confirmed.items() if not compare_digest(one.transcript, mine)]
        if others:
            raise CryptoError(
                f"members {others} saw other broadcasts than member {self.index}: "
                "compare the messages, exclude the sender of two versions, and start again."
            )
        key, verification = self._public_parts()
        secret = sum(self._shares.values()) % N
        self._coefficients, self._shares = [], {}
        return KeyShare(self.index, self._threshold, self._size, secret, key, verification)

    def _enter(self, phase: DkgPhase) -> None:
        if self._phase is not phase:
            raise CryptoError(
                f"member {self.index} is to {self._phase.name.lower()}, not to {phase.name.lower()}; "
                "the steps of a key generation run once, in order."
            )
        self._phase = DkgPhase(phase + 1)

    def _from_everyone(self, messages: dict[int, _T], what: str) -> dict[int, _T]:
        missing = [member for member in self._dealers if member not in messages]
        if missing:
            raise CheaterError(missing, f"the {what}")
        return {member: messages[member] for member in self._dealers}

    def _prove(self, rng: Rng) -> Reveal:
        # mu = k + c a_0
        points = tuple(curve.multiply_base(coefficient) for coefficient in self._coefficients)
        nonce = curve.random_scalar(rng)
        commitment = curve.multiply_base(nonce)
        c = _possession(self._context, self.index, points[0], commitment)
        return Reveal(self.index, points, commitment, curve.multiply_add(self._coefficients[0], c, nonce))

    def _checks_out(self, reveal: Reveal) -> bool:
        if len(reveal.commitments) != self._threshold:
            return False
        try:
            opened = compare_digest(self._commitments[reveal.dealer].digest, _digest(self._context, reveal))
            # mu G = R + c A_0
            c = _possession(self._context, reveal.dealer, reveal.commitments[0], reveal.proof_point)
            claimed = curve.add(reveal.proof_point, curve.multiply(reveal.commitments[0], c))
            on_curve = all(curve.on_curve(point) for point in reveal.commitments)
            return opened and on_curve and curve.multiply_base(reveal.proof_scalar) == claimed
        except (InvalidKeyError, OverflowError):
            return False

    def _matches(self, dealer: int, member: int, value: int) -> bool:
        if dealer not in self._reveals:
            return False
        try:
            return curve.multiply_base(value) == evaluate_public(self._reveals[dealer].commitments, member)
        except InvalidKeyError:
            return False

    def _transcript(self, shown: dict[tuple[int, int], int]) -> bytes:
        reveals = b"".join(_digest(self._context, each) for each in self._reveals.values())
        settled = ((each.dealer, each.accuser) for each in self._accusers)
        answers = b"".join(words(*pair, shown[pair]) for pair in settled)
        return keccak(self._context + keccak(reveals) + keccak(answers))

    def _public_parts(self) -> tuple[Point, tuple[Point, ...]]:
        columns = zip(*(each.commitments for each in self._reveals.values()), strict=True)
        sums = [curve.total(column) for column in columns]
        return sums[0], tuple(evaluate_public(sums, member) for member in range(1, self._size + 1))


def _digest(context: bytes, reveal: Reveal) -> bytes:
    points = b"".join(curve.encode(point) for point in (*reveal.commitments, reveal.proof_point))
    return keccak(
        words(context, reveal.dealer, len(reveal.commitments)) + points + words(reveal.proof_scalar)
    )


def _possession(context: bytes, dealer: int, key: Point, commitment: Point) -> int:
    """Challenge c = H(DST_dkg-pop || context || dealer || A_0 || R) mod n, points compressed."""
    bound = words(DST_POSSESSION, context, dealer) + curve.compress(key) + curve.compress(commitment)
    return int.from_bytes(keccak(bound), "big") % N
