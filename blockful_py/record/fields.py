# SPDX-License-Identifier: Apache-2.0
"""Fields of proofs and certificates; each value, and so each document, has exactly one spelling."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from blockful_py.errors import FormatError
from blockful_py.names import require_name
from blockful_py.types import Position

MAX_BYTES = 16 << 20
"""Maximum size of a proof or certificate in bytes; one of 14 models has a few hundred thousand."""

Hash = Annotated[str, Field(pattern=r"^0x[0-9a-f]{64}$")]
"""32 bytes, or a number below 2^256."""
Address = Annotated[str, Field(pattern=r"^0x[0-9a-f]{40}$")]
Signature = Annotated[str, Field(pattern=r"^0x[0-9a-f]{128}$")]
Place = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,8}):(0|[1-9][0-9]{0,8})$")]
"""A position, height:index."""
Cid = Annotated[str, Field(pattern=r"^b[a-z2-7]{58}$")]
ChainId = Annotated[int, Field(ge=1, lt=1 << 64)]
Seconds = Annotated[int, Field(ge=0, lt=1 << 64)]
Small = Annotated[int, Field(ge=0, lt=1 << 32)]


ModelName = Annotated[str, AfterValidator(require_name)]
POSITION = r"^\d{1,9}:\d{1,9}$"


class Part(BaseModel):
    """A part of a document: read only, no unknown fields, no conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


Document = TypeVar("Document", bound=Part)
T = TypeVar("T")

WRITERS = {
    "proof": "export-proof",
    "certificate": "certificate issue",
    "attestation": "certificate attest",
}
"""Commands that write documents, by kind."""


def spelt(document: Part) -> bytes:
    """The one spelling of a document: JSON with sorted keys, indented by one, one line feed at the end."""
    text = json.dumps(document.model_dump(mode="json"), sort_keys=True, indent=1, allow_nan=False)
    return text.encode() + b"\n"


def parsed(kind: type[Document], data: bytes, what: str, limit: int = MAX_BYTES) -> Document:
    """Inverse of `spelt`; `what` names the kind of document in errors, `limit` is in bytes.

    Raises FormatError, which names the field, for anything else.
    """
    if len(data) > limit:
        raise FormatError(f"a {what} has at most {limit} bytes, this is larger.")
    try:
        document = kind.model_validate_json(data)
    except ValidationError as error:
        raise FormatError(f"this is no {what}: {first_error(error)}.") from None
    if spelt(document) != data:
        raise FormatError(f"this {what} is not spelt as it was exported: use the file as it was made.")
    return document


def first_error(error: ValidationError) -> str:
    """The first invalid field, and the reason."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))[:200] or "document"
    return f"{place}: {first['msg'][:200]}"


def read_document(path: Path, what: str, parse: Callable[[bytes], T]) -> T:
    """The document in a file; `parse` gets at most one byte more than the maximum size.

    Raises FormatError, which names the file, when it cannot be read or parsed.
    """
    try:
        with path.open("rb") as file:
            return parse(file.read(MAX_BYTES + 1))
    except OSError as error:
        raise FormatError(f"the {what} {path} cannot be read: {error.strerror}.") from None
    except FormatError as error:
        raise FormatError(f"{path}: {error} Give a file that `blockful {WRITERS[what]}` wrote.") from None


def number(text: str) -> int:
    return int(text, 16)


def octets(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def of_number(value: int) -> str:
    return f"0x{value:064x}"


def of_octets(value: bytes) -> str:
    return "0x" + value.hex()


def position(text: str) -> Position:
    height, index = text.split(":")
    return Position(int(height), int(index))


def canonical_json(value: Mapping[str, Any] | list[Any]) -> bytes:
    """JSON with sorted keys and no spaces: one value, one byte string."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
