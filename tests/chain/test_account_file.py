# SPDX-License-Identifier: Apache-2.0
"""Account files in the format of other Ethereum software."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from blockful_py.chain.account_file import MAX_SIZE, address_in, create, secret_in
from blockful_py.crypto import curve
from blockful_py.errors import KeystoreError

WORDS = "five words are better yet"
WORK = 1 << 10


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "account.json"
    create(path, WORDS, WORK)
    return path


def test_an_account_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "account.json"
    address = create(path, WORDS, WORK)
    assert address_in(path) == address
    assert curve.address(curve.multiply_base(secret_in(path, WORDS))) == address
    assert path.stat().st_mode & 0o777 == 0o600


def test_other_software_opens_it(path: Path) -> None:
    assert int.from_bytes(Account.decrypt(path.read_text(), WORDS), "big") == secret_in(path, WORDS)


@pytest.mark.parametrize("kdf", ["scrypt", "pbkdf2"])
def test_what_other_software_wrote_is_opened(tmp_path: Path, kdf: Any) -> None:
    path = tmp_path / "theirs.json"
    document = Account.encrypt((5).to_bytes(32, "big"), WORDS, kdf=kdf, iterations=WORK)
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    assert secret_in(path, WORDS) == 5


def test_an_account_is_never_replaced(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(KeystoreError, match="exists already"):
        create(path, WORDS, WORK)
    assert path.read_bytes() == before


def test_a_short_passphrase_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeystoreError, match="has 5 characters: take 8 or more"):
        create(tmp_path / "account.json", "short", WORK)
    assert not (tmp_path / "account.json").exists()


def test_another_passphrase_does_not_open_it(path: Path) -> None:
    with pytest.raises(KeystoreError, match="does not open"):
        secret_in(path, WORDS + "!")


def test_a_file_that_others_may_read_is_refused(path: Path) -> None:
    path.chmod(0o640)
    with pytest.raises(KeystoreError, match="chmod 600"):
        secret_in(path, WORDS)


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(KeystoreError, match="blockful account create"):
        address_in(tmp_path / "nothing.json")


def changed(path: Path, place: str, value: Any) -> None:
    document = json.loads(path.read_text())
    *way, last = place.split(".")
    part = document
    for name in way:
        part = part[name]
    if value is None:
        del part[last]
    else:
        part[last] = value
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("version", 4, "is not a keystore"),
        ("address", None, "its `address` is missing"),
        ("address", "zz" * 20, "its `address` is missing"),
        ("address", "00" * 20, "names account 0x0000"),
        ("crypto", None, "no `crypto.kdfparams`"),
        ("crypto.kdfparams.n", 1 << 30, "asks for n = 1073741824"),
        ("crypto.kdfparams.n", "many", "asks for n = many"),
        ("crypto.kdfparams.r", 4096, "asks for r = 4096"),
        ("crypto.kdfparams.salt", None, "is not a keystore"),
        ("crypto.kdf", "sha", "is not a keystore"),
        ("crypto.ciphertext", "00" * 32, "does not open"),
    ],
)
def test_damage_is_named(path: Path, place: str, value: Any, reason: str) -> None:
    changed(path, place, value)
    with pytest.raises(KeystoreError, match=reason):
        secret_in(path, WORDS)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"[" * 10_000, b"{}" + b" " * MAX_SIZE])
def test_what_is_no_keystore_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(KeystoreError, match="is not a keystore"):
        address_in(path)
