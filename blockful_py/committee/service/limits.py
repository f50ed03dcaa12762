# SPDX-License-Identifier: Apache-2.0
"""Sizes that questions to members and their answers may have, by kind.

A question grows with the models that it is about and with the members whose answers it relays; the chains say
how many there are.  An answer grows with its question, which the asking side knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from blockful_py.committee.packaging import MAX_BLOCK_MODELS
from blockful_py.committee.service.messages import MessageKind
from blockful_py.storage.bounds import MAX_BLOCK_SIZE

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


_EMPTY = Limits(16)
_DRAFT = Limits(16 * KIB, model=3 * KIB // 2)
"""A target with its header and archive record has some 900 bytes."""
_RELAY = Limits(4 * KIB, member=2 * KIB, growth=1)
"""Relays a short answer of each member, with its line of at most 1,024 bytes."""
_BROAD_RELAY = Limits(4 * KIB, member=2 * KIB, square=512, growth=1)
"""Relays answers that hold a point or a sealed share for each member."""

_COSIGNING = Limits(4 * KIB, member=2 * KIB)
"""A voter's vote, nonces, pledge and attestation have some 1,200 bytes."""

LIMITS: Mapping[MessageKind, Limits] = {
    MessageKind.IDENTIFY: replace(_EMPTY, answer=64 * KIB),
    MessageKind.TELL_KEY: replace(_EMPTY, answer=64 * KIB),
    MessageKind.PUBLICATION: Limits(16 * KIB, published=8 * KIB),
    MessageKind.SUCCESSION: Limits(4 * KIB, member=128),
    MessageKind.ACKNOWLEDGEMENT: Limits(4 * KIB),
    MessageKind.ERASURE: Limits(512 * KIB, model=4 * KIB, member=KIB),
    MessageKind.MOTION: Limits(4 * KIB),
    MessageKind.WITNESS: Limits(4 * KIB, member=512),
    MessageKind.RECOMMIT: _EMPTY,
    MessageKind.ATTEST_COSIGNING: _COSIGNING,
    MessageKind.COSIGN: _COSIGNING,
    MessageKind.APPROVE: _DRAFT,
    MessageKind.COMMIT: replace(_DRAFT, growth=1),
    MessageKind.ATTEST: Limits(4 * KIB, member=KIB),
    MessageKind.SIGN: replace(_DRAFT, member=2 * KIB, pair=400, growth=1),
    MessageKind.REDACTION: replace(_DRAFT, model=5 * KIB // 2),
    MessageKind.FINISH_PUBLICATION: Limits(32 * KIB, published=10 * KIB, member=KIB),
    MessageKind.FINISH_REDACTION: replace(_DRAFT, model=5 * KIB, pair=64, member=2 * KIB),
    MessageKind.KEEP_KEYS: Limits(16 * KIB, model=32 * KIB, most=4 * MIB),
    MessageKind.LEND_KEYS: Limits(16 * KIB, model=8 * KIB, most=2 * MIB, growth=3),
    MessageKind.DESTROY_KEYS: Limits(16 * KIB, model=8 * KIB, most=2 * MIB, growth=1),
    MessageKind.READ_KEY: Limits(KIB),
    MessageKind.HAS_BLOCKS: Limits(KIB + 128 * MAX_NAMES, growth=1),
    MessageKind.KEEP_BLOCKS: Limits(MAX_BLOCK_SIZE + 64 * KIB),
    MessageKind.FETCH_BLOCKS: Limits(0),
    MessageKind.LEAD: _EMPTY,
    MessageKind.KEY_COMMIT: Limits(24 * KIB),
    MessageKind.KEY_REVEAL: _RELAY,
    MessageKind.KEY_DEAL: _BROAD_RELAY,
    MessageKind.KEY_RECEIVE: _BROAD_RELAY,
    MessageKind.KEY_ANSWER: _BROAD_RELAY,
    MessageKind.KEY_CONFIRM: _BROAD_RELAY,
    MessageKind.KEY_FINISH: _RELAY,
    MessageKind.KEY_HELD: _EMPTY,
    MessageKind.KEY_SETTLE: _RELAY,
}
"""Of every kind.  A relayed pair of nonces has 320 bytes; each chunk of a certified redaction, of some ten
models, carries the certificate twice; a model has up to 80 sealed files (its weights and increments),
each named in 95 bytes, and with its wrapped key in 284."""
