# SPDX-License-Identifier: Apache-2.0
"""Bytes under a passphrase: errors name the fault, and hostile parameters are not computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from blockful_py.crypto import passphrase
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import KeystoreError

WORDS = "correct horse battery staple"
PLAIN = b"secrets of a member"
CHEAP = KdfCost(1 << 15)


@pytest.fixture(scope="module")
def locked() -> bytes:
    return passphrase.lock(PLAIN, WORDS, "0x1234", CHEAP, SeededRng(b"passphrase"))


def altered(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """As somebody would alter it who computes the checksum anew."""
    document = json.loads(data)
    change(document)
    document.pop("checksum", None)
    body = json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    document["checksum"] = hashlib.sha256(body).hexdigest()
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def test_round_trip(locked: bytes) -> None:
    assert passphrase.unlock(locked, WORDS) == PLAIN
    assert json.loads(locked)["label"] == "0x1234"
    assert altered(locked, lambda document: None) == locked
    assert PLAIN not in locked
    assert PLAIN.hex().encode() not in locked


def test_two_locks_of_one_secret_share_nothing() -> None:
    first, second = (json.loads(passphrase.lock(PLAIN, WORDS, "", CHEAP)) for _ in range(2))
    for name in ("ciphertext", "tag", "kdf", "cipher", "checksum"):
        assert first[name] != second[name]


def test_the_key_is_scrypt_of_rfc_7914(locked: bytes) -> None:
    from Crypto.Cipher import AES

    document = json.loads(locked)
    salt = bytes.fromhex(document["kdf"]["salt"])
    key = hashlib.scrypt(WORDS.encode(), salt=salt, n=1 << 15, r=8, p=1, dklen=32, maxmem=1 << 26)
    nonce = bytes.fromhex(document["cipher"]["nonce"])
    cipher: Any = AES.new(key, AES.MODE_GCM, nonce=nonce)
    assert cipher.decrypt(bytes.fromhex(document["ciphertext"])) == PLAIN


def test_the_default_takes_128_mebibytes() -> None:
    cost = KdfCost()
    assert 128 * cost.n * cost.r == 128 << 20


def test_one_passphrase_in_two_spellings_of_unicode() -> None:
    data = passphrase.lock(PLAIN, "passwo\u0308rter", "", CHEAP)
    assert passphrase.unlock(data, "passw\u00f6rter") == PLAIN


@pytest.mark.parametrize("words", ["", "Correct horse battery staple", WORDS + " "])
def test_a_wrong_passphrase_is_named(locked: bytes, words: str) -> None:
    with pytest.raises(KeystoreError, match="the passphrase is wrong"):
        passphrase.unlock(locked, words)


def test_a_short_passphrase_is_refused() -> None:
    with pytest.raises(KeystoreError, match="7 characters: take 8 or more"):
        passphrase.lock(PLAIN, "1234567", "", CHEAP)


@pytest.mark.parametrize("label", ["{", "two words", "a" * 101, "\n", "0x1234\n"])
def test_a_label_is_a_plain_name(label: str) -> None:
    with pytest.raises(ValueError, match="cannot be the label"):
        passphrase.lock(PLAIN, WORDS, label, CHEAP)


def test_every_truncation_is_damage(locked: bytes) -> None:
    for size in range(len(locked)):
        with pytest.raises(KeystoreError, match="the keystore is damaged"):
            passphrase.unlock(locked[:size], WORDS)


def test_every_flipped_bit_is_damage(locked: bytes) -> None:
    for place in range(len(locked)):
        for bit in range(8):
            flipped = bytearray(locked)
            flipped[place] ^= 1 << bit
            with pytest.raises(KeystoreError, match="the keystore is damaged"):
                passphrase.unlock(bytes(flipped), WORDS)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{}\n",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        b" " * (1 << 21),
    ],
)
def test_what_is_no_keystore_is_damage(data: bytes) -> None:
    with pytest.raises(KeystoreError, match="the keystore is damaged"):
        passphrase.unlock(data, WORDS)


def flip(text: str) -> str:
    return ("1" if text[0] == "0" else "0") + text[1:]


ALTERATIONS: dict[str, Callable[[dict[str, Any]], None]] = {
    "label": lambda d: d.update(label="0x9999"),
    "salt": lambda d: d["kdf"].update(salt=flip(d["kdf"]["salt"])),
    "n": lambda d: d["kdf"].update(n=1 << 16),
    "p": lambda d: d["kdf"].update(p=2),
    "nonce": lambda d: d["cipher"].update(nonce=flip(d["cipher"]["nonce"])),
    "ciphertext": lambda d: d.update(ciphertext=flip(d["ciphertext"])),
    "shorter ciphertext": lambda d: d.update(ciphertext=d["ciphertext"][2:]),
    "no ciphertext": lambda d: d.update(ciphertext=""),
    "tag": lambda d: d.update(tag=flip(d["tag"])),
}


@pytest.mark.parametrize("what", ALTERATIONS)
def test_an_alteration_with_a_right_checksum_does_not_pass_the_tag(locked: bytes, what: str) -> None:
    with pytest.raises(KeystoreError, match="altered on purpose"):
        passphrase.unlock(altered(locked, ALTERATIONS[what]), WORDS)


MALFORMED: dict[str, Callable[[dict[str, Any]], None]] = {
    "another kdf": lambda d: d["kdf"].update(name="pbkdf2"),
    "another cipher": lambda d: d["cipher"].update(name="aes-128-gcm"),
    "a short salt": lambda d: d["kdf"].update(salt="00"),
    "a long nonce": lambda d: d["cipher"].update(nonce="00" * 16),
    "a short tag": lambda d: d.update(tag=d["tag"][:24]),
    "a field more": lambda d: d["kdf"].update(pepper=1),
    "a field less": lambda d: d.pop("label"),
    "a list as kdf": lambda d: d.update(kdf=[]),
    "capitals": lambda d: d.update(tag="AB" * 16),
    "a number as label": lambda d: d.update(label=5),
    "a sentence as label": lambda d: d.update(label="two words"),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_field_is_named_damage(locked: bytes, what: str) -> None:
    with pytest.raises(KeystoreError, match="the keystore is damaged"):
        passphrase.unlock(altered(locked, MALFORMED[what]), WORDS)


def test_another_format_is_named(locked: bytes) -> None:
    later = altered(locked, lambda document: document.update(format="blockful-keystore/2"))
    with pytest.raises(KeystoreError, match="of format blockful-keystore/2, this program reads"):
        passphrase.unlock(later, WORDS)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n", 1 << 14), ("n", 1 << 19), ("n", 1 << 40), ("n", 100_000), ("n", -1), ("n", 32768.0), ("n", "2"),
     ("n", True), ("r", 1), ("r", 1 << 30), ("p", 0), ("p", 5), ("p", 1 << 30), ("p", None)],
)  # fmt: skip
def test_costs_out_of_bounds_are_refused_before_anything_is_computed(
    locked: bytes, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: object) -> bytes:
        raise AssertionError("scrypt was called")

    monkeypatch.setattr(passphrase, "scrypt", computed)
    hostile = altered(locked, lambda document: document["kdf"].update({name: value}))
    with pytest.raises(KeystoreError, match="is not allowed"):
        passphrase.unlock(hostile, WORDS)
