# SPDX-License-Identifier: Apache-2.0
"""A member's data keys at rest; destroyed ones cannot be decrypted."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import ModuleType

import pytest

from blockful_py import whole_file
from blockful_py.committee import vault as room
from blockful_py.committee.vault import RECORD_BYTES, Vault
from blockful_py.errors import KeyDestroyedError, KeystoreError

SECRET = 7
KEYS = {bytes([number]) * 32: bytes([number + 100]) * 32 for number in range(1, 5)}
FIRST, SECOND, *REST = KEYS


class PowerCut(BaseException):
    """A simulated power cut, which no code handles."""


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    found = Vault(tmp_path / "vault", SECRET)
    found.put(KEYS)
    return found


def again(vault: Vault) -> Vault:
    """The vault, opened by another process."""
    return Vault(vault.directory, SECRET)


def files(vault: Vault) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in vault.directory.iterdir() if path.name != "lock"}


def test_what_is_put_is_there_for_every_process(vault: Vault) -> None:
    assert {version: again(vault).get(version) for version in KEYS} == KEYS
    assert vault.versions() == KEYS.keys()


def test_a_key_that_was_never_put_is_missing(vault: Vault) -> None:
    with pytest.raises(KeyDestroyedError, match="has no key of version 09"):
        vault.get(bytes([9]) * 32)


def test_no_key_stands_in_a_file(vault: Vault) -> None:
    assert not any(key in data for key in KEYS.values() for data in files(vault).values())


def test_putting_twice_changes_nothing(vault: Vault) -> None:
    before = files(vault)
    vault.put(KEYS)
    assert files(vault) == before


def test_another_key_of_a_version_is_refused(vault: Vault) -> None:
    with pytest.raises(KeystoreError, match="another key of version"):
        vault.put({FIRST: bytes(32)})
    assert vault.get(FIRST) == KEYS[FIRST]


def test_what_another_process_puts_and_destroys_is_seen(vault: Vault) -> None:
    other = again(vault)
    other.put({bytes([8]) * 32: bytes(32)})
    assert vault.get(bytes([8]) * 32) == bytes(32)
    other.destroy([bytes([8]) * 32])
    with pytest.raises(KeyDestroyedError):
        vault.get(bytes([8]) * 32)


def test_a_destroyed_key_is_gone_and_the_others_stay(vault: Vault) -> None:
    assert vault.destroy([FIRST, bytes([9]) * 32]) == {FIRST}
    assert again(vault).versions() == KEYS.keys() - {FIRST}
    assert {version: vault.get(version) for version in (SECOND, *REST)} == {
        version: KEYS[version] for version in (SECOND, *REST)
    }
    with pytest.raises(KeyDestroyedError):
        vault.get(FIRST)


def test_destroying_what_is_not_there_changes_nothing(vault: Vault) -> None:
    before = files(vault)
    assert vault.destroy([bytes([9]) * 32]) == frozenset()
    assert files(vault) == before


@pytest.mark.parametrize("mixed", ["records of before", "records of before under the new name"])
def test_records_of_before_and_the_disk_of_after_open_nothing(
    vault: Vault, tmp_path: Path, mixed: str
) -> None:
    """The secret is known as well, as to anybody with the member's passphrase."""
    records = (vault.directory / "keys-1").read_bytes()
    vault.destroy([FIRST])
    assert sorted(files(vault)) == ["kek-2", "keys-2"]
    thief = tmp_path / "thief"
    shutil.copytree(vault.directory, thief)
    name = "keys-1" if mixed == "records of before" else "keys-2"
    (thief / name).write_bytes(records)
    with pytest.raises((KeyDestroyedError, KeystoreError)):
        Vault(thief, SECRET).get(FIRST)


def test_keys_are_exchanged_at_once(vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut leaves all old keys; afterwards records of before open no exchanged key."""
    fresh, copy = {FIRST: bytes([9]) * 32, bytes([8]) * 32: bytes([10]) * 32}, tmp_path / "copy"

    def cut(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as power:
        power.setattr(room, "replace", cut)
        with pytest.raises(PowerCut):
            vault.exchange(fresh, (SECOND,))
    assert {version: again(vault).get(version) for version in KEYS} == KEYS
    shutil.copytree(vault.directory, copy)
    assert vault.exchange(fresh, (SECOND,)) == {FIRST, SECOND}
    left = {version: key for version, key in KEYS.items() if version != SECOND} | fresh
    assert {version: again(vault).get(version) for version in vault.versions()} == left
    for path in vault.directory.glob("kek-*"):
        shutil.copy(path, copy / "kek-1")
    with pytest.raises(KeystoreError):
        Vault(copy, SECRET).get(SECOND)


def test_the_whole_disk_of_before_opens_it(vault: Vault, tmp_path: Path) -> None:
    """So the destroyed key-encryption key makes the difference."""
    shutil.copytree(vault.directory, tmp_path / "backup")
    vault.destroy([FIRST])
    assert Vault(tmp_path / "backup", SECRET).get(FIRST) == KEYS[FIRST]


@pytest.mark.parametrize(
    ("place", "step"),
    [(room, "_append"), (room, "replace"), (whole_file, "sync"), (room, "sync"), (room, "_overwrite")],
)
def test_a_crash_while_destroying_is_completed_by_destroying_again(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, place: ModuleType, step: str
) -> None:
    def crash(*arguments: object) -> None:
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(place, step, crash)
        with pytest.raises(PowerCut):
            vault.destroy([FIRST])
    resumed = again(vault)
    assert resumed.versions() >= KEYS.keys() - {FIRST}
    resumed.destroy([FIRST])
    assert resumed.versions() == KEYS.keys() - {FIRST}
    assert {version: resumed.get(version) for version in REST} == {version: KEYS[version] for version in REST}
    assert sorted(files(vault)) == ["kek-2", "keys-2"]


@pytest.mark.parametrize("torn", [1, RECORD_BYTES - 1])
def test_a_torn_record_is_cut_off(vault: Vault, torn: int) -> None:
    path = vault.directory / "keys-1"
    with path.open("ab") as file:
        file.write(bytes(torn))
    resumed = again(vault)
    assert resumed.versions() == KEYS.keys()
    resumed.put({bytes([8]) * 32: bytes(32)})
    assert path.stat().st_size == 5 * RECORD_BYTES
    assert again(vault).get(bytes([8]) * 32) == bytes(32)


@pytest.mark.parametrize("name", ["kek-1", "keys-1"])
def test_a_flipped_bit_is_noticed(vault: Vault, name: str) -> None:
    path = vault.directory / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(KeystoreError, match="damaged"):
        again(vault).get(max(KEYS))


def test_another_member_opens_nothing(vault: Vault) -> None:
    with pytest.raises(KeystoreError, match="belongs to another member"):
        Vault(vault.directory, SECRET + 1).get(FIRST)


def test_a_full_disk_loses_nothing(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(room, "_append", full)
        with pytest.raises(KeystoreError, match=r"No space left on device.*retry"):
            vault.destroy([FIRST])
    assert {version: again(vault).get(version) for version in KEYS} == KEYS
