# SPDX-License-Identifier: Apache-2.0
"""Files are written completely or not at all, with the right permissions, and errors name them."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blockful_py.errors import FormatError, KeystoreError, RunError, SettingsError
from blockful_py.whole_file import OWN, read_bounded, replace, write_secret, write_whole

MIB = 1 << 20


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_text_and_bytes_replace_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for data, expected in (("eins → 1", "eins → 1".encode()), (b"\0\xff", b"\0\xff"), (b"", b"")):
        write_whole(path, data)
        assert path.read_bytes() == expected
    assert list(tmp_path.iterdir()) == [path]


def test_parts_follow_each_other_also_where_the_system_stops_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writev = os.writev
    monkeypatch.setattr(os, "writev", lambda file, parts: writev(file, [bytes(parts[0])[:3]]))
    replace(tmp_path / "x", (b"", b"abcd", memoryview(b"efghijk")))
    assert (tmp_path / "x").read_bytes() == b"abcdefghijk"


@pytest.mark.usefixtures("umask")
def test_only_secrets_are_for_their_user_alone(tmp_path: Path) -> None:
    write_whole(tmp_path / "shared", b"")
    write_whole(tmp_path / "own", b"", mode=OWN)
    write_secret(tmp_path / "secret", b"s", KeystoreError)
    assert [mode(tmp_path / name) for name in ("shared", "own", "secret")] == [0o644, 0o600, 0o600]


@pytest.mark.usefixtures("umask")
def test_a_secret_replaced_by_one_is_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_whole(path, b"shared")
    write_whole(path, b"secret", mode=OWN)
    assert (path.read_bytes(), mode(path)) == (b"secret", 0o600)


def test_a_secret_never_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "x.key"
    write_secret(path, "first\n", KeystoreError)
    with pytest.raises(KeystoreError, match=r"x\.key cannot be written: it exists already"):
        write_secret(path, "second\n", KeystoreError)
    assert path.read_text() == "first\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("before", [b"old", None])
def test_a_crash_leaves_the_old_content_or_no_file(tmp_path: Path, step: str, before: bytes | None) -> None:
    path = tmp_path / "x"
    if before is not None:
        path.write_bytes(before)
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from blockful_py.whole_file import write_whole\n"
        f"os.{step} = lambda *about: os.kill(os.getpid(), 9)\n"
        "write_whole(Path(sys.argv[1]), b'new')\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -9
    assert (path.read_bytes() if path.exists() else None) == before
    write_whole(path, b"next")
    assert path.read_bytes() == b"next"


@pytest.mark.parametrize("step", ["writev", "fsync", "replace"])
def test_an_error_names_the_file_and_leaves_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"old")

    def refuse(*about: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(
        SettingsError, match=r"x\.json cannot be written: No space left on dev.*; make room\."
    ):
        write_whole(path, b"new", SettingsError, advice="make room")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made_only_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x"
    with pytest.raises(RunError, match="x cannot be written: No such file or directory"):
        write_whole(path, b"")
    write_whole(path, b"data", parents=True)
    assert path.read_bytes() == b"data"


def test_a_file_of_the_current_folder_needs_no_folder_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole(Path("x"), b"here")
    write_secret(Path("y"), b"here", KeystoreError)
    assert {path.name for path in tmp_path.iterdir()} == {"x", "y"}


def test_a_long_name_leaves_room_for_that_of_the_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_whole(path, b"data")
    assert path.read_bytes() == b"data"


def test_bytes_are_on_the_disk_before_the_name_and_the_name_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if Path(f"/proc/self/fd/{descriptor}").readlink() == tmp_path else "file")
        fsync(descriptor)

    def renamed(here: str, there: Path) -> None:
        done.append("rename")
        rename(here, there)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write_whole(tmp_path / "x", bytes(MIB))
    assert done == ["file", "rename", "folder"]


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abcd")
    assert read_bounded(path, 4) == b"abcd"
    with pytest.raises(FormatError, match=r"^x has more than 3 bytes"):
        read_bounded(path, 3)
    with pytest.raises(FormatError, match=r"^the list y cannot be read: No such file"):
        read_bounded(tmp_path / "y", 3, "the list y")
