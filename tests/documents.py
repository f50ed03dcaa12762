# SPDX-License-Identifier: Apache-2.0
"""Reads the documentation as text and reports violations of its rules.

The command `python -m tests.documents` wraps the lines of every page.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from blockful_py.cli.main import UsageError, command_line

WIDTH = 100
"""Columns of a line of prose.  Tables, headings, code and images are exempt."""

SOURCES = ("*.py", "*.sol", "*.toml", "Makefile")
VENVS = {".venv", ".venv-brownie", ".venv-symbolic"}
SKIPPED = frozenset({".git", ".home", ".pytest_cache", "build", "family", "node_modules", "runs", *VENVS})

RENDERED = frozenset(
    {
        *(
            "attack.md",
            "attack_costs.md",
            "audit.md",
            "audited_machines.md",
            "in_turn.md",
            "machines.md",
            "pair.md",
            "tables.md",
        ),
        *("tables_alexnet.md", "tables_full.md", "tables_networks.md"),
        *("pair_fashion_mnist_small.md", "short_recipes.md", "single_model.md", "unlearning.md"),
    }
)
"""Pages of benchmarks/results that commands write."""

FENCE = re.compile(r" *```")
VERBATIM = re.compile(r" *(\||#|!\[|<!--|>)")
ITEM = re.compile(r"( *)([-*]|\d+\.) +")
STARTS_BLOCK = re.compile(r"([-*+>|]|\d+[.)]|#+|```.*)$")
UNIT = re.compile(r"(?:`[^`]{,60}`|\d %|\S)+")
"""Text that is not divided: a word, code of a few words, or a percentage."""
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
MENTION = re.compile(r"\bdocs/[\w./-]+\.\w+")
COMMAND = re.compile(r"(\w+=\S+ )*(\.venv/bin/)?blockful ")


def pages(root: Path) -> list[Path]:
    """Every page, README and rendered results among them."""
    return list(_files(root, "*.md"))


def written(root: Path) -> list[Path]:
    """Every manually written page."""
    results = root / "benchmarks" / "results"
    return [page for page in pages(root) if page.name not in RENDERED or not page.is_relative_to(results)]


def _files(root: Path, *patterns: str) -> Iterator[Path]:
    for folder, below, names in os.walk(root):
        below[:] = sorted(set(below) - SKIPPED)
        yield from (Path(folder, name) for name in sorted(names) if any(map(Path(name).match, patterns)))


def broken_links(root: Path) -> list[str]:
    """Links of pages to missing files or headings."""
    found = []
    for page in pages(root):
        for target in LINK.findall(_prose(page.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / name).resolve() if name else page
            if not path.exists() or (anchor and anchor not in _anchors(path)):
                found.append(f"{page.relative_to(root)}: {target}")
    return found


def broken_mentions(root: Path) -> list[str]:
    """Missing pages that sources name."""
    found = []
    for path in _files(root, *SOURCES):
        named = MENTION.findall(path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(root)}: {name}" for name in named if not (root / name).exists()]
    return found


def _prose(text: str) -> str:
    """Text without code, whether fenced, indented or inline."""
    kept = [line for line, code in _marked(text) if not code]
    return re.sub(r"`[^`]*`", "", "\n".join(kept))


def _marked(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is code."""
    fenced = item = False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
            yield line, True
            continue
        item = bool(ITEM.match(line)) or (item and line.startswith(" ")) or (item and not line)
        yield line, fenced or (line.startswith("    ") and not item)


def _anchors(page: Path) -> set[str]:
    """Anchors of headings as on GitHub: lower case, no punctuation, hyphens for spaces."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def wrapped(text: str) -> str:
    """The text with every paragraph and list item filled to `WIDTH` columns."""
    lines: list[str] = []
    words: list[str] = []
    first = rest = ""

    def end() -> None:
        lines.extend(_filled(" ".join(words), first, rest))
        words.clear()

    for line, code in _marked(text):
        if code or not line.strip() or VERBATIM.match(line):
            end()
            lines.append(line)
            continue
        item = ITEM.match(line)
        if item or not words:
            end()
            first = item[0] if item else line[: len(line) - len(line.lstrip())]
            rest = " " * len(first)
            line = line[len(first) :]
        words += line.split()
    end()
    return "\n".join(lines)


def _filled(text: str, first: str, rest: str) -> Iterator[str]:
    """Fills greedily; no line begins with a word that Markdown would take for a list or a heading."""
    line = ""
    for word in UNIT.findall(text):
        if not line:
            line = first + word
        elif len(line) + 1 + len(word) <= WIDTH or STARTS_BLOCK.match(word):
            line += " " + word
        else:
            yield line
            line = rest + word
    if line:
        yield line


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of every `blockful` command in the code blocks of a page."""
    code = "\n".join(line.strip() for line, code in _marked(text) if code)
    for line in code.replace("\\\n", " ").split("\n"):
        command = COMMAND.match(line)
        if command:
            yield shlex.split(line[command.end() :], comments=True)


def mentioned(text: str) -> Iterator[list[str]]:
    """The arguments of every complete or partial `blockful` command in a page's prose."""
    prose = " ".join(line for line, code in _marked(text) if not code)
    for span in re.findall(r"`((?:\.venv/bin/)?blockful [^`]+)`", prose):
        yield span.split()[1:]


@cache
def _command_line() -> Any:
    return command_line()


def refused(arguments: list[str]) -> str | None:
    """The reason why the command line refuses these arguments, or None; runs nothing."""
    command, rest = _command_line(), list(arguments)
    context = command.context_class(command)
    while subcommands := getattr(command, "commands", {}):
        if not rest or rest[0] not in subcommands:
            return f"no command {' '.join(rest[:1])!r}"
        command = subcommands[rest.pop(0)]
    try:
        command.make_context(command.name, rest, parent=context)
    except UsageError as error:
        return str(error.format_message())
    return None


def unknown(arguments: list[str]) -> str | None:
    """The first unknown command or option, or None."""
    command: Any = _command_line()
    for word in arguments:
        subcommands = getattr(command, "commands", {})
        if subcommands and not word.startswith("-"):
            if word not in subcommands:
                return word
            command = subcommands[word]
        elif word.startswith("--"):
            options = {name for option in command.params for name in option.opts}
            if word.split("=")[0] not in {*options, "--help"}:
                return word
    return None


def numbers(text: str) -> set[str]:
    """Every number of the prose, except in code and link targets."""
    prose = re.sub(r"\]\([^)]*\)", "]", _prose(text))
    return set(re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", prose))


if __name__ == "__main__":
    for page in written(Path(__file__).resolve().parents[1]):
        before = page.read_text(encoding="utf-8")
        if wrapped(before) != before:
            page.write_text(wrapped(before), encoding="utf-8")
