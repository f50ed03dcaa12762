# SPDX-License-Identifier: Apache-2.0
"""The owner's signed statement on its model, the part of a model node that its owner signs."""

from __future__ import annotations

from typing import Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from blockful_py.crypto import eip712, payload
from blockful_py.crypto.keccak import keccak
from blockful_py.record import fields
from blockful_py.record.adopted import Adopted
from blockful_py.record.fields import POSITION, ModelName, canonical_json
from blockful_py.record.statement_parts import Increment, Privacy, SharedPart
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Address, Bytes32, Position

MAX_AUDITORS = 16
"""Maximum number of auditors that an owner agrees to."""


class Reference(fields.Part):
    """A referenced model, by position, and its accuracy on the user's own test data (eq. 1).

    `accuracy`: None where it was not measured, or the version measured has been replaced.
    `version`: the version that the owner trained from.
    `used`: False for a reference of an earlier version that the owner did not choose again.
    """

    name: ModelName
    position: str = Field(pattern=POSITION)
    accuracy: float | None
    version: int = Field(default=0, ge=0)
    used: bool = True

    @model_serializer(mode="wrap")
    def _leave_out_the_usual(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        if not self.version:
            document.pop("version", None)
        if self.used:
            document.pop("used", None)
        return document

    def place(self) -> Position:
        return fields.position(self.position)


class Statement(fields.Part):
    """The owner's signed statement on its model.

    Accuracies are in [0, 1], `created` in seconds.  `privacy`, `increments` and `samples` are optional.

    `samples`: commitment to the owner's training samples (`crypto.spot_check`), 32 bytes in hexadecimal, if
    it lets others check its trainings.  `auditors`: accounts of which one, drawn by lot, may replay them.
    `shared`: the part that it dealt to the members, if nobody is to see its sums.  `adopted`: of a model that
    was made elsewhere, which has no accuracy (0) and no training here.
    """

    name: ModelName
    user: int = Field(ge=1)
    round: int = Field(ge=0)
    owner: str = Field(pattern=r"^0x[0-9a-f]{40}$")
    weights: str
    references: tuple[Reference, ...]
    accuracy: float
    training: dict[str, Any]
    privacy: Privacy | None = None
    increments: tuple[Increment, ...] = ()
    samples: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    auditors: tuple[fields.Address, ...] = Field(default=(), max_length=MAX_AUDITORS)
    shared: SharedPart | None = None
    adopted: Adopted | None = None
    created: int = Field(ge=0, lt=1 << 64)

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        for name in ("privacy", "increments", "samples", "auditors", "shared", "adopted"):
            if not getattr(self, name):
                document.pop(name, None)
        return document

    @model_validator(mode="after")
    def _checked_by_samples(self) -> Statement:
        if len({*self.auditors}) != len(self.auditors) or (self.auditors and self.samples is None):
            raise ValueError("auditors are named once each, and with a commitment to the samples")
        if self.adopted is not None and len(self.adopted.edges) != len(self.references):
            raise ValueError("an adopted model has an edge for each of its references")
        if self.samples is None and any(each.checkable for each in self.increments):
            raise ValueError("a clean model is checkable with a commitment to the samples")
        return self

    @property
    def in_use(self) -> tuple[Reference, ...]:
        """The references that the weights were trained from."""
        return tuple(each for each in self.references if each.used)

    def digest(self, chain_id: int, contract: Address) -> Bytes32:
        """EIP-712 digest of ModelStatement, bound to the LiveChain contract."""
        document = self.model_dump(mode="json", exclude={"weights", "name", "created"})
        return eip712.digest(
            eip712.Domain(chain_id, contract),
            eip712.ModelStatement(
                weights=parse_cid(self.weights).digest,
                references=payload.references_hash(reference.place() for reference in self.references),
                training=keccak(canonical_json(document)),
                name=self.name,
                created=self.created,
            ),
        )
