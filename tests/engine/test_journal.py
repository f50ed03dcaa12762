# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from blockful_py.engine.journal import Journal
from blockful_py.errors import RunError


def test_an_entry_survives_and_can_be_cleared(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.json")
    assert journal.read() is None
    journal.write({"proposal": "0x01"})
    entry = Journal(tmp_path / "journal.json").read()
    assert entry is not None
    assert entry["proposal"] == "0x01"
    journal.clear()
    assert journal.read() is None


def test_a_second_entry_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.json")
    journal.write({"proposal": "0x01"})
    with pytest.raises(RunError, match="unfinished job"):
        journal.write({"proposal": "0x02"})
    entry = journal.read()
    assert entry is not None
    assert entry["proposal"] == "0x01"


@pytest.mark.parametrize("content", ['{"format": "blockful-jour', '{"format": "other/1"}', "[]"])
def test_a_damaged_journal_is_refused_and_kept(tmp_path: Path, content: str) -> None:
    path = tmp_path / "journal.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RunError):
        Journal(path).read()
    assert path.read_text(encoding="utf-8") == content


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nothing was sent"):
        Journal(tmp_path / "none" / "journal.json").write({})
