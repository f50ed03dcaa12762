# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.curve import N
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.response import Responder
from blockful_py.errors import CryptoError


def test_answers_equal_the_equation() -> None:
    rng = SeededRng(b"response")
    x, weight = curve.random_scalar(rng), curve.random_scalar(rng)
    responder = Responder(x, weight)
    for item in range(32):
        d, e, rho, inverse = (curve.random_scalar(rng) for _ in range(4))
        sigma = -1 if item % 2 else 1
        expected = (sigma * (d + rho * e) + weight * x * inverse) % N
        assert responder.answer((d, e), rho, sigma == -1, inverse) == expected


@pytest.mark.parametrize(("secret", "weight"), [(0, 1), (N, 1), (1, 0), (1, N)])
def test_a_share_out_of_range_is_refused(secret: int, weight: int) -> None:
    with pytest.raises(CryptoError):
        Responder(secret, weight)


@pytest.mark.parametrize(
    ("pair", "rho", "inverse"),
    [
        ((1, 1), 0, 1),
        ((1, 1), N, 1),
        ((N, 1), 1, 1),
        ((1, 0), 1, 1),
        ((1, N), 1, 1),
        ((1, 1), 1, 0),
        ((1, N - 1), 1, 1),
        ((1, 1), 1, N - 2),
    ],
    ids=[
        "rho 0",
        "rho n",
        "d n",
        "e 0",
        "e n",
        "inverse 0",
        "nonce cancels",
        "answer cancels",
    ],
)
def test_zero_and_numbers_out_of_range_are_refused_and_leave_nothing_behind(
    pair: tuple[int, int], rho: int, inverse: int
) -> None:
    responder = Responder(1, 1)
    with pytest.raises(CryptoError, match="repeat"):
        responder.answer(pair, rho, False, inverse)
    assert responder.answer((2, 3), 5, True, 7) == (7 - 17) % N
