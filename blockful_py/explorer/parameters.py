# SPDX-License-Identifier: Apache-2.0
"""Query parameters, checked against their bounds."""

from __future__ import annotations

import re
from collections.abc import Collection

from starlette.datastructures import QueryParams

MAX_TEXT = 100
MAX_STARTS = 50


class BadParameterError(Exception):
    """An invalid query parameter; answered with status 400."""


def number(query: QueryParams, name: str, default: int, low: int, high: int) -> int:
    """A number within [low, high].  Raises BadParameterError."""
    text = query.get(name)
    if text is None:
        return default
    if len(text) > 16 or not (text.isascii() and text.isdigit()) or not low <= int(text) <= high:
        raise BadParameterError(f"{name} is a number from {low} to {high}")
    return int(text)


def text_of(query: QueryParams, name: str) -> str:
    """A short text.  Raises BadParameterError if it is too long."""
    text = query.get(name, "").strip()
    if len(text) > MAX_TEXT:
        raise BadParameterError(f"{name} has at most {MAX_TEXT} characters")
    return text


def one_of(query: QueryParams, name: str, default: str, values: Collection[str]) -> str:
    """One of `values`.  Raises BadParameterError."""
    chosen = query.get(name, default)
    if chosen not in values:
        raise BadParameterError(f"{name} is one of {', '.join(values)}")
    return chosen


def places_of(query: QueryParams, name: str, least: int, most: int) -> list[str]:
    """Names or positions of models.  Raises BadParameterError."""
    listed = query.getlist(name)
    if not least <= len(listed) <= most:
        many = str(most) if least == most else f"{least} to {most}"
        raise BadParameterError(f"name {many} models as {name}, by name or position")
    return listed


def address_of(query: QueryParams) -> bytes:
    """An account, 20 bytes.  Raises BadParameterError."""
    text = query.get("address", "")
    if not re.fullmatch(r"0x[0-9a-fA-F]{40}", text):
        raise BadParameterError("address is an account such as 0x12...ef, of 20 bytes")
    return bytes.fromhex(text[2:])


def key_of(text: str) -> bytes:
    """Key of a request, 32 bytes.  Raises BadParameterError."""
    try:
        key = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        key = b""
    if len(key) != 32:
        raise BadParameterError("the key of a request has 32 bytes in hexadecimal")
    return key
