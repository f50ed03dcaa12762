# SPDX-License-Identifier: Apache-2.0
"""A member's side of a key generation among processes.

The leader only relays.  Members sign their messages, encrypt shares to keys for this one generation, and
compare digests of all messages before they accept the group key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from blockful_py.committee import codec, wire
from blockful_py.committee.service.messages import (
    Answers,
    Complaints,
    DealerCommitment,
    RelayedAnswers,
    SealedShare,
    SealedShares,
)
from blockful_py.crypto import curve, ecies
from blockful_py.crypto.chameleon import tag
from blockful_py.crypto.eip712 import Domain
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.threshold.dkg import Participant
from blockful_py.crypto.threshold.keys import CommitteeKey, KeyShare
from blockful_py.crypto.threshold.messages import Confirmation, Reveal, Share
from blockful_py.errors import CheaterError, CryptoError, MessageError, RefusedError
from blockful_py.types import Address, Bytes32, Point, Rng

DST_CHARTER = tag("charter")

Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class Charter:
    """The parameters of a key generation.

    Attributes:
        chain_id, committee: chain and address of the Committee contract.
        epoch: epoch of the members that will have the key.
        draw, attempt: the election that it completes; 0 for appointed members.
        members: voting addresses; the member at place i has index i + 1.
        dealers: indices of the members that take part, ascending; other members get no share.
        threshold: shares needed for a collision.
        salt: distinguishes generations with equal parameters.
    """

    chain_id: int
    committee: Address
    epoch: int
    draw: int
    attempt: int
    members: tuple[Address, ...]
    dealers: tuple[int, ...]
    threshold: int
    salt: Bytes32

    def __post_init__(self) -> None:
        if not 0 < len(self.members) <= 256:
            raise ValueError("a committee has 1 to 256 members")
        if len(set(self.members)) != len(self.members) or any(len(each) != 20 for each in self.members):
            raise ValueError("members are distinct addresses of 20 bytes")
        if list(self.dealers) != [i for i in range(1, len(self.members) + 1) if i in self.dealers]:
            raise ValueError("dealers are listed by ascending index, none twice, all of them members")
        if not 0 < self.threshold <= len(self.dealers):
            raise ValueError("a threshold is at least 1 and no larger than the number of dealers")

    def index(self, address: Address) -> int | None:
        """1-based index of a dealer; None for other addresses."""
        if address not in self.members:
            return None
        index = self.members.index(address) + 1
        return index if index in self.dealers else None

    def digest(self) -> Bytes32:
        """The subject of all messages of this generation."""
        return keccak(DST_CHARTER + codec.encode(self))


@dataclass(frozen=True, slots=True)
class Origin:
    """The public half of a group key, with the charter of its generation."""

    charter: Charter
    key: CommitteeKey


class Generation:
    """One member's side of one generation; its messages arrive in the order of the rounds."""

    def __init__(self, charter: Charter, address: Address, leader: Address, domain: Domain, rng: Rng) -> None:
        """Joins a generation led by `leader`.

        Raises RefusedError when `address` is not a dealer of the charter.
        """
        index = charter.index(address)
        if index is None:
            raise RefusedError(f"0x{address.hex()} is not a dealer of this key generation")
        self.charter = charter
        self.leader = leader
        self._index = index
        self._context = charter.digest()
        self._domain = domain
        self._rng = rng
        size = len(charter.members)
        self._participant = Participant(
            self._index, charter.threshold, size, self._context, rng, charter.dealers
        )
        self._sealing_secret = curve.random_scalar(rng)
        self._sealing_keys: dict[int, Point] = {}

    def open(self) -> DealerCommitment:
        """Round 1: the commitment."""
        return DealerCommitment(self._participant.commit(), curve.multiply_base(self._sealing_secret))

    def finish(self, question: wire.Message, relayed: RelayedAnswers) -> tuple[KeyShare, CommitteeKey]:
        """Round 7: the share, to be stored before the key is confirmed."""
        confirmations = self._relayed(question, relayed, Confirmation)
        _own("the confirmation", {index: {body.member} for index, body in confirmations.items()})
        share = self._participant.finish(tuple(confirmations.values()))
        self._sealing_secret = 0
        return share, share.public

    def reveal(self, question: wire.Message, relayed: RelayedAnswers) -> Reveal:
        """Round 2, given the commitments."""
        opened = self._relayed(question, relayed, DealerCommitment)
        _own("the commitment", {index: {body.commitment.dealer} for index, body in opened.items()})
        self._sealing_keys = {index: body.sealing_key for index, body in opened.items()}
        wrong = [index for index, key in self._sealing_keys.items() if not curve.on_curve(key)]
        if wrong:
            raise CheaterError(wrong, "the key for sealed shares")
        return self._participant.reveal([body.commitment for body in opened.values()])

    def deal(self, question: wire.Message, relayed: RelayedAnswers) -> SealedShares:
        """Round 3, given the reveals."""
        reveals = self._relayed(question, relayed, Reveal)
        _own("the reveal", {index: {body.dealer} for index, body in reveals.items()})
        return SealedShares(tuple(map(self._sealed, self._participant.deal(tuple(reveals.values())))))

    def receive(self, question: wire.Message, relayed: RelayedAnswers) -> Complaints:
        """Round 4, given the sealed shares."""
        dealt = self._relayed(question, relayed, SealedShares)
        shares = []
        for dealer, body in dealt.items():
            for box in body.boxes:
                if box.recipient == self._index and dealer != self._index:
                    shares += self._unsealed(dealer, box.sealed)
        return Complaints(self._participant.receive(shares))

    def answer(self, question: wire.Message, relayed: RelayedAnswers) -> Answers:
        """Round 5, given the complaints."""
        complaints = self._relayed(question, relayed, Complaints)
        _own("a complaint", {i: {each.accuser for each in g.complaints} for i, g in complaints.items()})
        return Answers(
            self._participant.answer([each for body in complaints.values() for each in body.complaints])
        )

    def confirm(self, question: wire.Message, relayed: RelayedAnswers) -> Confirmation:
        """Round 6, given the answers."""
        answers = self._relayed(question, relayed, Answers)
        _own("an answer", {i: {each.dealer for each in g.answers} for i, g in answers.items()})
        return self._participant.confirm([each for body in answers.values() for each in body.answers])

    def _sealed(self, share: Share) -> SealedShare:
        context = self._box_context(share.dealer, share.recipient)
        plain = share.value.to_bytes(32, "big")
        return SealedShare(
            share.recipient, ecies.seal(self._sealing_keys[share.recipient], context, plain, self._rng)
        )

    def _unsealed(self, dealer: int, sealed: bytes) -> list[Share]:
        """The share; empty if it cannot be decrypted, which leads to a complaint."""
        try:
            plain = ecies.unseal(self._sealing_secret, self._box_context(dealer, self._index), sealed)
        except CryptoError:
            return []
        return [Share(dealer, self._index, int.from_bytes(plain, "big"))]

    def _box_context(self, dealer: int, recipient: int) -> bytes:
        return self._context + dealer.to_bytes(4, "big") + recipient.to_bytes(4, "big")

    def _relayed(self, question: wire.Message, answers: RelayedAnswers, kind: type[Body]) -> dict[int, Body]:
        """Every dealer's answer in the previous round, by ascending index.

        Raises MessageError when the leader relays other messages, and CheaterError with the members whose
        message is missing or malformed.
        """
        bodies: dict[int, Body] = {}
        malformed = []
        for text in answers.envelopes:
            relayed = wire.receive(self._domain, text.encode())
            sender = relayed.message.sender
            index = self.charter.index(sender)
            if index is None:
                raise MessageError(f"a relayed message is from 0x{sender.hex()}, which is not a dealer.")
            wire.require_relayed(relayed, question, sender, question.round - 1)
            if index in bodies or index in malformed:
                raise MessageError(f"two messages of member {index} were relayed for one round.")
            try:
                bodies[index] = codec.decode(kind, relayed.message.body)
            except MessageError:
                malformed.append(index)
        missing = sorted({*self.charter.dealers} - bodies.keys())
        if missing:
            raise CheaterError(missing, f"the answer in round {question.round - 1} of the key generation")
        return dict(sorted(bodies.items()))


def _own(what: str, named: Mapping[int, Sequence[int] | set[int]]) -> None:
    """Checks that messages name only their senders.  Raises CheaterError with the senders of others."""
    wrong = [index for index, speakers in named.items() if {*speakers} - {index}]
    if wrong:
        raise CheaterError(wrong, what)
