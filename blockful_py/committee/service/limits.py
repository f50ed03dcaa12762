# SPDX-License-Identifier: Apache-2.0
"""Maximum sizes of questions to members and of their answers.

A question grows with its models and with the members whose answers it relays; the chains show both numbers.
An answer grows with its question, which the asker knows.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockful_py.ledger.protocols import MAX_BLOCK_MODELS

KIB = 1024
MIB = 1024 * KIB
RETRY_SECONDS = 1
"""Wait before asking a busy member again."""
MAX_NAMES = 4096
"""Maximum names of blocks in one question."""
MAX_BODY = 48 * MIB
"""Maximum bytes of any body; the shares of a key generation among 256 members have up to 33 MiB."""
REFUSAL = 32 * KIB
"""Maximum bytes of a refusal's body: a reason of 2,000 escaped characters, and indices of members."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Upper bounds on the models of a proposal and on the members of a committee."""

    models: int
    members: int


SMALLEST = Extent(32, 7)
"""Questions within this extent are accepted before the true one is read from the chains."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum bytes of the bodies of one kind.

    Attributes:
        fixed: of a question, apart from the terms below.
        model, member: for each model, for each member.
        published: for each model that fits into a block.
        pair, square: for each pair of a model and a member, for each pair of members.
        most: of a question of any extent.
        answer: of an answer or a refusal.
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
        """Maximum bytes of a question's body."""
        models, members = extent.models, extent.members
        of_models = (self.model + self.pair * members) * models
        of_block = self.published * min(models, MAX_BLOCK_MODELS)
        of_members = (self.member + self.square * members) * members
        return min(self.fixed + of_models + of_block + of_members, self.most)

    def answer_bytes(self, question: int) -> int:
        """Maximum bytes of the answer's body, for a question with a body of `question` bytes."""
        return self.answer + self.growth * question
