# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys

import pytest
from Crypto.Hash import keccak as pycryptodome

from blockful_py.crypto import keccak as module
from blockful_py.crypto.keccak import keccak, selector, word, words


def test_empty_input() -> None:
    assert keccak(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"


@pytest.mark.parametrize("size", [1, 31, 135, 136, 137, 1000])
def test_equals_pycryptodome_around_the_sponge_rate(size: int) -> None:
    data = bytes(i % 251 for i in range(size))
    assert keccak(data) == pycryptodome.new(digest_bits=256, data=data).digest()


def test_the_portable_backend_is_chosen_without_the_fast_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sha3", None)
    chosen = module._backend()
    assert chosen is module._portable
    assert chosen(b"data") == keccak(b"data")


def test_selector_of_erc20_transfer() -> None:
    assert selector("transfer(address,uint256)").hex() == "a9059cbb"


def test_words_pad_numbers_and_addresses_on_the_left() -> None:
    encoded = words(1, b"\xaa" * 20, b"\xbb" * 32)
    assert encoded == bytes(31) + b"\x01" + bytes(12) + b"\xaa" * 20 + b"\xbb" * 32


@pytest.mark.parametrize("value", [b"", b"\x00" * 31, b"\x00" * 33, b"\x00" * 4])
def test_other_lengths_are_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        word(value)


@pytest.mark.parametrize("value", [-1, 2**256])
def test_numbers_out_of_range_are_refused(value: int) -> None:
    with pytest.raises(OverflowError):
        word(value)
