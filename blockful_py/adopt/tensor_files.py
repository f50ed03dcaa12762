# SPDX-License-Identifier: Apache-2.0
"""Files of weights, which are hashed and never loaded: safetensors by tensor, others whole.

Source of the format: https://huggingface.co/docs/safetensors (8 bytes with the header's size, the header as
JSON, the tensors without gaps).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError
from blockful_py.record.adopted import LONGEST, SAFETENSORS, AdoptedFile
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Bytes32
from blockful_py.whole_file import read_bounded

MAX_HEADER_BYTES = 16 << 20
"""Maximum size of a file's header; one of 10^5 tensors has about 10 MiB."""
MAX_INDEX_BYTES = 64 << 20
PIECE = 1 << 20
INDEX = ".safetensors.index.json"
GGUF = ".gguf"
OPAQUE = frozenset({GGUF, ".onnx"})
"""Files that load without running code of theirs; they are hashed whole."""
PICKLED = frozenset({".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".msgpack", ".h5", ".joblib"})
"""Files that may run code when they are loaded, or that stand beside safetensors."""
_BITS = {
    kind: bits
    for bits, kinds in {
        64: "F64 I64 U64 C64",
        32: "F32 I32 U32",
        16: "F16 BF16 I16 U16",
        8: "I8 U8 BOOL F8_E4M3 F8_E5M2 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ",
        6: "F6_E2M3 F6_E3M2",
        4: "F4",
    }.items()
    for kind in kinds.split()
}
"""Bits of a number by type; a type that is not listed is hashed all the same."""


def adopted_file(path: Path) -> AdoptedFile:
    """Name, size and CID of a file.  Raises FormatError when it cannot be read."""
    try:
        with path.open("rb") as stream:
            uri = file_uri(stream)
        return AdoptedFile(path=path.name, size=path.stat().st_size, cid=cid_string(uri))
    except OSError as error:
        raise FormatError(f"{path.name} cannot be read: {error.strerror}.") from None


def whole_digest(path: Path) -> Bytes32:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def tensor_digests(path: Path) -> dict[str, Bytes32]:
    """SHA-256 by tensor of a safetensors file: of its type, its shape and its bytes, for all types.

    Raises FormatError unless the header is one and its tensors fill the file without gaps.
    """
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            spans, begin = _header(stream, size, path.name)
            return {
                name: _digest(stream, begin + at, end - at, form) for name, (at, end, form) in spans.items()
            }
    except OSError as error:
        raise FormatError(f"{path.name} cannot be read: {error.strerror}.") from None


def _header(stream: BinaryIO, size: int, name: str) -> tuple[dict[str, tuple[int, int, bytes]], int]:
    """Begin, end and form of each tensor, and where the tensors begin in the file."""
    stream.seek(0)
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
        raise FormatError(
            f"{name} has {size} bytes and a header of {length}, which may have {MAX_HEADER_BYTES}: it is no "
            "whole safetensors file; fetch it again."
        )
    try:
        entries = parse_json(stream.read(length))
        entries.pop("__metadata__", None)
        spans = {key: _span(key, entry) for key, entry in entries.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(f"{name} has no header of safetensors ({str(error)[:80]}).") from None
    at = 0
    for key, (begin, end, _) in sorted(spans.items(), key=lambda item: item[1][:2]):
        if begin != at:
            raise FormatError(f"{name} cannot be used: tensor {key[:80]!r} is not in its place.")
        at = end
    if 8 + length + at != size:
        raise FormatError(f"{name} has {size} bytes, by its header {8 + length + at}: fetch it again.")
    return spans, 8 + length


def _span(key: str, entry: Mapping[str, Any]) -> tuple[int, int, bytes]:
    kind, shape = entry["dtype"], entry["shape"]
    begin, end = entry["data_offsets"]
    if not isinstance(kind, str) or not all(type(each) is int and each >= 0 for each in (begin, end, *shape)):
        raise TypeError(f"tensor {key[:80]!r}")
    if not 1 <= len(key) <= LONGEST or not key.isprintable() or end < begin:
        raise ValueError(f"tensor {key[:80]!r}")
    if kind in _BITS and (prod(shape) * _BITS[kind] + 7) // 8 != end - begin:
        raise ValueError(f"tensor {key[:80]!r} of {kind[:16]} {shape} has {end - begin} bytes")
    return begin, end, f"{kind[:16]}{shape}".encode()


def _digest(stream: BinaryIO, begin: int, count: int, form: bytes) -> Bytes32:
    digest = hashlib.sha256(form)
    stream.seek(begin)
    while count:
        piece = stream.read(min(PIECE, count))
        if not piece:
            raise FormatError("a file became shorter while it was read.")
        digest.update(piece)
        count -= len(piece)
    return digest.digest()


def shards_of(index: Path) -> dict[str, str]:
    """The shard of each tensor, by an index such as model.safetensors.index.json.

    Raises FormatError for an index that cannot be read, or that names a file outside its folder.
    """
    placed = parsed_json(index, MAX_INDEX_BYTES).get("weight_map")
    if not isinstance(placed, dict) or not placed:
        raise FormatError(f"{index.name} has no weight_map.")
    for shard in set(map(str, placed.values())):
        if Path(shard).name != shard or "\\" in shard or not shard.endswith(SAFETENSORS):
            raise FormatError(f"{index.name} names {shard[:80]!r}, which is no safetensors file beside it.")
    return {str(name): str(shard) for name, shard in placed.items()}


def parsed_json(path: Path, most: int) -> dict[str, object]:
    """A JSON object in a file of at most `most` bytes.  Raises FormatError."""
    try:
        document = parse_json(read_bounded(path, most))
    except ValueError as error:
        raise FormatError(f"{path.name} is no JSON ({str(error)[:80]}).") from None
    if not isinstance(document, dict):
        raise FormatError(f"{path.name} is no JSON object.")
    return document
