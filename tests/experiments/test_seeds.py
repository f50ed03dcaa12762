# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_lab.experiments.seeds import parse_seeds
from blockful_py.errors import SettingsError


def test_ranges_and_numbers() -> None:
    assert parse_seeds(["5-8", "11,6"]) == (5, 6, 7, 8, 11)
    assert parse_seeds(["0-2"], tuning=True) == (0, 1, 2)


@pytest.mark.parametrize(
    ("texts", "tuning", "message"),
    [
        (["2-5"], False, "seeds 2 are for tuning"),
        (["1", "5"], True, "seeds 5 are for reporting"),
        (["five"], False, "not 'five'"),
        (["8-5"], False, "8-5 of seeds is empty"),
        ([], False, "needs seeds"),
    ],
)
def test_seeds_that_are_none_or_of_the_other_kind(texts: list[str], tuning: bool, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_seeds(texts, tuning)
