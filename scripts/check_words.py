# SPDX-License-Identifier: Apache-2.0
"""Refuses turns of phrase that have to be read twice, in docstrings, comments and pages.

    python scripts/check_words.py [--count] [PATH ...]

A sentence says who does what to what and names things by nouns (CONTRIBUTING.md, "Prose").  This finds the
turns that a program can find: a clause as a noun ("what it holds", "whoever signs"), a pronoun as a noun
("those that", "that of"), a hidden negation ("there is none"), and a docstring that opens with an error or a
parameter instead of a summary.  Code, quotations and addresses are skipped.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

PATHS = ("blockful_py", "lab", "benchmarks", "scripts", "docs", "README.md", "CONTRIBUTING.md", "SECURITY.md")
ELSEWHERE = {"results", "static", "artifacts", "node_modules"}
"""Folders of files that are generated, or others'."""

CLAUSES = "it they he she is are was were has have had a an the its their each every others?"
TURNS = {
    r"\bthose (that|who|which|whose|of|with|without|in|it|they)\b": "name them: not 'those that'",
    rf"\bwhat ({CLAUSES.replace(' ', '|')})\b": "a noun, not a clause: 'its content', not 'what it holds'",
    r"\b(whoever|whatever|whichever)\b": "name who or what: 'the signer', not 'whoever signs'",
    r"\bthat (of|which)\b": "repeat the noun: 'the key of', not 'that of'",
    r"\b(none|nothing) (is|are|was|were)\b|\b(is|are|was|were) (none|nothing)\b": "say what is missing",
    r"(^|[.;:!?] +)(Who|Whose|What) [a-z]+(?![^.]*\?)": "begin with the subject",
}
OPENINGS = {
    r"^Raises\b": "begin with a summary; 'Raises' comes after it",
    r"^`": "begin with a summary, not with a parameter",
}
EXCEPTIONS: dict[str, tuple[str, ...]] = {}
"""By path: the beginnings of texts in which a turn is the plain word, a question or a quotation."""

Text = tuple[int, str, bool]
"""Line, text, and whether it is a docstring."""


def docstrings(path: Path) -> Iterator[Text]:
    """Docstrings, strings below an assignment among them, and comments of a Python file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", ())
        for each in body if isinstance(body, list) else ():
            match each:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield each.lineno, text, True
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string.lstrip("# "), False


def paragraphs(path: Path) -> Iterator[Text]:
    """Paragraphs of a page, without its code and quoted blocks."""
    text = re.sub(
        r"^ *```.*?^ *```",
        lambda m: re.sub(r"[^\n]", "", m[0]),
        path.read_text(encoding="utf-8"),
        flags=re.M | re.S,
    )
    line = 1
    for part in re.split(r"(\n\s*\n)", text):
        if part.strip() and not part.startswith(">"):
            yield line, part.strip(), False
        line += part.count("\n")


def prose(text: str) -> str:
    """A text on one line, without code, quotations and the addresses of links."""
    text = re.sub(r"`[^`]*`", "`code`", text)
    text = re.sub(r'"[^"]*"|“[^”]*”', '""', text)
    return re.sub(r"\s+", " ", re.sub(r"\]\([^)]*\)", "]", text)).strip()


def found(text: str, is_docstring: bool) -> list[str]:
    """The turns of a text, each with what to write instead."""
    plain = prose(text)
    patterns = TURNS | OPENINGS if is_docstring else TURNS
    return [
        f"{match[0].strip()!r}: {say}" for turn, say in patterns.items() if (match := re.search(turn, plain))
    ]


def files(paths: list[str]) -> Iterator[Path]:
    for root in map(Path, paths):
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.suffix in (".py", ".md") and not ELSEWHERE & set(path.parts):
                yield path


def main() -> None:
    arguments = sys.argv[1:]
    count = "--count" in arguments
    paths = [each for each in arguments if each != "--count"] or list(PATHS)
    texts = faults = 0
    for path in files(paths):
        for line, text, is_docstring in docstrings(path) if path.suffix == ".py" else paragraphs(path):
            texts += 1
            if prose(text).startswith(EXCEPTIONS.get(path.as_posix(), ()) or "\0"):
                continue
            turns = found(text, is_docstring)
            faults += bool(turns)
            for turn in turns if not count else ():
                print(f"{path}:{line}: {turn}")
    if count:
        print(f"{faults} of {texts} texts have a turn that has to be read twice")
    elif faults:
        sys.exit(
            f"{faults} of {texts} texts have a turn that has to be read twice: see CONTRIBUTING.md, Prose"
        )


if __name__ == "__main__":
    main()
