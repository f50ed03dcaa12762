# SPDX-License-Identifier: Apache-2.0
"""Parses untrusted JSON after checking its nesting depth, as the parser is recursive.

Such a parser stops at the interpreter's recursion limit, which libraries raise for everybody (py_ecc, below
web3, to 100,000): further than the stack of a process reaches, so that a document could end it.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

MAX_DEPTH = 64
"""Arrays and objects inside each other."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"++--")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))
_DOWN = ord("+")


def require_shallow(data: bytes, depth: int = MAX_DEPTH) -> None:
    """Raises ValueError when brackets outside strings are nested more than `depth` deep."""
    brackets = _STRING.sub(b"", data).translate(_STEPS, _NO_BRACKETS)
    if max(accumulate(1 if step == _DOWN else -1 for step in brackets), default=0) > depth:
        raise ValueError(f"it is nested more than {depth} levels deep")


def parse_json(data: bytes | str, depth: int = MAX_DEPTH, **options: Any) -> Any:
    """`json.loads` of a document that is nested at most `depth` deep.  Raises ValueError for any other."""
    text = data.decode() if isinstance(data, bytes) else data
    require_shallow(text.encode("utf-8", "surrogatepass"), depth)
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("it is nested deeper than the interpreter goes") from None
