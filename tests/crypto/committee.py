# SPDX-License-Identifier: Apache-2.0
"""A key generation and a signing committee, step by step, so that a test can interfere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from blockful_py.crypto import chameleon
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.dkg import Participant
from blockful_py.crypto.threshold.keys import CommitteeKey, KeyShare
from blockful_py.crypto.threshold.messages import (
    AggregatedNonces,
    Answer,
    Commitment,
    Complaint,
    Confirmation,
    NonceCommitments,
    Reveal,
    Share,
    SignatureShares,
    Task,
)
from blockful_py.crypto.threshold.signing import ThresholdSigner, aggregate, combine
from blockful_py.types import Opening


@dataclass
class Ceremony:
    """A key generation of `size` members; each step keeps its messages in a list that tests may change."""

    threshold: int
    size: int
    seed: bytes = b"ceremony"
    commitments: list[Commitment] = field(default_factory=list)
    reveals: list[Reveal] = field(default_factory=list)
    shares: list[Share] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    confirmations: list[Confirmation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.members = [
            Participant(index, self.threshold, self.size, b"test", SeededRng(self.seed, index))
            for index in range(1, self.size + 1)
        ]
        self.commitments = [member.commit() for member in self.members]

    def reveal(self) -> None:
        self.reveals = [member.reveal(self.commitments) for member in self.members]

    def deal(self) -> None:
        self.shares = [share for member in self.members for share in member.deal(self.reveals)]

    def receive(self) -> None:
        self.complaints = [one for member in self.members for one in member.receive(self.shares)]

    def answer(self) -> None:
        self.answers = [one for member in self.members for one in member.answer(self.complaints)]

    def confirm(self) -> None:
        self.confirmations = [member.confirm(self.answers) for member in self.members]

    def finish(self) -> tuple[KeyShare, ...]:
        return tuple(member.finish(self.confirmations) for member in self.members)

    def run(self) -> tuple[KeyShare, ...]:
        for step in (self.reveal, self.deal, self.receive, self.answer, self.confirm):
            step()
        return self.finish()


@dataclass
class Batch:
    """Signers who have committed to `tasks`, up to the point where they answer."""

    shares: tuple[KeyShare, ...]
    signers: list[ThresholdSigner]
    tasks: list[Task]
    commitments: list[NonceCommitments]
    nonces: AggregatedNonces

    @property
    def key(self) -> CommitteeKey:
        return self.shares[0].public

    def answers(self) -> list[SignatureShares]:
        return [signer.sign(self.tasks, self.nonces) for signer in self.signers]


def tasks_for(key: CommitteeKey, count: int, seed: bytes = b"tasks") -> list[Task]:
    """Hashes of one message each, to be opened to another."""
    rng = SeededRng(seed)
    tasks = []
    for position in range(count):
        label = chameleon.label(1337, b"\x22" * 20, position)
        h, _ = chameleon.hash_message(key.group_key, label, chameleon.message(0, rng(32)))
        tasks.append(Task(label, chameleon.message(1, rng(32)), h))
    return tasks


def begin(shares: tuple[KeyShare, ...], members: tuple[int, ...], count: int = 3) -> Batch:
    """Round 1 by the members listed."""
    key = shares[0].public
    signers = [ThresholdSigner(shares[index - 1], SeededRng(b"signer", index)) for index in members]
    commitments = [signer.commit(b"session", count) for signer in signers]
    return Batch(shares, signers, tasks_for(key, count), commitments, aggregate(key, commitments))


def collide_together(
    key: CommitteeKey, signers: Sequence[ThresholdSigner], session: bytes, tasks: Sequence[Task]
) -> tuple[Opening, ...]:
    """Both rounds of a batch.  Raises as `ThresholdSigner.sign` and `combine`."""
    commitments = [signer.commit(session, len(tasks)) for signer in signers]
    nonces = aggregate(key, commitments)
    shares = [signer.sign(tasks, nonces) for signer in signers]
    return combine(key, tasks, commitments, nonces, shares)
