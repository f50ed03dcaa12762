# SPDX-License-Identifier: Apache-2.0
"""Bounds the information that published figures disclose about the measured data."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

DIGEST = re.compile(r"(0x)?[0-9a-f]{64}")

SYMBOL_BITS = 4
"""Bits per symbol, of 16: ten digits, `-`, `+`, `.`, `e`, the end of a number, and a mark for a non-number.
"""


def disclosed_bits(document: Any) -> int:
    """Upper bound, in bits, on the information in a JSON document's figures for readers who know the rest.

    A number counts 4 bits per character and 4 for its end; null, a boolean or an infinity 12; a SHA-256 256.
    Other texts (names, commands) and the lengths of lists count 0: they must not depend on the data. There
    are at most 2^b documents of b bits.  A document therefore makes a correct guess of the data at most `2^b`
    times as likely, on average over documents (min-entropy leakage, Smith 2009).
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
