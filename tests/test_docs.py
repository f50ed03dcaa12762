# SPDX-License-Identifier: Apache-2.0
"""The documentation: links, wrapping, commands, and numbers of the results page.

Links resolve, lines are wrapped alike, commands exist, and the results page matches the tables.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents import (
    WIDTH,
    broken_links,
    broken_mentions,
    commands,
    mentioned,
    numbers,
    pages,
    refused,
    unknown,
    wrapped,
    written,
)

ROOT = Path(__file__).resolve().parents[1]
PAGES = pages(ROOT)
RESULTS = ROOT / "docs" / "explanation" / "unlearning-results.md"
TABLES = sorted((ROOT / "benchmarks" / "results").rglob("*.md"))
LONGEST = 1200
"""Words of the results page outside its tables."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_links_resolve() -> None:
    assert broken_links(ROOT) == []


@pytest.mark.parametrize(
    ("link", "broken"),
    [
        ("[x](there.md)", []),
        ("[x](there.md#two-words-and-code)", []),
        ("[x](#own)", []),
        ("[x](https://example.org/nowhere)", []),
        ("`[x](nowhere.md)`", []),
        ("[x](nowhere.md)", ["nowhere.md"]),
        ("![x](nowhere.png)", ["nowhere.png"]),
        ("[x](there.md#elsewhere)", ["there.md#elsewhere"]),
        ("[x](#elsewhere)", ["#elsewhere"]),
        ("- item\n\n    [x](nowhere.md)", ["nowhere.md"]),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, link: str, broken: list[str]) -> None:
    (tmp_path / "there.md").write_text("# There\n\n## Two words, and `code`\n")
    (tmp_path / "here.md").write_text(f"# Own\n\n{link}\n")
    assert broken_links(tmp_path) == [f"here.md: {target}" for target in broken]


BRINGS_TORCH = re.compile(r"pip install ['\"]blockful\[[\w,]*\b(?:all|demo|privacy|train)\b")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if BRINGS_TORCH.search(page.read_text("utf-8"))], ids=named
)
def test_an_install_line_says_how_torch_comes_without_cuda(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "--extra-index-url https://download.pytorch.org/whl/cpu" in text or "#torch-without-cuda" in text


def test_pages_that_sources_name_are_there() -> None:
    assert broken_mentions(ROOT) == []


@pytest.mark.parametrize("name", ["room/module.py", "Contract.sol", "Makefile", "example.toml"])
def test_a_page_that_a_source_names_wrongly_is_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "there.md").touch()
    source = tmp_path / name
    source.parent.mkdir(exist_ok=True)
    source.write_text("".join(f"See {'docs'}/{page}.md.\n" for page in ("there", "nowhere")))
    assert broken_mentions(tmp_path) == [f"{name}: {'docs'}/nowhere.md"]


@pytest.mark.parametrize("page", written(ROOT), ids=named)
def test_lines_are_wrapped_alike(page: Path) -> None:
    """The command `python -m tests.documents` wraps them."""
    text = page.read_text(encoding="utf-8")
    assert wrapped(text).split("\n") == text.split("\n")


LONG = " ".join(["word"] * 30)


@pytest.mark.parametrize("text", [LONG, "two\nlines", f"- {LONG}", f"1. item\n   {LONG}", f"text\n{LONG}"])
def test_lines_that_are_not_are_found(text: str) -> None:
    assert wrapped(text) != text
    assert wrapped(wrapped(text)) == wrapped(text)
    assert wrapped(text).split() == text.split()
    assert max(map(len, wrapped(text).split("\n"))) <= WIDTH


@pytest.mark.parametrize(
    "text",
    [
        f"| {LONG} |\n| {LONG} |",
        f"# {LONG}",
        f"```\n{LONG}\nshort\n```",
        f"text\n\n    {LONG}\n    short",
        f"![{LONG}](image.png)",
        "[link](" + "long/" * 30 + ")",
        "- one\n- two\n  - three\n\n  a paragraph of the second\n",
    ],
)
def test_what_cannot_be_wrapped_is_left(text: str) -> None:
    assert wrapped(text) == text


def test_code_of_a_few_words_is_not_divided() -> None:
    text = f"{LONG[:89]} then `a few words` and on"
    assert wrapped(text) == f"{LONG[:89]} then\n`a few words` and on"


def test_no_line_begins_as_a_list_or_heading_would() -> None:
    for sign in ("-", "+", "2.", "#"):
        assert "\n" not in wrapped("x" * (WIDTH - 1) + f" {sign}")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_are_those_of_the_command_line(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    said = {" ".join(arguments): refused(arguments) for arguments in commands(text)}
    assert {line: why for line, why in said.items() if why} == {}
    wrong = {" ".join(arguments): unknown(arguments) for arguments in mentioned(text)}
    assert {line: word for line, word in wrong.items() if word} == {}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("blockful devnet up   # starts two", None),
        (".venv/bin/blockful verify --run runs/mine --json", None),
        ("NAME=x blockful devnet up", None),
        ("blockful unlearn --run runs/mine --start r5 \\\n    --class 3", None),
        ("blockful devnet sideways", "no command 'sideways'"),
        ("blockful dmeo", "no command 'dmeo'"),
        ("blockful verify --rnu x", "No such option"),
        ("blockful unlearn --run runs/mine --start r5 --paradigm both", "both"),
        ("blockful verify-proof", "Missing argument"),
    ],
)
def test_a_command_that_is_none_is_found(command: str, why: str | None) -> None:
    (arguments,) = commands(f"text\n\n```\n{command}\n```\n")
    reason = refused(arguments)
    assert reason is None if why is None else reason is not None and why in reason


@pytest.mark.parametrize(
    ("span", "word"),
    [
        ("blockful committee agree", None),
        ("blockful unlearn --method NAME", None),
        ("blockful committee consent", "consent"),
        ("blockful verify --fast", "--fast"),
    ],
)
def test_a_command_in_a_sentence_is_checked_too(span: str, word: str | None) -> None:
    (arguments,) = mentioned(f"Say `{span}` then.")
    assert unknown(arguments) == word


def test_results_name_no_place_of_the_machine_that_measured_them() -> None:
    """Regression: a traceback in one of them did."""
    results = (each for each in (ROOT / "benchmarks" / "results").rglob("*") if each.is_file())
    place = re.compile(r"(?<![\w.-])/(?:root|home|Users|work)/")
    assert [each.name for each in results if place.search(each.read_text("utf-8", "replace"))] == []


def test_the_results_page_is_short() -> None:
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    assert sum(len(line.split()) for line in lines if not line.startswith("|")) <= LONGEST


def test_the_results_page_has_no_number_that_no_table_has() -> None:
    known = {number for table in TABLES for number in numbers(table.read_text(encoding="utf-8"))}
    assert numbers(RESULTS.read_text(encoding="utf-8")) - known == set()


def test_a_number_is_read_whole() -> None:
    text = "From 1.3 to 15,460 of r5, `0.7` and [7](page-8.md): 100 %, +2.0.\n\n    99\n"
    assert numbers(text) == {"1.3", "15,460", "7", "100", "2.0"}
