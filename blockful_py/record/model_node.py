# SPDX-License-Identifier: Apache-2.0
"""The model node (the paper, section IV-B5): the document that a live transaction's URI points to.

It names the weights by CID and carries a statement that the owner signed when the model was published or
retrained.  A version made by the committee also carries the redaction: the signed request and the new
weights.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from blockful_py.crypto import signature
from blockful_py.errors import FormatError, WithdrawnError
from blockful_py.record import fields
from blockful_py.record.fields import canonical_json
from blockful_py.record.request import Number, Request
from blockful_py.record.statement import Statement
from blockful_py.record.statement_parts import Claimed, Increment, SharedPart, SpotCheck
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Address, Position, Uri

FORMAT = "blockful-model/1"
MAX_NODE_BYTES = 1 << 20


class Redaction(fields.Part):
    """The redaction that made a version: the request, and the weights that replaced the old ones.

    A committee member measures `claims` again before it votes.  Without weights and claims the model is
    withdrawn: its owner did not do its part of the request in time.  `left_out`: classes that earlier
    requests removed from the model; AD_r is measured without them.  `spot_check`: the check of its owner's
    training, if any.  `untrained`: the weights are the mean of the references' new ones, or the initial ones
    without references, and members computed them too.  `chosen_by`: the last request by which the model chose
    references again, if that is an earlier one.  `shared`: the rest of its owner's shared part.
    """

    version: int = Field(ge=1)
    weights: str | None
    request: Request
    claims: Claimed | None
    left_out: tuple[Number, ...] = ()
    spot_check: SpotCheck | None = None
    untrained: bool = False
    chosen_by: Request | None = None
    shared: SharedPart | None = None

    @property
    def states_review(self) -> bool:
        """Whether it states how members reviewed its weights, other than the request does."""
        return self.untrained or self.spot_check is not None

    @model_serializer(mode="wrap")
    def _leave_out_what_is_not_there(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        for name in ("left_out", "spot_check", "untrained", "chosen_by", "shared"):
            if not getattr(self, name):
                document.pop(name, None)
        return document

    @model_validator(mode="after")
    def _claims_of_its_weights(self) -> Redaction:
        if (self.weights is None) != (self.claims is None):
            raise ValueError("new weights have claims, and a withdrawn model has neither")
        if self.weights is None and self.spot_check is not None:
            raise ValueError("a withdrawn model has no training to check")
        if self.untrained and (self.weights is None or self.spot_check is not None):
            raise ValueError("an untrained model has weights, and no training to check")
        return self


class ModelNode(fields.Part):
    """A model node: the statement, its signature, and the redaction that led to this version."""

    format: str = FORMAT
    statement: Statement
    signature: str = Field(pattern=r"^0x[0-9a-f]{128}$")
    redaction: Redaction | None = None

    @property
    def name(self) -> str:
        return self.statement.name

    @property
    def is_withdrawn(self) -> bool:
        """Whether this version has no weights."""
        return self.redaction is not None and self.redaction.weights is None

    @property
    def weights(self) -> Uri:
        """URI of this version's weights.  Raises WithdrawnError if it has none."""
        cid = self.redaction.weights if self.redaction else self.statement.weights
        if cid is None:
            raise WithdrawnError(self.name)
        return parse_cid(cid)

    @property
    def chosen_by(self) -> Request | None:
        """The last request by which the model chose references again; None if it never did."""
        if self.redaction is None:
            return None
        request = self.redaction.request
        return request if request.chooses_again and not self.is_withdrawn else self.redaction.chosen_by

    @property
    def signed_accuracy(self) -> float | None:
        """Accuracy of this version on its owner's test data; None if its owner did not sign this version, or
        adopted the model.
        """
        if self.statement.adopted is not None:
            return None
        is_signed = self.redaction is None or self.redaction.weights == self.statement.weights
        return self.statement.accuracy if is_signed else None

    @property
    def increments(self) -> tuple[Increment, ...]:
        """The increments of this version; a redacted version has none."""
        return () if self.redaction else self.statement.increments

    def increment(self, label: int) -> Increment | None:
        """This version's increment for a class; None without one."""
        return next((each for each in self.increments if each.label == label), None)

    @property
    def shared(self) -> SharedPart | None:
        """This version's shared part; None if sums are not shared."""
        return self.redaction.shared if self.redaction else self.statement.shared

    @property
    def spot_check(self) -> SpotCheck | None:
        """The spot check of this version's training; None without one."""
        return self.redaction.spot_check if self.redaction else None

    def removed_beside(self, classes: Collection[int]) -> tuple[int, ...]:
        """Classes, ascending, that requests up to this version removed, without `classes`.

        Nodes of older programs name the classes of their own request alone.
        """
        if self.redaction is None:
            return ()
        removed = {*self.redaction.request.classes, *self.redaction.left_out}
        return tuple(sorted(removed - set(classes)))

    @property
    def requests(self) -> tuple[Request, ...]:
        """The request that made this version, and the last that let its owner choose references again."""
        named = (self.redaction.request, self.redaction.chosen_by) if self.redaction else ()
        return tuple(request for request in named if request is not None)

    @property
    def has_chosen_again(self) -> bool:
        """Whether its owner has chosen references again, so that an earlier one is not in use."""
        return self.statement.in_use != self.statement.references

    def added_to(self, published: Collection[Position]) -> tuple[Position, ...]:
        """The places of the references that the model was not published with."""
        places = (each.place() for each in self.statement.references)
        return tuple(place for place in places if place not in published)

    @property
    def sealed(self) -> tuple[Uri, ...]:
        """This version's sealed weights, then its increments, disclosure or shares; empty if withdrawn."""
        if self.is_withdrawn:
            return ()
        others = [] if self.spot_check is None else [self.spot_check.disclosure]
        others += self.shared.files if self.shared else ()
        return (*self.models, *map(parse_cid, others))

    @property
    def models(self) -> tuple[Uri, ...]:
        """The sealed files that hold a model: the weights, then the increments.  Raises as `weights`."""
        return (self.weights, *(parse_cid(each.weights) for each in self.increments))

    def to_bytes(self) -> bytes:
        return canonical_json(self.model_dump(mode="json"))

    def signer(self, chain_id: int, contract: Address) -> bytes:
        """Address that signed the statement.  Raises InvalidSignatureError."""
        return signature.recover(self.statement.digest(chain_id, contract), bytes.fromhex(self.signature[2:]))


@dataclass(frozen=True, slots=True)
class RequestAnswer:
    """A model version made for a request, with the node's block that put it on the live chain."""

    request: Request
    version: int
    block_number: int
    is_withdrawal: bool


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A model node and its place on the live chain.

    `answers`: the versions made for requests, oldest first, including this one; empty unless they were read.
    `settled`: whether the live chain has executed the whole decision that made this version.
    """

    position: Position
    version: int
    uri: Uri
    node: ModelNode
    answers: tuple[RequestAnswer, ...] = ()
    settled: bool = True

    @property
    def since(self) -> int:
        """The node's block in which this version replaced another; 0 if it replaced none."""
        return self.answers[-1].block_number if self.answers else 0

    def answer_to(self, request: Request) -> RequestAnswer | None:
        """The first version made for a request, even if another request followed."""
        return next((each for each in self.answers if each.request == request), None)


def sign_statement(statement: Statement, secret: int, chain_id: int, contract: Address) -> ModelNode:
    """The node of a statement, signed by its owner."""
    signed = signature.sign(secret, statement.digest(chain_id, contract))
    return ModelNode(statement=statement, signature="0x" + signed.hex())


def parse_node(data: bytes) -> ModelNode:
    """Parses a model node.  Raises FormatError when the bytes are not one."""
    if len(data) > MAX_NODE_BYTES:
        raise FormatError(f"a model node has at most {MAX_NODE_BYTES} bytes, these are {len(data)}")
    try:
        node = ModelNode.model_validate_json(data)
    except ValidationError as error:
        raise FormatError(f"not a model node: {fields.first_error(error)}") from None
    if node.format != FORMAT:
        raise FormatError(f"a model node of format {FORMAT!r} was expected, not {node.format!r}")
    return node
