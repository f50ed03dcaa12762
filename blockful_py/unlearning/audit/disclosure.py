# SPDX-License-Identifier: Apache-2.0
"""Bounds what publishing figures tells about the data that they were measured on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

DIGEST = re.compile(r"(0x)?[0-9a-f]{64}")

SYMBOL_BITS = 4
"""Ten digits, `-`, `+`, `.`, `e`, the end of a number, and a mark for what is no number: 16 symbols."""


def disclosed_bits(document: Any) -> int:
    """Bits that the figures of a JSON document tell at most, for readers who know its layout and its texts.

    A number counts 4 bits a character and 4 for its end; null, a boolean or an infinity 12; a SHA-256 256.
    Other texts (names, commands) and the lengths of lists count nothing: they must not depend on the data.

    Documents of at most b bits make a guess of the data at most `2^b` times as likely to be right, on
    average over documents: there are no more of them (min-entropy leakage, Smith 2009).
    """
    if isinstance(document, Mapping):
        return sum(map(disclosed_bits, document.values()))
    if isinstance(document, str):
        return 256 if DIGEST.fullmatch(document) else 0
    if isinstance(document, Sequence):
        return sum(map(disclosed_bits, document))
    if document is None or isinstance(document, bool) or not math.isfinite(document):
        return 3 * SYMBOL_BITS
    return (len(repr(document)) + 1) * SYMBOL_BITS
