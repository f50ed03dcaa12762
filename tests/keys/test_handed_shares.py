# SPDX-License-Identifier: Apache-2.0
"""Handed shares at rest: kept beside the old ones, then in their place, and gone with their key."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blockful_py.committee.vault import Vault
from blockful_py.crypto.sharing.encoding import encoded
from blockful_py.errors import KeystoreError
from blockful_py.keys.handed_shares import HandedShares
from blockful_py.keys.shared_files import FIELD
from blockful_py.types import Codec, Uri

FILE, OTHER, PROOF = (Uri(bytes([number]) * 32, Codec.DAG_PB) for number in range(1, 4))
DATA_KEY = bytes([7]) * 32
OLD, NEW = b"o" * 32, b"n" * 32
SHARES = {uri: FIELD.of(np.arange(5) + i) for i, uri in enumerate((FILE, OTHER))}


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    found = Vault(tmp_path / "vault", 7)
    found.put({uri.digest: DATA_KEY for uri in (FILE, OTHER, PROOF)})
    return found


@pytest.fixture
def handed(vault: Vault, tmp_path: Path) -> HandedShares:
    return HandedShares(tmp_path / "handed", vault)


def named(handed: HandedShares, uri: Uri) -> dict[bytes, bool]:
    """Names of the shares of a file, and whether they are settled."""
    return {each.name: each.is_settled for each in handed.find(uri)}


def test_kept_shares_stand_beside_the_old_ones(handed: HandedShares, vault: Vault) -> None:
    handed.keep(2, OLD, SHARES)
    handed.keep(3, NEW, SHARES)
    for uri, share in SHARES.items():
        assert named(handed, uri) == {OLD: False, NEW: False}
        assert all(np.array_equal(each.share, share) for each in handed.find(uri))
        assert vault.get(uri.digest) == DATA_KEY
    assert {each.epoch for each in handed.find(FILE)} == {2, 3}


def test_settled_shares_take_the_place_of_all_others(
    handed: HandedShares, vault: Vault, tmp_path: Path
) -> None:
    handed.keep(2, OLD, SHARES)
    handed.settle(OLD, [*SHARES], [PROOF])
    handed.keep(3, NEW, SHARES)
    before = {path: path.read_bytes() for path in (tmp_path / "handed").rglob("*.settled")}
    handed.settle(NEW, [*SHARES], [])
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    handed.settle(NEW, [*SHARES], [PROOF])
    assert after == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for uri in SHARES:
        assert named(handed, uri) == {NEW: True}
        assert vault.get(uri.digest) != DATA_KEY
    assert PROOF.digest not in vault.versions()
    for path, data in before.items():
        path.write_bytes(data)
    assert named(handed, FILE) == {NEW: True}


def test_a_newcomer_has_keys_of_its_own(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault", 8)
    handed = HandedShares(tmp_path / "handed", vault)
    assert handed.find(FILE) == []
    handed.keep(2, NEW, SHARES)
    handed.settle(NEW, [*SHARES], [PROOF])
    assert named(handed, FILE) == {NEW: True}


def test_an_erasure_and_a_drop_leave_no_share(handed: HandedShares, vault: Vault) -> None:
    handed.keep(2, NEW, SHARES)
    handed.settle(NEW, [*SHARES], [])
    vault.destroy([FILE.digest])
    assert (handed.find(FILE), named(handed, OTHER)) == ([], {NEW: True})
    handed.drop([*SHARES, PROOF])
    assert handed.find(OTHER) == [] and not vault.versions()


def test_a_crash_before_the_exchange_leaves_the_kept_shares(
    handed: HandedShares, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise KeystoreError("no room left")

    handed.keep(2, NEW, SHARES)
    with monkeypatch.context() as disk:
        disk.setattr(Vault, "exchange", full)
        with pytest.raises(KeystoreError):
            handed.settle(NEW, [*SHARES], [PROOF])
    assert named(handed, FILE) == {NEW: False} and vault.get(PROOF.digest) == DATA_KEY
    handed.settle(NEW, [*SHARES], [PROOF])
    assert named(handed, FILE) == {NEW: True}


def test_no_share_is_readable_on_disk(handed: HandedShares, tmp_path: Path) -> None:
    handed.keep(2, NEW, SHARES)
    files = [path.read_bytes() for path in (tmp_path / "handed").rglob("*.kept")]
    assert len(files) == 2
    assert not any(encoded(share)[1:] in data for share in SHARES.values() for data in files)
