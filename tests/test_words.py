# SPDX-License-Identifier: Apache-2.0
"""The checker of prose finds each awkward turn, and passes plain sentences, questions and quotations."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import check_words
from scripts.check_words import OPENINGS, TURNS, docstrings, found, paragraphs

AWKWARD = {
    "The keys and those that are stored.": "those that",
    "It shows what it holds.": "what it",
    "It serves whoever asks.": "whoever",
    "Its key and that of the other member.": "that of",
    "It says so where none is left.": "none is",
    "The leader asks. Who refuses is named.": ". Who refuses",
}
PLAIN = (
    "Returns the keys of stored files.  Raises StorageError if a file is missing.",
    "Who signs a certificate?",
    'It prints `what it holds` and "whoever asks", see [the page](what-it-holds.md).',
)


@pytest.mark.parametrize(("text", "turn"), AWKWARD.items())
def test_a_turn_is_found(text: str, turn: str) -> None:
    assert any(each.startswith(repr(turn)) for each in found(text, is_docstring=False))


def test_each_kind_of_turn_has_a_sample() -> None:
    said = {each.partition(": ")[2] for text in AWKWARD for each in found(text, is_docstring=False)}
    assert said == set(TURNS.values())


@pytest.mark.parametrize("text", ["Raises KeyError for another.", "`name`: of the file."])
def test_a_docstring_begins_with_a_summary(text: str) -> None:
    assert found(text, is_docstring=True)[0].partition(": ")[2] in OPENINGS.values()
    assert found(text, is_docstring=False) == []


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_passes(text: str) -> None:
    assert found(text, is_docstring=True) == []


def test_docstrings_and_comments_of_a_module_are_read(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        '"""Module."""\n\nSIZE = 1\n"""Of it."""\n\ndef f():\n    """Function."""\n    # Comment.\n'
    )
    assert sorted(docstrings(path)) == [
        (1, "Module.", True),
        (4, "Of it.", True),
        (7, "Function.", True),
        (8, "Comment.", False),
    ]


def test_paragraphs_of_a_page_are_read_without_code_and_quoted_blocks(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("# Page\n\n```sh\nwhat it holds\n```\n\nText\nof it.\n\n> those that quote\n")
    assert list(paragraphs(path)) == [(1, "# Page", False), (7, "Text\nof it.", False)]


def test_faults_end_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "page.md"
    path.write_text("It shows what it holds.\n")
    monkeypatch.setattr("sys.argv", ["check_words.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="1 of 1 texts"):
        check_words.main()
    assert capsys.readouterr().out.startswith(f"{path}:1: 'what it': ")
    path.write_text("It shows the content.\n")
    check_words.main()
