# SPDX-License-Identifier: Apache-2.0
"""The cost of a certificate: the rounds of committee/coordinator.py, with measured work and sizes."""

from __future__ import annotations

from dataclasses import dataclass

from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.network import Network
from blockful_lab.simulation.pool import DrawPool
from blockful_lab.simulation.rounds import Question, round_seconds
from blockful_py.settings.committee import quorum_of

PAIR, SHARE, OPENING, VOTE, PLEDGE = 66, 32, 64, 65, 76
"""Bytes of a commitment to two nonces, a share, an opening, a signature, a pledge without its session."""


@dataclass(frozen=True, slots=True)
class Certification:
    """The work of one proposal.

    Attributes:
        seconds: by stage.
        collisions, consensus: processor seconds of all members and the leader for chameleon hashes, and for
            everything else.
        bytes: between leader and members, and fetched from storage.
    """

    seconds: dict[str, float]
    collisions: float
    consensus: float
    bytes: float


class SimulatedCommittee:
    """Certifying members, each on a machine of its own in the network, or all on one processor without it."""

    def __init__(
        self, members: int, network: Network | None, constants: Constants, pool: DrawPool[Certification]
    ) -> None:
        self.members = members
        self.quorum = quorum_of(members)
        self._network = network
        self._constants = constants
        self._pool = pool

    def certify(self, models: int, headers: int, model_bytes: float, measuring: float) -> Certification:
        """Work from draft to archive certificate; `measuring`: seconds of a member for a model's claims."""
        return self._pool.draw(
            (models, headers), lambda: self._certified(models, headers, model_bytes, measuring)
        )

    def release(self, models: int) -> Certification:
        """Work for the live chain's certificate, after the archive has the records."""
        return self._pool.draw(("release", models), lambda: self._released(models))

    def collision_seconds(self) -> float:
        """Processor seconds of a signer for one collision."""
        at = self._constants.at
        return at("collision.draw") + at("collision.sign")

    def consensus_seconds(self) -> float:
        """Processor seconds of a member for a certificate, besides its work for each model."""
        at = self._constants.at
        fixed = at("session.pledge") + at("session.attest", self.members) + at("session.accept", self.members)
        return fixed + at("committee.review") + 2 * at("signature.sign")

    def _certified(self, models: int, headers: int, model_bytes: float, measuring: float) -> Certification:
        at, members, quorum = self._constants.at, self.members, self.quorum
        hashes = models + headers
        draft = at("committee.draft", models)
        review = at("committee.review", models) + models * measuring
        sums = hashes * at("collision.sum", quorum)
        combining = sums + hashes * at("collision.combine")
        rounds = {
            "review": Question(
                members, quorum, models * at("bytes.draft"), fetched=models * model_bytes, work=review
            ),
            "nonces": Question(
                quorum, quorum, back=hashes * PAIR, work=at("session.pledge") + hashes * at("collision.draw")
            ),
            "attests": Question(
                members, quorum, quorum * VOTE, VOTE, work=at("session.attest", members),
                leader=at("signature.verify"),
            ),
            "shares": Question(
                quorum, quorum, hashes * PAIR + quorum * (PLEDGE + VOTE), hashes * SHARE,
                work=at("session.accept", members) + hashes * at("collision.sign"),
            ),
            "votes": Question(
                members, quorum, hashes * OPENING, 2 * VOTE, work=hashes * at("opening.verify"),
                leader=at("signature.verify"),
            ),
        }  # fmt: skip
        cosigning = self._cosigning()
        seconds = {"draft": draft} | {name: self._round(each) for name, each in rounds.items()}
        seconds["shares"] += combining
        seconds["votes"] += sum(self._round(each) for each in cosigning)
        collisions = rounds["nonces"].processor + rounds["shares"].processor + combining
        others = (rounds["review"], rounds["attests"], rounds["votes"], *cosigning)
        sent = sum(each.bytes for each in (*rounds.values(), *cosigning))
        return Certification(seconds, collisions, draft + sum(each.processor for each in others), sent)

    def _released(self, models: int) -> Certification:
        at = self._constants.at
        work = at("committee.release", models)
        votes = Question(self.members, self.quorum, work=work, leader=at("signature.verify"))
        rounds = (votes, *self._cosigning())
        seconds = sum(map(self._round, rounds))
        processor, sent = sum(each.processor for each in rounds), sum(each.bytes for each in rounds)
        return Certification({"release": seconds}, 0.0, processor, sent)

    def _cosigning(self) -> tuple[Question, Question]:
        """The two rounds in which a quorum makes one signature: nonces attested, then the shares."""
        at, quorum = self._constants.at, self.quorum
        attest, accept = at("session.attest", self.members), at("session.accept", self.members)
        return (
            Question(quorum, quorum, quorum * PAIR, VOTE, work=attest, leader=at("signature.verify")),
            Question(quorum, quorum, quorum * VOTE, SHARE, work=accept + at("collision.sign")),
        )

    def _round(self, question: Question) -> float:
        return round_seconds(question, self._network)
