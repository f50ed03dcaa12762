# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest

from blockful_py.unlearning.audit.disclosure import disclosed_bits


@pytest.mark.parametrize(
    ("document", "bits"),
    [
        ({}, 0),
        ({"method": "retrain", "figures": [0.25, 17]}, 4 * (5 + 3)),
        ([-1.5, 1e-05], 4 * (5 + 6)),
        ([None, True, math.inf], 3 * 12),
        ({"samples": "ab" * 32}, 256),
        ({"weights": "0x" + "01" * 32}, 256),
    ],
)
def test_it_counts_what_figures_are_written_with(document: object, bits: int) -> None:
    assert disclosed_bits(document) == bits


@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_there_are_no_more_documents_than_the_bits_tell_apart(decimals: int) -> None:
    documents = {round(n / 10**decimals, decimals) for n in range(10**decimals + 1)}
    assert 2 ** max(map(disclosed_bits, documents)) >= len(documents)
