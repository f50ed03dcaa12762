# SPDX-License-Identifier: Apache-2.0
"""Maximum sizes of questions to members and of their answers.

A question grows with the models that it is about and with the members whose answers it relays; the chains say
how many there are.  An answer grows with its question, which the asking side knows.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.ledger.protocols import MAX_BLOCK_MODELS

KIB = 1024
MIB = 1024 * KIB
RETRY_SECONDS = 1
"""Wait before a busy member is asked again."""
MAX_NAMES = 4096
"""Names of blocks in one question."""
MAX_BODY = 96 * MIB
"""Bytes of any body: relayed nonces of a batch of 2,000 collisions by a hundred signers have 65 MiB."""
REFUSAL = 32 * KIB
"""Bytes of the body of any refusal: a reason of 2,000 characters, each escaped, and the members it names."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Upper bounds on the models that a proposal can be about, and on the members of a committee."""

    models: int
    members: int


SMALLEST = Extent(32, 7)
"""Questions that fit this extent are accepted before the chains are asked for the true one."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of the bodies of one kind.

    Attributes:
        fixed: of a question, beside what follows.
        model, member: for each model, for each member.
        published: for each model that a block can hold.
        pair, square: for each pair of a model and a member, of two members.
        most: of a question, however many there are.
        answer: of an answer, or of a refusal.
        growth: of an answer, for each byte of its question.
    """

    fixed: int
    model: int = 0
    member: int = 0
    published: int = 0
    pair: int = 0
    square: int = 0
    most: int = MAX_BODY
    answer: int = REFUSAL
    growth: int = 0

    def question_bytes(self, extent: Extent) -> int:
        """Bytes of a question's body at most."""
        models, members = extent.models, extent.members
        of_models = (self.model + self.pair * members) * models
        of_block = self.published * min(models, MAX_BLOCK_MODELS)
        of_members = (self.member + self.square * members) * members
        return min(self.fixed + of_models + of_block + of_members, self.most)

    def answer_bytes(self, question: int) -> int:
        """Bytes at most of the body of an answer to a question whose body has `question` bytes."""
        return self.answer + self.growth * question
