# SPDX-License-Identifier: Apache-2.0
"""Runs a key generation among members in one process."""

from __future__ import annotations

from collections.abc import Sequence

from blockful_py.crypto.randomness import system_rng
from blockful_py.crypto.threshold.dkg import Participant
from blockful_py.crypto.threshold.keys import KeyShare
from blockful_py.types import Rng


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
