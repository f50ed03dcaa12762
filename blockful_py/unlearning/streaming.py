# SPDX-License-Identifier: Apache-2.0
"""Passing changes to a model that is streamed from a store, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from blockful_py.bounded_json import parse_json
from blockful_py.errors import FormatError, LearningError
from blockful_py.learning.weights import VARIANCE_FLOOR, Vector
from blockful_py.unlearning.propagation import BLOCK, Scratch, pass_block

LONGEST_HEADER = 100_000_000
"""Bytes; safetensors' own limit."""


class Change(Protocol):
    """A start's change, float32 (D,): a vector in memory, or one that is read slice by slice."""

    def __len__(self) -> int: ...

    def __getitem__(self, block: slice, /) -> Vector: ...


class StoredVector:
    """A vector, float32 (D,), little-endian in a file, read slice by slice."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where the file cannot be read."""
        self._path = path
        self._length = path.stat().st_size // 4

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, block: slice, /) -> Vector:
        first, end, _ = block.indices(self._length)
        return np.fromfile(self._path, np.dtype("<f4"), end - first, offset=4 * first)


def pass_stream(model: Iterable[bytes], terms: Sequence[tuple[np.float32, Change]]) -> Iterator[bytes]:
    """The bytes of `to_bytes(propagate(...))` for one model, from the bytes of the old one (paper, eq. 8).

    Memory holds a few blocks of 2^15 numbers and pieces of the model, whatever its size.

    Args:
        model: safetensors as `weights.to_bytes` writes them, in pieces of any length, such as
            `ContentStore.stream` gives.
        terms: terms of this model, as `propagation.passing` gives them, with changes (D,).

    Raises:
        FormatError: not one whole safetensors file, or floating-point tensors other than float32.
        LearningError: changes of another length than the model, or a number that is not finite.
    """
    source = _ByteReader(model)
    length = int.from_bytes(source.take(8), "little")
    if length > LONGEST_HEADER:
        raise FormatError(f"this is not a safetensors file: its header would have {length} bytes.")
    header = source.take(length)
    tensors = _tensors(header)
    floating = sorted(name for name, kind, _ in tensors if kind == "F32")
    sizes = {name: size // 4 for name, _, size in tensors}
    total = sum(sizes[name] for name in floating)
    if any(len(change) != total for _, change in terms):
        raise LearningError(f"expected changes of {total} weights, found {[len(c) for _, c in terms]}.")
    begins = dict(zip(floating, np.cumsum([0, *(sizes[name] for name in floating)]).tolist(), strict=False))
    scratch = Scratch()
    yield length.to_bytes(8, "little") + header
    for name, kind, size in tensors:
        if kind == "F32":
            yield from _passed(source, name, sizes[name], begins[name], terms, scratch)
        else:
            yield source.take(size)
    source.require_end()


def _passed(
    source: _ByteReader,
    name: str,
    size: int,
    begin: int,
    terms: Sequence[tuple[np.float32, Change]],
    scratch: Scratch,
) -> Iterator[bytes]:
    for first in range(0, size, BLOCK):
        count = min(BLOCK, size - first)
        old = np.frombuffer(source.take(4 * count), np.dtype("<f4"))
        new = np.empty_like(old)
        here = slice(begin + first, begin + first + count)
        with np.errstate(over="ignore", invalid="ignore"):
            pass_block(old, [(weight, change[here]) for weight, change in terms], new, scratch)
        if name.endswith("running_var"):
            np.maximum(new, np.float32(VARIANCE_FLOOR) * old, out=new)
        if not np.isfinite(new).all():
            raise LearningError(
                f"a streamed model gets NaN or infinite values in {name!r}: refuse the change."
            )
        yield new.tobytes()


def _tensors(header: bytes) -> list[tuple[str, str, int]]:
    """Name, dtype and bytes of each tensor, in the order of their data."""
    try:
        entries: dict[str, Any] = parse_json(header)
        entries.pop("__metadata__", None)
        spans = {name: tuple(map(int, entry["data_offsets"])) for name, entry in entries.items()}
        listed = sorted((begin, end, name) for name, (begin, end) in spans.items())
        tensors = [(name, str(entries[name]["dtype"]), end - begin) for begin, end, name in listed]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise FormatError("this is not a safetensors file: its header cannot be read.") from None
    ends = [0, *(end for _, end, _ in listed)]
    if any(begin != last or end < begin for (begin, end, _), last in zip(listed, ends, strict=False)):
        raise FormatError("this is not a safetensors file: its tensors do not follow each other.")
    for name, kind, size in tensors:
        if kind == "BF16" or (kind.startswith("F") and kind != "F32") or (kind == "F32" and size % 4):
            raise FormatError(f"tensor {name!r} is not float32: load this model whole.")
    return tensors


class _ByteReader:
    """Reads any number of bytes from a stream of pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def take(self, count: int) -> bytes:
        """The next `count` bytes.  Raises FormatError where fewer are left."""
        taken = []
        while count:
            if not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    raise FormatError(f"a streamed model ends {count} bytes early: fetch the model again.")
                self._rest = memoryview(piece)
            part = self._rest[:count]
            taken.append(part)
            self._rest = self._rest[len(part) :]
            count -= len(part)
        return b"".join(taken)

    def require_end(self) -> None:
        if self._rest or any(map(len, self._pieces)):
            raise FormatError("a streamed model goes on after its last tensor: fetch the model again.")
