# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from blockful_py.crypto import secretbox
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import CryptoError

KEY, OTHER = bytes([1]) * 32, bytes([2]) * 32
BOX = secretbox.lock(KEY, b"context", b"a secret", SeededRng(b"nonce"))


@pytest.mark.parametrize("plain", [b"", b"x", bytes(1000)])
def test_what_is_locked_is_unlocked(plain: bytes) -> None:
    box = secretbox.lock(KEY, b"context", plain)
    assert secretbox.unlock(KEY, b"context", box) == plain
    assert len(box) == len(plain) + secretbox.OVERHEAD


def test_two_boxes_of_one_secret_differ() -> None:
    assert secretbox.lock(KEY, b"", b"a secret") != secretbox.lock(KEY, b"", b"a secret")


@pytest.mark.parametrize(("key", "context"), [(OTHER, b"context"), (KEY, b"another context")])
def test_another_key_or_context_opens_nothing(key: bytes, context: bytes) -> None:
    with pytest.raises(CryptoError, match="damaged, or of another key or context"):
        secretbox.unlock(key, context, BOX)


@pytest.mark.parametrize("place", range(len(BOX)))
def test_every_flipped_bit_is_refused(place: int) -> None:
    box = BOX[:place] + bytes([BOX[place] ^ 1]) + BOX[place + 1 :]
    with pytest.raises(CryptoError):
        secretbox.unlock(KEY, b"context", box)


@pytest.mark.parametrize("size", [0, secretbox.OVERHEAD - 1])
def test_a_box_that_is_too_short_is_told(size: int) -> None:
    with pytest.raises(CryptoError, match=f"has 28 bytes or more, this has {size}"):
        secretbox.unlock(KEY, b"context", BOX[:size])


def test_a_secret_gives_another_key_for_each_purpose() -> None:
    keys = {secretbox.derive(secret, purpose) for secret in (1, 2) for purpose in (b"a", b"b")}
    assert len(keys) == 4
    assert secretbox.derive(1, b"a") in keys
