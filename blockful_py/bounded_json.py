# SPDX-License-Identifier: Apache-2.0
"""Parses untrusted JSON after checking its nesting depth.

`json.loads` is recursive and stops at the interpreter's recursion limit.  Libraries raise that limit for the
whole process (py_ecc, which web3 needs, to 100,000), beyond the depth of the process's stack, so a deeply
nested document could crash it.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import Any

MAX_DEPTH = 64
"""Maximum nesting depth of arrays and objects."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"++--")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))
_DOWN = ord("+")


def require_shallow(data: bytes, depth: int = MAX_DEPTH) -> None:
    """Rejects JSON that nests brackets, outside strings, deeper than `depth`.  Raises ValueError."""
    brackets = _STRING.sub(b"", data).translate(_STEPS, _NO_BRACKETS)
    if max(accumulate(1 if step == _DOWN else -1 for step in brackets), default=0) > depth:
        raise ValueError(f"it is nested more than {depth} levels deep")


def parse_json(data: bytes | str, depth: int = MAX_DEPTH, **options: Any) -> Any:
    """Parses a document with `json.loads`.  Raises ValueError if it is nested deeper than `depth`."""
    text = data.decode() if isinstance(data, bytes) else data
    require_shallow(text.encode("utf-8", "surrogatepass"), depth)
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("it is nested too deep for the interpreter") from None
