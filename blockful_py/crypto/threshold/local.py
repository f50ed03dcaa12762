# SPDX-License-Identifier: Apache-2.0
"""Runs a key generation among members in one process."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.threshold.dkg import Participant
from blockful_py.crypto.threshold.keys import CommitteeKey, KeyShare
from blockful_py.crypto.threshold.messages import Task
from blockful_py.crypto.threshold.signing import ThresholdSigner, aggregate, combine
from blockful_py.types import Opening, Rng


def generate_key(
    threshold: int, size: int, context: bytes, rngs: Sequence[Rng] | None = None
) -> tuple[KeyShare, ...]:
    """Generates a key among `size` members, each with its own generator; shares by ascending index."""
    sources = [system_rng] * size if rngs is None else rngs
    members = [
        Participant(index, threshold, size, context, rng) for index, rng in enumerate(sources, start=1)
    ]
    commitments = [member.commit() for member in members]
    reveals = [member.reveal(commitments) for member in members]
    shares = [share for member in members for share in member.deal(reveals)]
    addressed = {member.index: [s for s in shares if s.recipient == member.index] for member in members}
    complaints = [one for member in members for one in member.receive(addressed[member.index])]
    answers = [one for member in members for one in member.answer(complaints)]
    confirmations = [member.confirm(answers) for member in members]
    return tuple(member.finish(confirmations) for member in members)


def collide_together(
    key: CommitteeKey, signers: Sequence[ThresholdSigner], session: bytes, tasks: Sequence[Task]
) -> tuple[Opening, ...]:
    """Both rounds of a batch.  Raises what `Signer.sign` and `combine` raise."""
    commitments = [signer.commit(session, len(tasks)) for signer in signers]
    nonces = aggregate(key, commitments)
    shares = [signer.sign(tasks, nonces) for signer in signers]
    return combine(key, tasks, commitments, nonces, shares)
