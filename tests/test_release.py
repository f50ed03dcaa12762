# SPDX-License-Identifier: Apache-2.0
"""A release has one version, notes in the changelog, and distributions with all needed files."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTES = runpy.run_path(str(ROOT / "scripts" / "release_notes.py"))["notes"]
BUNDLED = {"explorer/static/index.html", "explorer/static/explorer.js", "report/static/report.js"}
"""Files made by `make setup`, in no repository."""
OUTSIDE = {"tests", "benchmarks", "lab", "docs", "deploy", "scripts", "contracts", "node_modules"}


def write(folder: Path, changelog: str, number: str = "1.2.0") -> None:
    (folder / "lab").mkdir()
    for project in (folder, folder / "lab"):
        (project / "pyproject.toml").write_text(f'[project]\nversion = "{number}"\n')
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}\n")


def test_the_changelog_has_notes_of_a_version(tmp_path: Path) -> None:
    write(
        tmp_path, "## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n\n- Two.\n\n## [1.1.0] - 2026-11-01\n\n- One."
    )
    assert NOTES("v1.2.0", tmp_path) == "- Two."


@pytest.mark.parametrize(
    ("tag", "changelog", "why"),
    [
        ("v1.3.0", "## [1.2.0] - 2026-12-01\n\n- Two.", "the tag is v1.3.0"),
        ("1.2.0", "## [1.2.0] - 2026-12-01\n\n- Two.", "tag v1.2.0"),
        ("v1.2.0", "## [1.2.0]\n\n- Two.", "DATE"),
        ("v1.2.0", "## [1.2.0] - 2026-12-01\n\n## [1.1.0] - 2026-11-01\n\n- One.", "says nothing of 1.2.0"),
        ("v1.2.0", "## [Unreleased]\n\n- Two.", "says nothing of 1.2.0"),
    ],
)
def test_a_tag_that_does_not_fit_ends_the_release(tmp_path: Path, tag: str, changelog: str, why: str) -> None:
    write(tmp_path, changelog)
    with pytest.raises(SystemExit, match=why):
        NOTES(tag, tmp_path)


def test_a_lab_of_another_version_ends_the_release(tmp_path: Path) -> None:
    write(tmp_path, "## [1.2.0] - 2026-12-01\n\n- Two.")
    (tmp_path / "lab" / "pyproject.toml").write_text('[project]\nversion = "1.1.0"\n')
    with pytest.raises(SystemExit, match=r"lab/pyproject\.toml has version 1\.1\.0"):
        NOTES("v1.2.0", tmp_path)


def test_the_changelog_begins_with_what_is_unreleased() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.index("\n## [Unreleased]\n") == text.index("\n## ")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made from the sdist, like `python -m build` makes it."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("made")
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("blockful_py", "tests", "lab"):
        shutil.copytree(
            ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
    for folder in (source, source / "lab"):
        build(folder, "build_sdist", made)
    for archive in made.glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            opened.extractall(source / "unpacked", filter="data")
        build(source / "unpacked" / archive.name.removesuffix(".tar.gz"), "build_wheel", made)
    return made


def build(source: Path, hook: str, into: Path) -> None:
    """A hook of PEP 517."""
    program = f"from setuptools import build_meta; build_meta.{hook}({str(into)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=source, check=True, capture_output=True, timeout=600)


def needed(package: Path) -> set[str]:
    """Files of a package in this checkout, by their paths in it."""
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    names = {path.relative_to(package).as_posix() for path in files}
    return {name for name in names if "web" not in name.split("/")}


def test_the_wheel_has_every_file_of_the_package_but_the_pages_sources(distributions: Path) -> None:
    (wheel,) = distributions.glob("blockful-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name.removeprefix("blockful_py/") for name in names if name.startswith("blockful_py/")}
    assert package > BUNDLED
    assert package == needed(ROOT / "blockful_py")
    assert {name.split("/")[0] for name in names} == {
        "blockful_py",
        f"blockful-{version('blockful')}.dist-info",
    }


def test_the_wheel_of_the_lab_has_every_file_and_names_its_commands(
    distributions: Path,
) -> None:
    (wheel,) = distributions.glob("blockful_lab-*.whl")
    opened = zipfile.ZipFile(wheel)
    names = set(opened.namelist())
    package = {name.removeprefix("blockful_lab/") for name in names if name.startswith("blockful_lab/")}
    assert package == needed(ROOT / "lab" / "blockful_lab")
    about = f"blockful_lab-{version('blockful')}.dist-info"
    assert {name.split("/")[0] for name in names} == {"blockful_lab", about}
    assert "[blockful.commands]" in opened.read(f"{about}/entry_points.txt").decode()


def test_the_sdist_builds_and_has_no_tests(distributions: Path) -> None:
    (archive,) = distributions.glob("blockful-*.tar.gz")
    with tarfile.open(archive) as opened:
        tops = {Path(name).parts[1] for name in opened.getnames() if len(Path(name).parts) > 1}
    assert {"blockful_py", "pyproject.toml", "README.md", "LICENSE"} <= tops
    assert tops & OUTSIDE == set()


def test_no_module_has_the_version() -> None:
    number = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for package in (ROOT / "blockful_py", ROOT / "lab" / "blockful_lab"):
        for path in package.rglob("*.py"):
            assert f'"{number}"' not in path.read_text(encoding="utf-8"), path
