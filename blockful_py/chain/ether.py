# SPDX-License-Identifier: Apache-2.0
"""Converts amounts between decimal ether and integer wei."""

from __future__ import annotations

import re

from blockful_py.errors import SettingsError

DECIMALS = 18
WEI = 10**18
"""Wei in one ether."""

_AMOUNT = re.compile(r"\d{1,12}(\.\d{1,18})?\Z", re.ASCII)


def parse_ether(text: str) -> int:
    """Parses an amount of ether into wei.  Raises SettingsError for anything but a decimal such as 1.5."""
    if not _AMOUNT.match(text):
        raise SettingsError(f"{text!r} is not an amount of ether such as 1 or 1.5.")
    whole, _, rest = text.partition(".")
    return int(whole) * WEI + int(rest.ljust(DECIMALS, "0"))


def format_ether(wei: int) -> str:
    """The shortest decimal that `parse_ether` reads as `wei`."""
    whole, rest = divmod(wei, WEI)
    return f"{whole}.{rest:018}".rstrip("0").rstrip(".") if rest else str(whole)
