# SPDX-License-Identifier: Apache-2.0
"""The documentation's site: complete generated pages, a strict build, and no external resources."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from blockful_py.cli.main import NAME, command_line
from docs.site import places
from docs.site.command_pages import command_pages
from docs.site.contract_pages import contract_pages
from docs.site.module_pages import module_pages
from docs.site.navigation import navigation
from docs.site.settings_page import described, sections, settings_page

ROOT = Path(__file__).resolve().parents[1]
DOCS = "docs"
"""Apart, as these pages are not there."""
BUILD = ROOT / "build" / "contracts"
LINKED = re.compile(r'\b(?:href|src)="?(?!https?:|mailto:|data:|javascript:|//|#)([^"\s>?#]+)')
FETCHED = re.compile(
    r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="?(?:https?:)?//[^>]*>|url\(["\']?(?:https?:)?//'
)


def commands(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    if not below:
        yield words, command
    for name in below:
        yield from commands(below[name], f"{words} {name}")


def test_every_command_has_its_options_on_a_page() -> None:
    parts = {
        part.partition("\n")[0]: part for page in command_pages().values() for part in page.split("\n## ")[1:]
    }
    known = dict(commands(command_line(), NAME))
    assert parts.keys() == known.keys()
    for words, command in known.items():
        options = {name for each in command.params for name in each.opts if name.startswith("-")}
        assert [name for name in options if name not in parts[words]] == [], words
        assert f"Example:\n\n```sh\n{NAME} " in parts[words] or "_OPTION" in parts[words], words


def test_every_setting_is_on_the_page_and_says_what_it_means() -> None:
    page, found = settings_page(), dict(sections())
    assert len(found) > 8
    for path, section in found.items():
        texts, nested = described(section), {name.split(".")[-1] for name in found if name}
        for each in fields(section):
            if each.name not in nested:
                assert texts.get(each.name), f"{path}.{each.name} has no meaning in its docstring"
                assert f"| `{each.name}` |" in page


def test_every_function_and_error_of_an_interface_is_on_its_page() -> None:
    pages = contract_pages(BUILD)
    names = sorted(path.stem for path in (ROOT / "contracts" / "interfaces").glob("*.sol"))
    assert [Path(path).stem for path in pages] == names
    for path, page in pages.items():
        build = json.loads((BUILD / f"{Path(path).stem}.json").read_text(encoding="utf-8"))
        entries = [each for each in build["abi"] if each["type"] in {"function", "event", "error"}]
        assert [each["name"] for each in entries if f"### {each['name']}\n" not in page] == []
        for notes in build["natspec"].get("methods", {}).values():
            assert notes.get("notice", "") in page


def test_contracts_that_are_not_compiled_are_one_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run 'make contracts'"):
        contract_pages(tmp_path)


def test_pages_of_the_library_name_modules_that_are_there() -> None:
    modules = [name for page in module_pages().values() for name in re.findall(r"^::: (\S+)$", page, re.M)]
    assert len(modules) == len(set(modules)) > 100
    missing = [name for name in modules if not (ROOT / name.replace(".", "/")).with_suffix(".py").is_file()]
    assert missing == []


def test_the_navigation_is_the_list_of_pages() -> None:
    listing = (
        "# All\n\n## How-to: reach it\n\n- [A](how-to/a.md): x\n- [B](how-to/b.md), [C](how-to/c.md)\n\n"
        "## Reference: look\n\n- [D](reference/d.md#part), [E](../e.md)\n\n## Last\n"
    )
    assert navigation(listing, {"One": ["x.md"], "Two": ["y.md", "z.md"]}) == [
        {"Home": "README.md"},
        {"How-to": ["how-to/a.md", "how-to/b.md", "how-to/c.md"]},
        {"Reference": [{"One": "x.md"}, {"Two": ["y.md", "z.md"]}]},
    ]


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        (f"{DOCS}/how-to/a.md", "../reference/b.md#c", "../reference/b.md#c"),
        (f"{DOCS}/how-to/a.md", "../../deploy/x.yml", "../deploy/x.yml"),
        (f"{DOCS}/how-to/a.md", "../README.md", "../contents.md"),
        ("README.md", f"{DOCS}/images/x.png", "images/x.png"),
        ("README.md", f"{DOCS}/README.md#a", "contents.md#a"),
        ("deploy/besu/README.md", f"../../{DOCS}/how-to/a.md", "../../how-to/a.md"),
        (f"{DOCS}/a.md", "https://example.org/x", "https://example.org/x"),
        (f"{DOCS}/a.md", "#part", "#part"),
    ],
)
def test_links_lead_to_the_same_place_on_the_site(page: str, link: str, there: str) -> None:
    assert places.relinked(page, f"See [`x` y]({link}).") == f"See [`x` y]({there})."
    code = f"`[x]({link})`\n\n```text\n[x]({link})\n```\n"
    assert places.relinked(page, code) == code


def built(root: Path, target: Path) -> subprocess.CompletedProcess[str]:
    words = ["mkdocs", "build", "--config-file", "docs/site/mkdocs.yml", "--site-dir", str(target)]
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=root, capture_output=True, text=True, check=False, timeout=3000
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_site_builds_and_fetches_nothing(tmp_path: Path) -> None:
    done = built(ROOT, tmp_path)
    assert done.returncode == 0, done.stderr
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(tmp_path.rglob("*.html"))}
    assert len(pages) > 60
    sheets = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.css")}
    assert [
        f"{path}: {each}" for path, text in (pages | sheets).items() for each in FETCHED.findall(text)
    ] == []
    assert [path for path, text in pages.items() if 'class="mermaid"' in text] == []
    assert [
        f"{path.relative_to(tmp_path)}: {link}"
        for path, text in pages.items()
        for link in LINKED.findall(text)
        if path.name != "404.html"  # which a server shows anywhere
        and not (path.parent / unquote(link)).exists()
    ] == []
    for index in ("search_index.json", "search_index.js"):  # for a server, and for a folder
        assert "chameleon hash" in (tmp_path / "search" / index).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "fetching",
    [
        '<script src="https://example.org/x.js">',
        "<link rel=stylesheet href=//example.org/x.css>",
        "a { background: url(https://example.org/x.png) }",
    ],
)
def test_what_would_be_fetched_is_found(fetching: str) -> None:
    assert FETCHED.search(fetching)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_mistakes_fail_the_build(tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(ROOT / "docs", root / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        ".github",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "README.md",
        "RELEASING.md",
        "SECURITY.md",
        "LICENSE",
        "Makefile",
        "blockful_py",
        "benchmarks",
        "build",
        "deploy",
        "node_modules",
    ):
        (root / name).symlink_to(ROOT / name)
    (root / "docs" / "how-to" / "unlisted.md").write_text("# Unlisted\n", encoding="utf-8")
    glossary = root / "docs" / "reference" / "glossary.md"
    broken = "\n[a](nowhere.md) [b](requests.md#nothing) ![c](../images/nothing.png)\n"
    glossary.write_text(glossary.read_text(encoding="utf-8") + broken, encoding="utf-8")
    done = built(root, tmp_path / "site")
    assert done.returncode == 1
    for mistake in ("how-to/unlisted.md", "nowhere.md", "requests.md#nothing", "nothing.png"):
        assert mistake in done.stderr
