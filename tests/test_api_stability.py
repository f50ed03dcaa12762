# SPDX-License-Identifier: Apache-2.0
"""The page on stability names exactly the existing exports, commands, formats and contracts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from blockful_lab.cli.commands import SECTIONS as LAB_SECTIONS
from blockful_py.cli.commands import SECTIONS, Group

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "blockful_py"
LAB = ROOT / "lab" / "blockful_lab"
PAGE = ROOT / "docs" / "reference" / "api-stability.md"
IMPORT = re.compile(r"^ *from (blockful_py[\w.]*) import (\([^)]*\)|[^\n]+)$", re.MULTILINE)
FORMAT = re.compile(r"\"(blockful-[a-z-]+/\d+)\"")


def table(text: str, heading: str) -> dict[str, list[str]]:
    """Rows of the table under a heading: code in the first cell, and the code in the other cells."""
    _, _, below = text.partition(f"\n## {heading}\n")
    rows = re.findall(r"^\|(.*)\|$", below.partition("\n## ")[0], re.MULTILINE)[2:]
    found = {}
    for first, *rest in (row.split(" | ") for row in rows):
        key, *more = re.findall(r"`([^`]+)`", first) or [""]
        found[key] = [*more, *re.findall(r"`([^`]+)`", " ".join(rest))]
    return found


def differences(told: set[str], there: set[str]) -> str:
    """The differences, one on each line."""
    missing = [f"{each} is on the page, and not there" for each in sorted(told - there)]
    return "\n".join([*missing, *(f"{each} is there, and not on the page" for each in sorted(there - told))])


def exported(modules: list[str]) -> set[str]:
    """Names in `__all__` with their modules; fails for a module without it."""
    return {f"{name}.{each}" for name in modules for each in import_module(name).__all__}


def imported(text: str) -> Iterator[str]:
    """Full names that the code blocks of a page import from the package, without changes of the package."""
    for block in text.split("```")[1::2]:
        if block.startswith("diff"):
            continue
        for module, names in IMPORT.findall(block):
            yield from (f"{module}.{name}" for name in re.findall(r"(?:^|[(,])\s*(\w+)", names))


def commands() -> dict[str, list[str]]:
    """Commands by group; "" has the ones without a group."""
    found: dict[str, list[str]] = {"": []}
    for each in (row for table in (SECTIONS, LAB_SECTIONS) for rows in table.values() for row in rows):
        if isinstance(each, Group):
            found[each.name] = [command.name for command in each.commands]
        else:
            found[""].append(each.name)
    return found


def formats(folder: Path) -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    return {name for text in texts for name in FORMAT.findall(text)}


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_modules_export_what_the_page_names(page: str) -> None:
    told = table(page, "Python")
    assert "blockful_py" in told and "blockful_py.unlearning.audit" in told
    names = {f"{module}.{name}" for module, found in told.items() for name in found}
    assert differences(names, exported(list(told))) == ""


def test_exported_names_are_there(page: str) -> None:
    for module in table(page, "Python"):
        for name in import_module(module).__all__:
            assert getattr(import_module(module), name) is not None, f"{module}.{name}"


def test_what_a_guide_teaches_to_import_is_stable(page: str) -> None:
    guides = [
        ROOT / "README.md",
        *(ROOT / "docs" / "how-to").iterdir(),
        *(ROOT / "docs" / "tutorial").iterdir(),
    ]
    taught = {name for each in guides for name in imported(each.read_text(encoding="utf-8"))}
    assert "blockful_py.Federation" in taught
    assert "\n".join(sorted(taught - exported(list(table(page, "Python"))))) == ""


def test_commands_are_those_of_the_command_line(page: str) -> None:
    told, there = table(page, "Command line"), commands()
    flat = [{f"{group} {name}" for group, names in each.items() for name in names} for each in (told, there)]
    assert differences(*flat) == ""


def test_formats_are_those_of_the_package(page: str) -> None:
    assert differences(set(table(page, "File formats")), formats(PACKAGE) | formats(LAB)) == ""


def test_contracts_are_those_that_are_deployed(page: str) -> None:
    ((first, others),) = table(page, "Contracts").items()
    artifacts = {path.stem for path in (PACKAGE / "chain" / "artifacts").glob("*.json")}
    assert differences({first, *others}, artifacts) == ""


def test_what_is_missing_or_too_much_is_found(tmp_path: Path) -> None:
    rows = "| m | n |\n|---|---|\n| `a` | `x`, `y` |\n| | `z` |\n"
    text = f"# T\n\n## A\n\n{rows}\n## B\n\n| m |\n|---|\n| `b`, `c` |\n"
    assert table(text, "A") == {"a": ["x", "y"], "": ["z"]}
    assert table(text, "B") == {"b": ["c"]}
    assert differences({"a.x", "a.z"}, {"a.x", "a.y"}) == (
        "a.z is on the page, and not there\na.y is there, and not on the page"
    )
    code = "from blockful_py.types import A, B as C\nimport os\nfrom blockful_py import (\n    D,\n    E,\n)"
    assert list(imported(f"from blockful_py import X\n```python\n{code}\n```\n")) == [
        "blockful_py.types.A",
        "blockful_py.types.B",
        "blockful_py.D",
        "blockful_py.E",
    ]
    (tmp_path / "a.py").write_text('FORMAT = "blockful-new/3"\n')
    assert formats(tmp_path) == {"blockful-new/3"}
    with pytest.raises(AttributeError):
        exported(["blockful_py.learning.federation"])
