# SPDX-License-Identifier: Apache-2.0
"""The laws of a chameleon hash, single and shared."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.curve import N, P
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.local import generate_key
from blockful_py.crypto.threshold.messages import Task
from blockful_py.crypto.threshold.signing import ThresholdSigner
from blockful_py.types import Opening
from tests.crypto import slow_curve
from tests.crypto.committee import collide_together
from tests.crypto.drawn import drawn_hash

SECRETS = st.integers(1, N - 1)
DIGESTS = st.binary(min_size=32, max_size=32)
NUMBERS = st.integers(-2, 2**256 + 2) | st.sampled_from([0, 1, N - 1, N, N + 1, P, 2**256 - 1])


@given(SECRETS, DIGESTS, DIGESTS, DIGESTS, st.binary())
@settings(max_examples=50)
def test_a_hash_opens_to_its_message_and_to_each_collision(
    secret: int, label: bytes, first: bytes, second: bytes, seed: bytes
) -> None:
    rng = SeededRng(seed)
    key = curve.multiply_base(secret)
    h, opening = chameleon.hash_message(key, label, first)
    collision = chameleon.collide(secret, label, second, h, rng)
    assert 0 < h < N
    assert chameleon.verify(key, label, first, h, opening)
    assert chameleon.verify(key, label, second, h, collision)
    if first != second:
        assert not chameleon.verify(key, label, second, h, opening)
        assert not chameleon.verify(key, label, first, h, collision)


@given(SECRETS, DIGESTS, DIGESTS, st.integers(0, N - 1), st.binary())
@settings(max_examples=30)
def test_the_equation_of_the_design_by_the_textbook_formulas(
    secret: int, label: bytes, message: bytes, h: int, seed: bytes
) -> None:
    opening = chameleon.collide(secret, label, message, h, SeededRng(seed))
    key = curve.multiply_base(secret)
    r = (h + chameleon.phi(opening.px)) % N
    c = chameleon.challenge(curve.key_id(key), label, message, r)
    y = pow(opening.px**3 + 7, (P + 1) // 4, P)
    even = (opening.px, P - y if y & 1 else y)
    # sG = cP + Y
    left = slow_curve.multiply(slow_curve.G, opening.s)
    assert left == slow_curve.add(slow_curve.multiply(even, c), (key.x, key.y))


@given(SECRETS, DIGESTS, DIGESTS, st.binary())
@settings(max_examples=30)
def test_a_drawn_opening_is_valid_and_no_first_one(
    secret: int, label: bytes, message: bytes, seed: bytes
) -> None:
    key = curve.multiply_base(secret)
    h, opening = drawn_hash(key, label, message, SeededRng(seed))
    assert chameleon.verify(key, label, message, h, opening)
    assert chameleon.first_opening(key, label, message, h) is None


@given(SECRETS, DIGESTS, DIGESTS)
@settings(max_examples=30)
def test_the_first_opening_by_the_textbook_formulas(secret: int, label: bytes, message: bytes) -> None:
    key = curve.multiply_base(secret)
    h, opening = chameleon.hash_message(key, label, message)
    seed = keccak(chameleon.DST_FIRST + curve.key_id(key) + label + message)
    r = int.from_bytes(seed, "big") % N
    start = int.from_bytes(keccak(chameleon.DST_FIRST + seed), "big") // 64 * 64
    c = chameleon.challenge(curve.key_id(key), label, message, r)
    # P = c^-1 (sG - Y)
    points = [slow_curve.multiply(slow_curve.G, pow(c, -1, N) * (start + i - secret) % N) for i in range(8)]
    even = [i for i, point in enumerate(points) if point is not None and point[1] % 2 == 0]
    if even:
        point = points[even[0]]
        assert point is not None
        assert opening == Opening(point[0], start + even[0])
        assert h == (r - chameleon.phi(point[0])) % N
    assert chameleon.first_opening(key, label, message, h) == opening


@given(SECRETS, DIGESTS, DIGESTS, NUMBERS, NUMBERS, NUMBERS)
@settings(max_examples=100)
def test_other_numbers_are_refused_without_raising(
    secret: int, label: bytes, message: bytes, h: int, px: int, s: int
) -> None:
    key = curve.multiply_base(secret)
    assert chameleon.verify(key, label, message, h, Opening(px, s)) is False


@given(SECRETS, DIGESTS, DIGESTS, st.integers(0, 64), st.binary(max_size=3), st.binary())
@settings(max_examples=50)
def test_digests_cut_elsewhere_are_an_error(
    secret: int, label: bytes, message: bytes, cut: int, more: bytes, seed: bytes
) -> None:
    """However label and message are cut or grown, an opening holds for two digests of 32 bytes alone."""
    key = curve.multiply_base(secret)
    h, opening = chameleon.hash_message(key, label, message)
    whole = label + message + more
    if cut == 32 and not more:
        assert chameleon.verify(key, whole[:cut], whole[cut:], h, opening)
        return
    with pytest.raises(ValueError, match="32 bytes each"):
        chameleon.verify(key, whole[:cut], whole[cut:], h, opening)


@given(st.integers(1, 4), st.integers(0, 2), st.binary(), st.data())
@settings(max_examples=15)
def test_any_t_members_open_any_batch(threshold: int, spare: int, seed: bytes, data: st.DataObject) -> None:
    size = threshold + spare
    shares = generate_key(threshold, size, seed, [SeededRng(seed, i) for i in range(size)])
    count = data.draw(st.integers(threshold, size))
    chosen = sorted(data.draw(st.permutations(range(size)))[:count])
    key = shares[0].public
    rng = SeededRng(seed, "tasks")
    hashes = [(rng(32), chameleon.hash_message(key.group_key, rng(32), rng(32))[0]) for _ in range(3)]
    tasks = [Task(label, rng(32), h) for label, h in hashes]
    openings = collide_together(key, [ThresholdSigner(shares[i]) for i in chosen], b"session", tasks)
    for task, opening in zip(tasks, openings, strict=True):
        assert chameleon.verify(key.group_key, task.label, task.message, task.h, opening)
