# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from blockful_py.storage import ContentStore, cid_string
from tests.cli.commands import blockful


def test_a_sweep_removes_what_no_kept_file_has_and_nothing_else(tmp_path: Path) -> None:
    store = ContentStore(tmp_path / "live")
    kept, lost = store.add(b"kept"), store.add(b"lost")
    (store.directory / "pins" / cid_string(lost)).unlink()
    assert blockful(tmp_path, "sweep", "live", "--json").document == {"removed": {"live": 1}}
    assert store.read(kept, 10) == b"kept"
    assert blockful(tmp_path, "sweep", "live").out == "live: 0 blocks removed\n"


def test_a_folder_that_is_not_a_store_is_left_alone(tmp_path: Path) -> None:
    ContentStore(tmp_path / "live")
    (tmp_path / "other").mkdir()
    outcome = blockful(tmp_path, "sweep", "live", "other")
    assert outcome.status == 2
    assert "other is not a store" in outcome.error
    assert list((tmp_path / "other").iterdir()) == []
