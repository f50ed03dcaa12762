# SPDX-License-Identifier: Apache-2.0
"""Encodes values as JSON and decodes them: dataclasses as objects, numbers and bytes as hexadecimal text.

Decoding is strict, because anybody may have sent the bytes.  An object has exactly the fields of its type;
numbers are below 2^256 and have no leading zeros; bytes have the length in the annotation of their field
(`types.Length`); no key occurs twice.  Every value has one encoding, so equal values are equal bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from blockful_py.bounded_json import parse_json
from blockful_py.errors import MessageError
from blockful_py.types import Length

Value = TypeVar("Value")

MAX_DEPTH = 24
"""Maximum nesting of arrays and objects, about twice the depth of the deepest message."""
SPARE_VALUES, BYTES_PER_VALUE = 1024, 24
"""Maximum values in a document: SPARE_VALUES, plus one for each BYTES_PER_VALUE bytes.

Without a limit, `[[],[],…]` takes 25 times its size in memory.
"""
_NUMBER = re.compile(r"0x(0|[1-9a-f][0-9a-f]{0,63})\Z")
_BYTES = re.compile(r"0x([0-9a-f]{2})*\Z")


def encode(value: Any) -> bytes:
    """The canonical encoding of a value."""
    return json.dumps(_plain(value), separators=(",", ":"), sort_keys=True).encode()


def decode(kind: type[Value], data: bytes) -> Value:
    """Inverse of `encode`.  Raises MessageError with the field at fault for any other bytes."""
    try:
        _require_sparse(data)
        document = parse_json(
            data, MAX_DEPTH, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_refuse
        )
    except ValueError as error:
        raise MessageError(f"a message is not valid JSON: {error}") from None
    typed = _typed(kind, document, kind.__name__, 0)
    if encode(typed) != data:
        raise MessageError("a message is not in its canonical encoding.")
    value: Value = typed
    return value


def _require_sparse(data: bytes) -> None:
    """Limits the number of values in a document.

    Raises ValueError when it has more values than any message of its length has.
    """
    values = sum(map(data.count, (b",", b"[", b"{")))
    if values > SPARE_VALUES + len(data) // BYTES_PER_VALUE:
        raise ValueError(f"it has {values} values in {len(data)} bytes")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, str):
        return value
    return hex(value)


def _typed(kind: Any, value: Any, where: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise MessageError(f"{where} is nested too deeply.")
    if get_origin(kind) is tuple:
        return _sequence(get_args(kind), _of(list, value, where), where, depth + 1)
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, _of(dict, value, where), where, depth + 1)
    text = _of(str, value, where)
    if kind is str:
        return text
    if get_origin(kind) is Annotated:
        return _sized(_matching(_BYTES, text, where), get_args(kind)[1], where)
    if kind is bytes:
        raise TypeError(f"{where} has no length: annotate it, as types.Bytes32 is")
    number = int(_matching(_NUMBER, text, where), 16)
    if kind is int:
        return number
    if number not in (list(kind) if issubclass(kind, IntEnum) else (0, 1)):
        raise MessageError(f"{where} is {number}, which is no {kind.__name__}.")
    return kind(number)


def _record(kind: type, value: dict[str, Any], where: str, depth: int) -> Any:
    types = _types(kind)
    if value.keys() != types.keys():
        wrong = sorted(value.keys() ^ types.keys())
        raise MessageError(f"{where} has missing or unknown fields: {', '.join(wrong)[:200]}")
    parts = {name: _typed(types[name], value[name], f"{where}.{name}", depth) for name in types}
    try:
        return kind(**parts)
    except ValueError as error:
        raise MessageError(f"{where}: {error}") from None


def _sequence(kinds: Sequence[Any], values: list[Any], where: str, depth: int) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = [kinds[0]] * len(values)
    if len(kinds) != len(values):
        raise MessageError(f"{where} has {len(values)} items, {len(kinds)} were expected.")
    return tuple(
        _typed(kind, value, f"{where}[{number}]", depth)
        for number, (kind, value) in enumerate(zip(kinds, values, strict=True))
    )


def _sized(text: str, length: Length, where: str) -> bytes:
    value = bytes.fromhex(text[2:])
    if not length.least <= len(value) <= length.most:
        raise MessageError(f"{where} has {len(value)} bytes, {length} were expected.")
    return value


def _matching(pattern: re.Pattern[str], text: str, where: str) -> str:
    if not pattern.match(text):
        raise MessageError(f"{where} is not canonical hexadecimal.")
    return text


def _of(kind: type[Value], value: Any, where: str) -> Value:
    if type(value) is not kind:
        raise MessageError(f"{where} is a {type(value).__name__}, a {kind.__name__} was expected.")
    return value


@cache
def _types(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _refuse(text: str) -> Any:
    raise ValueError(f"{text[:20]} is not a value of any message")
