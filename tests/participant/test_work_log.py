# SPDX-License-Identifier: Apache-2.0
"""The log of a participant's work, and its turns with others on its machine."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from blockful_py.errors import RunError, SettingsError
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.sharing import turn_of
from blockful_py.participant.work_log import MOST, LoggedWork, WorkLog


def test_work_is_logged_with_its_end_and_its_error(tmp_path: Path) -> None:
    log = WorkLog(tmp_path / "work.jsonl", count(100, 10).__next__)
    assert log.entries() == ()
    with log.recording(["r1"], None):
        assert log.entries() == (LoggedWork(("r1",), None, 100),)
    with pytest.raises(RunError), log.recording(["r1", "r6"], 7):
        raise RunError("no node answers")
    assert log.entries() == (
        LoggedWork(("r1",), None, 100, 10),
        LoggedWork(("r1", "r6"), 7, 120, 10, "no node answers"),
    )


def test_the_log_is_for_its_owner_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    log = WorkLog(path, count(0).__next__)
    line = '{"models": ["old"], "request": null, "started": 0, "seconds": 1, "error": null}\n'
    path.write_text(line * MOST)
    with log.recording(["new"], None):
        pass
    entries = log.entries()
    assert len(entries) == MOST
    assert entries[-1].models == ("new",)
    assert path.stat().st_mode & 0o077 == 0


def test_only_trainings_that_ended_well_are_counted(tmp_path: Path) -> None:
    log = WorkLog(tmp_path / "work.jsonl", count(100, 10).__next__)
    with log.recording(["r1"], None):
        pass
    with log.recording(["r1"], 1):
        pass
    with pytest.raises(RunError), log.recording(["r6"], None):
        raise RunError("out of memory")
    assert log.trained_since(100) == 1
    assert log.trained_since(101) == 0
    with log.recording(["r6"], None):
        assert log.trained_since(0) == 1


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "work.jsonl").write_text("{}\n")
    with pytest.raises(RunError, match=r"work\.jsonl cannot be read"):
        WorkLog(tmp_path / "work.jsonl").entries()


def test_one_has_the_turn_at_a_time(tmp_path: Path) -> None:
    path = str(tmp_path / "turn")
    with turn_of(path) as first, turn_of(path) as second, turn_of(str(tmp_path / "other")) as other:
        assert (first, second, other) == (True, False, True)
    with turn_of(path) as third, turn_of(None) as always, turn_of(None) as again:
        assert third and always and again


def test_a_turn_that_cannot_be_had_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="turn names"), turn_of(str(tmp_path / "nowhere" / "turn")):
        pass


def test_one_process_serves_a_participant(tmp_path: Path) -> None:
    folder = ParticipantFolder(tmp_path)
    assert not folder.is_served
    with folder.serving():
        assert folder.is_served
        with pytest.raises(RunError, match="is served by process"):
            folder.serving()
    assert not folder.is_served
    (tmp_path / "serving.lock").unlink()
    (tmp_path / "serving.lock").mkdir()
    with pytest.raises(RunError, match=r"serving\.lock cannot be written"):
        folder.serving()
