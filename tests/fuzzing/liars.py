# SPDX-License-Identifier: Apache-2.0
"""Members that lie: the dishonest answers of a faulty member, by kind of message."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from blockful_py.committee import codec, wire
from blockful_py.committee.certificates import CommittedVote, pair_digest
from blockful_py.committee.pledges import Pledge, PledgedNonces, SignedPledge, pairs_digest
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.limits import MIB
from blockful_py.committee.service.messages import CertificateShare, Empty, Refused, Vote
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.threshold.messages import SignatureShares
from blockful_py.errors import CheaterError, RefusedError, UnreachableError
from blockful_py.types import Point

SHOWN = {
    MessageKind.PUBLICATION,
    MessageKind.REDACTION,
    MessageKind.RECOMMIT,
    MessageKind.COMMIT,
    MessageKind.ATTEST,
    MessageKind.ATTEST_COSIGNING,
    MessageKind.SIGN,
    MessageKind.COSIGN,
}
"""Kinds with provably wrong answers."""

GENERATIONS = (0, 2**63, 2**64 - 1, 2**64, 2**256 - 1)
"""Generations beyond a memory's range."""

WAYS = ("honest", "wrong", "refuse", "accuse", "silent", "cut", "long", "flip", "empty", "replay", "stale")
WEIGHTS = (5, 8, 2, 2, 2, 1, 1, 1, 1, 1, 1)


@dataclass
class Liar:
    """Twists the answers of one member.

    Attributes:
        wrong: kinds of its answers that anybody can recognise as wrong.
        ways: its way of lying, by kind; decided anew each time for other kinds.
    """

    index: int
    size: int
    secret: int
    voting: eip712.Domain
    messages: eip712.Domain
    rng: Random
    wrong: list[MessageKind] = field(default_factory=list)
    ways: dict[MessageKind, str] = field(default_factory=dict)
    _sent: list[tuple[MessageKind, bytes]] = field(default_factory=list)

    @property
    def signer(self) -> wire.MessageSigner:
        return wire.MessageSigner(self.secret, self.messages, self.rng.randbytes)

    def answer(self, kind: MessageKind, question: wire.Signed, honest: bytes) -> bytes:
        """The member's answer, twisted.  Raises UnreachableError when it is silent."""
        way = self.ways.get(kind) or self.rng.choices(WAYS, WEIGHTS)[0]
        sent = self._twisted(way, kind, question, honest)
        self._sent.append((kind, honest))
        return sent

    def _twisted(self, way: str, kind: MessageKind, question: wire.Signed, honest: bytes) -> bytes:
        at = self.rng.randrange(len(honest))
        match way:
            case "wrong":
                return self._wrong(kind, question, honest)
            case "refuse":
                return self._refused(question, RefusedError.__name__, ())
            case "accuse":
                accused = self.rng.choices(range(self.size + 2), k=self.rng.randint(1, 3))
                return self._refused(question, CheaterError.__name__, tuple(accused))
            case "silent":
                raise UnreachableError("did not answer in time")
            case "cut":
                return honest[:at]
            case "long":
                return self.signer.answer(question, wire.ANSWERED, b" " * MIB).envelope
            case "flip":
                return honest[:at] + bytes([honest[at] ^ 1 << self.rng.randrange(8)]) + honest[at + 1 :]
            case "empty":
                return self.signer.answer(question, wire.ANSWERED, codec.encode(Empty())).envelope
            case "replay" if self._sent:
                return self.rng.choice(self._sent)[1]
            case "stale":
                earlier = [each for other, each in self._sent if other is kind]
                if earlier:
                    old = wire.receive(self.messages, self.rng.choice(earlier)).message
                    return self.signer.answer(question, old.kind, old.body).envelope
        return honest

    def _refused(self, question: wire.Signed, kind: str, members: tuple[int, ...]) -> bytes:
        body = codec.encode(Refused(kind, "it says so", members))
        return self.signer.answer(question, wire.REFUSED, body).envelope

    def _wrong(self, kind: MessageKind, question: wire.Signed, honest: bytes) -> bytes:
        answered = wire.receive(self.messages, honest).message
        if kind not in SHOWN or answered.kind != wire.ANSWERED:
            return honest
        value = codec.decode(kind.row.answer, answered.body)
        spoiled = self.rng.choice(SPOILS[type(value)])(self, question.header, value)
        self.wrong.append(kind)
        return self.signer.answer(question, wire.ANSWERED, codec.encode(spoiled)).envelope

    def pledged(self, pledge: Pledge) -> SignedPledge:
        """Signs the pledge where possible."""
        try:
            return SignedPledge(pledge, signature.sign(self.secret, eip712.digest(self.voting, pledge)))
        except ValueError:
            return SignedPledge(pledge, bytes(64))

    def points(self) -> tuple[Point, Point]:
        one, other = (curve.multiply_base(self.rng.randrange(1, curve.N)) for _ in range(2))
        return one, other

    def flipped(self, data: bytes) -> bytes:
        at = self.rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


Spoil = Callable[[Liar, wire.MessageHeader, Any], Any]


def _for_other_content(liar: Liar, asked: wire.MessageHeader, cast: CommittedVote) -> CommittedVote:
    digest = eip712.decision_digest(liar.voting, asked.epoch, asked.subject, liar.rng.randbytes(32))
    pledge = liar.pledged(replace(cast.pledge.pledge, session=digest))
    return CommittedVote(signature.sign(liar.secret, digest), cast.nonces, pledge)


def _other_generation(liar: Liar, asked: wire.MessageHeader, cast: CommittedVote) -> CommittedVote:
    pledge = replace(cast.pledge.pledge, generation=liar.rng.choice(GENERATIONS))
    return replace(cast, pledge=liar.pledged(pledge))


def _no_points(liar: Liar, asked: wire.MessageHeader, cast: CommittedVote) -> CommittedVote:
    nonces = (Point(1, 1), Point(2**256 - 1, liar.rng.randrange(2**256)))
    return CommittedVote(
        cast.vote, nonces, liar.pledged(replace(cast.pledge.pledge, nonces=pair_digest(nonces)))
    )


def _other_signer(liar: Liar, asked: wire.MessageHeader, cast: CommittedVote) -> CommittedVote:
    pledge = replace(cast.pledge.pledge, signer=liar.rng.choice((0, liar.index % liar.size + 1, 2**255)))
    return replace(cast, pledge=liar.pledged(pledge))


def _uncounted_nonces(liar: Liar, asked: wire.MessageHeader, given: PledgedNonces) -> PledgedNonces:
    pledge = replace(given.pledge.pledge, generation=liar.rng.choice(GENERATIONS))
    return replace(given, generation=pledge.generation, signature=liar.pledged(pledge).signature)


def _of_another(liar: Liar, asked: wire.MessageHeader, given: PledgedNonces) -> PledgedNonces:
    """A misattributed answer: another member's or session's, or with fewer or more items than requested."""
    commitments = liar.rng.choice(
        (
            replace(given.commitments, signer=liar.index % liar.size + 1),
            replace(given.commitments, session=liar.rng.randbytes(32)),
            replace(given.commitments, pairs=given.commitments.pairs[1:]),
            replace(given.commitments, pairs=(*given.commitments.pairs, liar.points())),
        )
    )
    pledge = Pledge(
        commitments.session, commitments.signer, given.generation, pairs_digest(commitments.pairs)
    )
    return PledgedNonces(commitments, given.generation, liar.pledged(pledge).signature)


def _unpledged(liar: Liar, asked: wire.MessageHeader, given: PledgedNonces) -> PledgedNonces:
    pairs = (liar.points(), *given.commitments.pairs[1:])
    return replace(given, commitments=replace(given.commitments, pairs=pairs))


def _one_off(liar: Liar, asked: wire.MessageHeader, shares: SignatureShares) -> SignatureShares:
    at = liar.rng.randrange(len(shares.values))
    other = liar.rng.choice((0, curve.N, 2**256 - 1, (shares.values[at] + 1) % curve.N))
    return replace(shares, values=(*shares.values[:at], other, *shares.values[at + 1 :]))


def _fewer_shares(liar: Liar, asked: wire.MessageHeader, shares: SignatureShares) -> SignatureShares:
    return liar.rng.choice(
        (
            replace(shares, values=shares.values[1:]),
            replace(shares, values=(*shares.values, 1)),
            replace(shares, signer=liar.index % liar.size + 1),
            replace(shares, session=liar.rng.randbytes(32)),
        )
    )


SPOILS: Mapping[type, tuple[Spoil, ...]] = {
    CommittedVote: (
        _for_other_content,
        _other_generation,
        _no_points,
        _other_signer,
        lambda liar, asked, cast: replace(cast, vote=liar.flipped(cast.vote)),
        lambda liar, asked, cast: replace(cast, vote=liar.rng.randbytes(liar.rng.randrange(64))),
        lambda liar, asked, cast: replace(cast, nonces=liar.points()),
    ),
    PledgedNonces: (
        _uncounted_nonces,
        _of_another,
        _unpledged,
        lambda liar, asked, given: replace(given, signature=liar.flipped(given.signature)),
    ),
    Vote: (
        lambda liar, asked, signed: Vote(liar.flipped(signed.vote)),
        lambda liar, asked, signed: Vote(b""),
    ),
    CertificateShare: (
        lambda liar, asked, given: CertificateShare((given.share + 1) % curve.N),
        lambda liar, asked, given: CertificateShare(liar.rng.choice((0, curve.N, 2**256 - 1))),
    ),
    SignatureShares: (_one_off, _fewer_shares),
}
