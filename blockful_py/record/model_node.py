# SPDX-License-Identifier: Apache-2.0
"""The model node (the paper, section IV-B5): the document that a live transaction's URI points to.

It names the weights by CID and carries a statement that the owner signed when the model was published or
retrained.  A version made by the committee also carries the redaction: the signed request and the new
weights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from blockful_py.bounded_json import parse_json
from blockful_py.crypto import eip712, payload, signature
from blockful_py.crypto.keccak import keccak
from blockful_py.errors import FormatError, InvalidSignatureError, WithdrawnError
from blockful_py.forget import NUMBERED, Forget
from blockful_py.html_table import html_table
from blockful_py.names import require_name
from blockful_py.record import fields
from blockful_py.record.adopted import MAX_DATASETS, Adopted, Elsewhere
from blockful_py.record.statement_parts import Claimed, Increment, Privacy, SharedPart, SpotCheck
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Address, Bytes32, Paradigm, Position, References, Uri

FORMAT = "blockful-model/1"
MAX_NODE_BYTES = 1 << 20
MAX_AUDITORS = 16
"""Maximum number of auditors that an owner agrees to."""
POSITION = r"^\d{1,9}:\d{1,9}$"
Number = Annotated[int, Field(ge=0, lt=NUMBERED)]
"""Number of a class or a user."""
SAMPLE = r"^[1-9]\d{0,8}:\d{1,9}$"


ModelName = Annotated[str, AfterValidator(require_name)]


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


class Start(fields.Part):
    """A model that a request starts from."""

    name: ModelName
    position: str = Field(pattern=POSITION)

    def place(self) -> Position:
        return fields.position(self.position)


class Request(fields.Part):
    """An unlearning request and the signatures of the starts' owners, in the order of `starts`.

    It names classes, or clients, or samples ("5:17": user 5, row 17 of its training data, from 0), or data
    sets of adopted models.
    """

    starts: tuple[Start, ...] = Field(min_length=1)
    classes: tuple[Number, ...] = ()
    clients: tuple[Number, ...] = ()
    samples: tuple[Annotated[str, Field(pattern=SAMPLE)], ...] = ()
    datasets: tuple[Elsewhere, ...] = Field(default=(), max_length=MAX_DATASETS)
    paradigm: str
    method: str
    created: int = Field(ge=0, lt=1 << 64)
    signatures: tuple[str, ...] = ()

    @model_serializer(mode="wrap")
    def _leave_out_no_datasets(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = serialise(self)
        if not self.datasets:
            document.pop("datasets", None)
        return document

    @field_validator("paradigm")
    @classmethod
    def _is_of_a_paradigm(cls, paradigm: str) -> str:
        if paradigm not in set(Paradigm):
            raise ValueError(f"a request is parallel or sequential, not {paradigm!r}")
        return paradigm

    @model_validator(mode="after")
    def _names_one_kind(self) -> Request:
        if sum(map(bool, (self.classes, self.clients, self.samples, self.datasets))) != 1:
            raise ValueError("a request names classes, or clients, or samples, or data sets")
        return self

    @property
    def references(self) -> References:
        """Whether the models that the method retrains keep their references, by its settings."""
        again = self._of_method("references") == References.CHOSEN_AGAIN
        return References.CHOSEN_AGAIN if again else References.KEPT

    @property
    def chooses_again(self) -> bool:
        """Whether the models that the method retrains may choose other references."""
        return self.references is References.CHOSEN_AGAIN

    @property
    def is_merged(self) -> bool:
        """Whether the method takes merged models for granted, whose parts are trained, by its settings."""
        return self._of_method("merged") is True

    def _of_method(self, name: str) -> Any:
        """A setting of the method; None if its text names none."""
        _, _, document = self.method.partition(" ")
        with suppress(ValueError):
            settings = parse_json(document or "{}")
            return settings.get(name) if isinstance(settings, dict) else None
        return None

    @property
    def forget(self) -> Forget:
        """The data to be forgotten."""
        if self.clients:
            return Forget.of_clients(self.clients)
        if self.samples:
            return Forget.of_samples(parse_sample(text) for text in self.samples)
        if self.datasets:
            return Forget.of_datasets(self.datasets)
        return Forget.of_classes(self.classes)

    def rows(self) -> list[tuple[str, str]]:
        """The request as rows of a table for people."""
        starts = ", ".join(start.name for start in self.starts)
        return [
            ("forget", str(self.forget)),
            ("starts", starts),
            ("paradigm", self.paradigm),
            ("method", self.method),
        ]

    def _repr_html_(self) -> str:
        return html_table("Request to forget", (), [*self.rows(), ("signatures", str(len(self.signatures)))])

    def typed(self) -> eip712.UnlearningRequest | eip712.DatasetRequest:
        """The typed data that the owners of the starts sign."""
        starts = tuple(f"{start.name} at {start.position}" for start in self.starts)
        if self.datasets:
            return eip712.DatasetRequest(starts, self.datasets, self.paradigm, self.method, self.created)
        return eip712.UnlearningRequest(
            starts=starts,
            classes=self.classes,
            clients=self.clients,
            samples=self.samples,
            paradigm=self.paradigm,
            method=self.method,
            created=self.created,
        )

    def digest(self, chain_id: int, contract: Address) -> Bytes32:
        """EIP-712 digest of UnlearningRequest, bound to the LiveChain contract."""
        return eip712.digest(eip712.Domain(chain_id, contract), self.typed())

    def signers(self, chain_id: int, contract: Address) -> tuple[bytes, ...]:
        """Addresses of the signers, in the order of `starts`.

        Raises InvalidSignatureError unless there is one usable signature for each start.
        """
        if len(self.signatures) != len(self.starts):
            raise InvalidSignatureError(
                f"the request names {len(self.starts)} starts and has {len(self.signatures)} signatures."
            )
        digest = self.digest(chain_id, contract)
        try:
            raw = [bytes.fromhex(signed.removeprefix("0x")) for signed in self.signatures]
        except ValueError:
            raise InvalidSignatureError("a signature of the request is not hexadecimal.") from None
        return tuple(signature.recover(digest, signed) for signed in raw)

    def signed(self, secrets: Sequence[int], chain_id: int, contract: Address) -> Request:
        digest = self.digest(chain_id, contract)
        signatures = tuple("0x" + signature.sign(secret, digest).hex() for secret in secrets)
        return self.model_copy(update={"signatures": signatures})


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


def canonical_json(value: Mapping[str, Any] | list[Any]) -> bytes:
    """JSON with sorted keys and no spaces: one value, one byte string."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def request_key(request: Request) -> bytes:
    """The identifier of a request in addresses and logs, 32 bytes."""
    return sha256(canonical_json(request.model_dump(mode="json"))).digest()


def parse_sample(text: str) -> tuple[int, int]:
    """User and row of "user:row".  Raises FormatError."""
    if re.fullmatch(SAMPLE, text) is None:
        raise FormatError(f"a sample is written user:row, such as 5:17, not {text!r}.")
    user, row = text.split(":")
    return int(user), int(row)
