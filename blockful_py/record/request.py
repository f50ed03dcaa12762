# SPDX-License-Identifier: Apache-2.0
"""An unlearning request, signed by the owners of the models that it starts from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Annotated, Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from blockful_py.bounded_json import parse_json
from blockful_py.crypto import eip712, signature
from blockful_py.errors import FormatError, InvalidSignatureError
from blockful_py.forget import NUMBERED, Forget
from blockful_py.html_table import html_table
from blockful_py.record import fields
from blockful_py.record.adopted import MAX_DATASETS, Elsewhere
from blockful_py.record.fields import POSITION, ModelName, canonical_json
from blockful_py.types import Address, Bytes32, Paradigm, Position, References

Number = Annotated[int, Field(ge=0, lt=NUMBERED)]
"""Number of a class or a user."""
SAMPLE = r"^[1-9]\d{0,8}:\d{1,9}$"


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


def request_key(request: Request) -> bytes:
    """The identifier of a request in addresses and logs, 32 bytes."""
    return sha256(canonical_json(request.model_dump(mode="json"))).digest()


def parse_sample(text: str) -> tuple[int, int]:
    """User and row of "user:row".  Raises FormatError."""
    if re.fullmatch(SAMPLE, text) is None:
        raise FormatError(f"a sample is written user:row, such as 5:17, not {text!r}.")
    user, row = text.split(":")
    return int(user), int(row)
