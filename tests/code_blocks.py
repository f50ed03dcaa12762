# SPDX-License-Identifier: Apache-2.0
"""Checks the code blocks of the documentation; the Python ones are run instead."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

from blockful_py.cli.main import command_line
from blockful_py.errors import SettingsError
from blockful_py.settings import Settings
from blockful_py.settings.limits import OwnerLimits
from blockful_py.settings.text import apply_override
from blockful_py.settings.validation import validated
from tests.documents import refused

FENCED = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
SETTING = re.compile(
    r"`\[?((?:{})(?:\.\w+)+)\]?(?: ?=[^`]*)?`".format("|".join(x.name for x in fields(Settings)))
)
OPTION = re.compile(r"`(--[a-z][\w-]*)(?:[ =][^`]*)?`")
TARGET = re.compile(r"`make ([a-z][\w-]*)`")

FOREIGN = frozenset({"--allow", "--build-arg", "--hardfork", "--hosts", "--ignore-paths", "--num-cpus"})
"""Options of other programs that sentences name."""

LANGUAGES = frozenset({"diff", "json", "python", "sh", "solidity", "text", "toml"})
"""The language `text` is for output, formulas and formats, which nobody types.

Only paper-to-code.md has Solidity.
"""

PROGRAMS = frozenset(
    ["base64", "brownie", "cd", "cp", "curl", "docker", "gh", "git", "head", "hf", "jq", "mkdir", "ray"]
) | {"model_signing", "mv", "openssl", "printf", "umask"}
WORDS = frozenset({".", "at", "done", "export", "for"})
"""Begin commands beside blockful, make, pip, Python and other programs: words of the shell, and `at`, a
function of deploy/compose."""


@dataclass(frozen=True)
class Block:
    """A fenced block, by page and line of its first line of code."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page in their order, without their indentation."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, match.start(3)) + 1,
            match[2].strip(),
            re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE),
        )
        for match in FENCED.finditer(text)
    ]


def problems(block: Block, root: Path) -> list[str]:
    """The faults of the code blocks in the documentation of the repository at `root`."""
    check = {"json": _json, "sh": _shell, "toml": _toml}.get(block.language)
    if block.language not in LANGUAGES:
        return [f"{block}: name the block's language, one of {', '.join(sorted(LANGUAGES))}"]
    return [f"{block}: {problem}" for problem in check(block.text, root)] if check else []


def program(page: Path) -> str:
    """The Python blocks of a page as one program, whose lines have the numbers of the page."""
    kept: dict[int, str] = {}
    for block in blocks(page):
        if block.language == "python":
            kept |= dict(enumerate(block.text.splitlines(), block.line))
    return "\n".join(kept.get(line, "") for line in range(1, max(kept, default=0) + 1))


def prose_problems(text: str, root: Path) -> list[str]:
    """Settings, options and targets of make that sentences name and that are not there."""
    prose, options = FENCED.sub("", text), _options()
    return [
        *(f"there is no setting {each}" for each in SETTING.findall(prose) if not _is_known(each, root)),
        *(f"no command has the option {each}" for each in sorted({*OPTION.findall(prose)} - options)),
        *(f"make has no target {each}" for each in TARGET.findall(prose) if each not in _targets(root)),
    ]


def _json(text: str, _root: Path) -> Iterator[str]:
    try:
        json.loads(text)
    except ValueError as error:
        yield str(error)


def _toml(text: str, _root: Path) -> Iterator[str]:
    """A block has settings of a job, or the limits of a participant."""
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        yield str(error)
        return
    named = {each.name for each in fields(Settings)}
    try:
        validated(Settings if named & document.keys() else OwnerLimits, document)
    except SettingsError as error:
        yield str(error)


def _shell(text: str, root: Path) -> Iterator[str]:
    for line in re.sub(r"\\\n *", " ", text).splitlines():
        try:
            commands = list(_commands(line))
        except ValueError as error:
            yield f"{line!r} cannot be read: {error}"
            continue
        for words in commands:
            yield from _command(words, root)


def _commands(line: str) -> Iterator[list[str]]:
    """The simple commands of a line, without the variables that they set and where their output goes."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.wordchars += "$:@%+,^{}![]"
    words: list[str] = []
    for token in [*lexer, ";"]:
        if token in {";", "|", "&&"}:
            if words:
                yield words
            words = []
        elif words[-1:] == [">"]:
            words.pop()
        elif words or not re.match(r"\w+=", token):
            words += [token] if token != "do" or words else []


def _command(words: list[str], root: Path) -> Iterator[str]:
    program, arguments = words[0].removeprefix(".venv/bin/"), words[1:]
    if program == "blockful":
        why = refused(arguments)
        if why:
            yield why
        yield from _overrides(arguments, root)
    elif program == "make":
        targets = [each for each in arguments if "=" not in each]
        yield from (f"make has no target {each}" for each in targets if each not in _targets(root))
    elif program == "pip":
        extras = {
            extra
            for each in re.findall(r"blockful\[([\w,]+)\]", " ".join(arguments))
            for extra in each.split(",")
        }
        yield from (f"there is no extra {each}" for each in sorted(extras - _extras(root)))
    elif program in {"python", "python3"}:
        yield from _module_or_script(arguments, root)
    elif program not in PROGRAMS | WORDS:
        yield f"{program!r} is no program that the documentation calls"


def _overrides(arguments: list[str], root: Path) -> Iterator[str]:
    """Settings that `--set` names wrongly, and settings files that are not there."""
    for option, override in pairwise(arguments):
        if option in {"--set", "-s"}:
            document: dict[str, Any] = {}
            try:
                apply_override(document, override)
                validated(Settings, document)
            except SettingsError as error:
                yield str(error)
    yield from (
        f"there is no {x}" for x in arguments if x.startswith("examples/") and not (root / x).exists()
    )


def _module_or_script(arguments: list[str], root: Path) -> Iterator[str]:
    if arguments[:1] == ["-m"]:
        path = root.joinpath(*arguments[1].split("."))
        if arguments[1] not in {"build", "venv"} and not (path.is_dir() or path.with_suffix(".py").is_file()):
            yield f"there is no module {arguments[1]}"
    elif arguments[:1] != ["-c"] and not (root / arguments[0]).is_file():
        yield f"there is no script {arguments[0]}"


def _targets(root: Path) -> set[str]:
    text = (root / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][\w-]*):", text, re.MULTILINE))


def _extras(root: Path) -> set[str]:
    document = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return set(document["project"]["optional-dependencies"])


def _is_known(path: str, root: Path) -> bool:
    """Whether dotted words name a setting, a file, or a module of the room of the section's name."""
    room, name, *_ = path.split(".")
    is_file = name in {"json", "lock", "py", "toml"}
    return is_file or (root / "blockful_py" / room / f"{name}.py").is_file() or _is_setting(path)


def _is_setting(path: str) -> bool:
    """Whether a dotted path leads to a setting or a section; tables with keys of one's own take any."""
    section: Any = Settings
    for name in path.split("."):
        hints = get_type_hints(section)
        if name not in hints:
            return False
        below = [each for each in (hints[name], *get_args(hints[name])) if is_dataclass(each)]
        if not below:
            return True
        section = below[0]
    return True


def _options() -> set[str]:
    """Every option of the command line, and options of other programs that sentences name."""

    def of(command: Any) -> Iterable[str]:
        for below in getattr(command, "commands", {}).values():
            yield from of(below)
        yield from (name for each in command.params for name in (*each.opts, *each.secondary_opts))

    return {*of(command_line()), "--help", "--install-completion", "--show-completion", *FOREIGN}
