# SPDX-License-Identifier: Apache-2.0
"""A member's secrets in a file: written completely or not at all, private, and never printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from blockful_py.committee import codec, keystore
from blockful_py.committee.keystore import MemberKeys
from blockful_py.crypto import curve, passphrase
from blockful_py.crypto.curve import N
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.threshold.local import generate_key
from blockful_py.errors import KeystoreError

WORDS = "correct horse battery staple"
CHEAP = KdfCost(1 << 15)
SHARE = generate_key(3, 4, b"keystore", [SeededRng(b"keystore", n) for n in range(4)])[0]
KEYS = MemberKeys.generate(SeededRng(b"member"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "member.json"


def test_round_trip(path: Path) -> None:
    keystore.create(path, KEYS, WORDS, CHEAP)
    assert keystore.load(path, WORDS) == KEYS
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert json.loads(path.read_bytes())["label"] == "0x" + KEYS.address.hex()


def test_secrets_are_in_no_representation_and_not_in_the_file() -> None:
    secrets = (KEYS.voting_secret, KEYS.vrf_secret, KEYS.account_secret)
    data = keystore.lock(KEYS, WORDS, CHEAP)
    for secret in secrets:
        for shown in (repr(KEYS), str(KEYS)):
            assert str(secret) not in shown
            assert f"{secret:x}" not in shown
        assert f"{secret:x}".encode() not in data
        assert secret.to_bytes(32, "big").hex().encode() not in data


def test_keys_have_their_roles() -> None:
    assert KEYS.address == curve.address(curve.multiply_base(KEYS.voting_secret))
    assert KEYS.account == curve.address(curve.multiply_base(KEYS.account_secret))
    assert MemberKeys.generate() != MemberKeys.generate()


def test_a_keystore_is_never_replaced_by_a_new_one(path: Path) -> None:
    keystore.create(path, KEYS, WORDS, CHEAP)
    before = path.read_bytes()
    with pytest.raises(KeystoreError, match="exists already"):
        keystore.create(path, MemberKeys.generate(), WORDS, CHEAP)
    assert path.read_bytes() == before


def test_a_keystore_that_others_may_read_is_refused(path: Path) -> None:
    keystore.create(path, KEYS, WORDS, CHEAP)
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(KeystoreError, match=f"mode {mode:o}.: chmod 600"):
            keystore.load(path, WORDS)


def test_a_missing_file_and_a_missing_folder_are_errors(path: Path) -> None:
    with pytest.raises(KeystoreError, match=r"cannot be read \(No such file"):
        keystore.load(path, WORDS)
    with pytest.raises(KeystoreError, match="cannot be written: No such file"):
        keystore.create(path / "deeper.json", KEYS, WORDS, CHEAP)


def test_a_crash_while_writing_leaves_no_keystore(path: Path) -> None:
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from blockful_py.committee import keystore\n"
        "from blockful_py.crypto.passphrase import KdfCost\n"
        "os.fsync = lambda descriptor: os.kill(os.getpid(), 9)\n"
        "keys = keystore.MemberKeys.generate()\n"
        "keystore.create(Path(sys.argv[1]), keys, 'five words of a passphrase', KdfCost(1 << 15))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -9
    assert not path.exists()


def test_other_content_under_the_right_passphrase_is_named() -> None:
    for plain in (b"{}", b"", b"7", codec.encode(SHARE)):
        data = passphrase.lock(plain, WORDS, "", CHEAP)
        with pytest.raises(KeystoreError, match="does not hold a member's secrets"):
            keystore.unlock(data, WORDS)


def test_secrets_that_do_not_fit_are_refused() -> None:
    for secret in (0, N, -1):
        with pytest.raises(ValueError, match="order of secp256k1"):
            MemberKeys(secret, 1, 2)
        with pytest.raises(ValueError, match="order of secp256k1"):
            MemberKeys(1, secret, 2)
        with pytest.raises(ValueError, match="order of secp256k1"):
            MemberKeys(1, 2, secret)
    for secrets in ((5, 5, 6), (5, 6, 5), (6, 5, 5)):
        with pytest.raises(ValueError, match="three keys"):
            MemberKeys(*secrets)
