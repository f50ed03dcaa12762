# SPDX-License-Identifier: Apache-2.0
"""Tests are in folders named after the tested rooms."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ACROSS = frozenset(
    {"browser", "contracts", "faults", "fuzzing", "ipfs", "properties", "vectors", "walkthroughs"}
)
"""Folders of tests about several rooms, or about no room of a package."""
APPS = frozenset({("flower", "quickstart")})
"""Others' applications that tests run."""


def strangers(tests: Path, *packages: Path) -> list[str]:
    """Folders below `tests` without a corresponding folder of a package, by path."""
    folders = {path.parent.relative_to(tests) for path in tests.rglob("*.py")} - {Path()}
    return sorted(
        folder.as_posix()
        for folder in folders
        if folder.parts[0] not in ACROSS
        and folder.parts[:2] not in APPS
        and not any((package / folder / "__init__.py").is_file() for package in packages)
    )


def test_every_folder_of_tests_belongs_to_a_room() -> None:
    assert strangers(ROOT / "tests", ROOT / "blockful_py", ROOT / "lab" / "blockful_lab") == []


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("crypto", []),
        ("faults/inner", []),
        ("attic", ["attic"]),
        ("crypto/attic", ["crypto/attic"]),
        ("attic/crypto", ["attic/crypto"]),
    ],
)
def test_a_folder_without_a_room_is_found(tmp_path: Path, folder: str, found: list[str]) -> None:
    room, tests = tmp_path / "package" / "crypto", tmp_path / "tests" / folder
    for path in (room / "__init__.py", tests / "test_a.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert strangers(tmp_path / "tests", tmp_path / "package") == found
