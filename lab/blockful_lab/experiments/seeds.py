# SPDX-License-Identifier: Apache-2.0
"""Seeds as a user writes them, kept apart: those for tuning are never reported."""

from __future__ import annotations

from collections.abc import Iterable

from blockful_lab.experiments.protocol import TUNING_SEEDS
from blockful_py.errors import SettingsError


def parse_seeds(texts: Iterable[str], tuning: bool = False) -> tuple[int, ...]:
    """Parses seeds: `["5-8", "11"]` is 5, 6, 7, 8, 11; ascending, each once.

    Raises:
        SettingsError: no seed, not a number, or seeds of the other kind: 0 to 2 are for tuning only.
    """
    seeds = sorted({seed for text in texts for part in text.split(",") for seed in _range(part.strip())})
    if not seeds:
        raise SettingsError("an experiment needs seeds, e.g. --seeds 5-8.")
    wrong = [str(seed) for seed in seeds if (seed in TUNING_SEEDS) != tuning]
    if wrong and tuning:
        raise SettingsError(f"seeds {', '.join(wrong)} are for reporting: tune on 0 to 2 only.")
    if wrong:
        raise SettingsError(
            f"seeds {', '.join(wrong)} are for tuning, and are not reported: choose others, or say --tuning."
        )
    return tuple(seeds)


def _range(text: str) -> range:
    first, dash, last = text.partition("-")
    try:
        low = int(first)
        high = int(last) if dash else low
    except ValueError:
        raise SettingsError(f"seeds are numbers or ranges such as 5-8, not {text!r}.") from None
    if high < low:
        raise SettingsError(f"the range {text} of seeds is empty.")
    return range(low, high + 1)
