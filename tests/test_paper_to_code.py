# SPDX-License-Identifier: Apache-2.0
"""The files, lines and functions on the page from the paper's sentences to the code exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "paper-to-code.md"

QUOTE = re.compile(r"^> .*(?:\n> .*)*$", re.MULTILINE)
LINE = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.+)\n```$", re.MULTILINE)
WAY = re.compile(r"^## The way of (.+)$", re.MULTILINE)
STOP = re.compile(r"^\d+\. (.+(?:\n {2,}.+)*)$", re.MULTILINE)


def test_ten_sentences_or_more_have_their_line() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(sentences(text)) >= 10
    assert wrong_lines(text, ROOT) == []


def test_the_ways_name_files_and_their_functions() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert list(ways(text)) == ["a request", "a model", "a member's vote"]
    assert all(len(stops) > 3 for stops in ways(text).values())
    assert wrong_stops(text, ROOT) == []


@pytest.mark.parametrize(
    ("path", "line", "wrong"),
    [
        ("room/sum.py", "return left + right", []),
        ("room/sum.py", "left + right", ["room/sum.py: left + right"]),
        ("room/sum.py", "return left - right", ["room/sum.py: return left - right"]),
        ("room/product.py", "return left + right", ["room/product.py: return left + right"]),
    ],
)
def test_a_line_that_is_not_there_is_found(tmp_path: Path, path: str, line: str, wrong: list[str]) -> None:
    write_module(tmp_path)
    text = f"> Sums are\n> added up. (I)\n\n`{path}`:\n\n```python\n{line}\n```\n\nExactly.\n"
    assert sentences(text) == {"Sums are added up. (I)": [(path, line)]}
    assert wrong_lines(text, tmp_path) == wrong


def test_a_sentence_without_a_line_is_found(tmp_path: Path) -> None:
    write_module(tmp_path)
    text = "> First. (I)\n\n> Second. (II)\n\n`room/sum.py`:\n\n```python\nreturn left + right\n```\n"
    assert wrong_lines(text, tmp_path) == ["no line: First. (I)"]


@pytest.mark.parametrize(
    ("stop", "wrong"),
    [
        ("`room/sum.py`: `add`", []),
        ("`room/sum.py`: `add`,\n   `subtract`", ["room/sum.py: subtract"]),
        ("`room/sum.py`: `ad`", ["room/sum.py: ad"]),
        ("`room/sum.py`: `left`", ["room/sum.py: left"]),
        ("`room/sum.py`", ["room/sum.py: no function"]),
        ("`room/product.py`: `add`", ["room/product.py: add"]),
    ],
)
def test_a_function_that_is_not_there_is_found(tmp_path: Path, stop: str, wrong: list[str]) -> None:
    write_module(tmp_path)
    assert wrong_stops(f"## The way of a sum\n\n1. {stop}\n", tmp_path) == wrong


def write_module(root: Path) -> None:
    (root / "room").mkdir()
    (root / "room" / "sum.py").write_text("def add(left: int, right: int) -> int:\n    return left + right\n")


def sentences(text: str) -> dict[str, list[tuple[str, str]]]:
    """Files and lines of each quoted sentence."""
    quotes = list(QUOTE.finditer(text))
    ends = [quote.start() for quote in quotes[1:]] + [len(text)]
    return {
        quote[0].removeprefix("> ").replace("\n> ", " "): LINE.findall(text[quote.end() : end])
        for quote, end in zip(quotes, ends, strict=True)
    }


def wrong_lines(text: str, root: Path) -> list[str]:
    """Sentences without a line, and lines missing in their file (ignoring indentation)."""
    found = []
    for sentence, lines in sentences(text).items():
        if not lines:
            found.append(f"no line: {sentence}")
        for path, line in lines:
            if line not in {each.strip() for each in source(root / path).splitlines()}:
                found.append(f"{path}: {line}")
    return found


def ways(text: str) -> dict[str, list[tuple[str, list[str]]]]:
    """Files of each way in order, with the functions that it names there."""
    _, *parts = WAY.split(text)
    found = {}
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        spans = [re.findall(r"`([^`]+)`", stop) for stop in STOP.findall(part)]
        found[name] = [(path, functions) for path, *functions in spans]
    return found


def wrong_stops(text: str, root: Path) -> list[str]:
    """Missing functions and files."""
    found = []
    for stops in ways(text).values():
        for path, functions in stops:
            defined = set(re.findall(r"\b(?:def|function) (\w+)\(", source(root / path)))
            found += [f"{path}: {name}" for name in functions or ["no function"] if name not in defined]
    return found


def source(path: Path) -> str:
    """Text of a file; empty if it is missing."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""
