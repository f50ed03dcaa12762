# SPDX-License-Identifier: Apache-2.0
"""Every command explains itself, with an example that the command line accepts."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blockful_py.cli.commands import Group
from blockful_py.cli.main import command_line
from tests.cli.commands import blockful, blockful_process

ROWS = [row for rows in command_line().sections.values() for row in rows]
GROUPS = [row for row in ROWS if isinstance(row, Group)]
SENTENCES = re.compile(r"[A-Z\"`].*[.]")
COMMANDS = [
    *((row.name,) for row in ROWS),
    *((group.name, row.name) for group in GROUPS for row in group.commands),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example_of_the_command(tmp_path: Path, command: tuple[str, ...]) -> None:
    outcome = blockful(tmp_path, *command, "--help")
    assert outcome.status == 0
    (example,) = re.findall(r"Example: (.*)", outcome.out)
    assert example.startswith(" ".join(("blockful", *command)))
    for option in re.findall(r"(--[a-z-]+)", example):
        assert option in outcome.out.split("Example:")[0]
    assert "\\[" not in outcome.out
    assert outcome.err == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("columns", ["40", "80"])
def test_an_example_is_one_line_at_any_width(tmp_path: Path, columns: str) -> None:
    command = ("auditor", "add")
    outcome = blockful(tmp_path, *command, "--help", environment={"COLUMNS": columns})
    (example,) = re.findall(r"Example: (.*)", outcome.out)
    words = shlex.split(example)
    assert words[:3] == ["blockful", *command]
    assert words[-1].startswith("0x") and len(words[-1]) == 68


def test_help_is_full_sentences() -> None:
    found = dict(_texts(command_line(), ()))
    assert len(found) > 300
    assert {where: text for where, text in found.items() if not SENTENCES.fullmatch(text)} == {}


def test_options_are_named_alike_everywhere() -> None:
    """A short name always means the same option, and an option's value always has the same name."""
    spelled: dict[str, set[tuple[str, ...]]] = {}
    words: dict[str, set[str]] = {}
    for option in _options(command_line()):
        for name in option.opts:
            spelled.setdefault(name, set()).add(tuple(option.opts))
        if not option.is_flag:
            words.setdefault(option.opts[0], set()).add(option.metavar or "")
    assert {name: each for name, each in spelled.items() if len(each) > 1} == {}
    assert {name for name in spelled if name.startswith("--out")} == {"--output"}
    different = {name: each for name, each in words.items() if len(each) > 1}
    assert different == {
        "--checkpoint": {"FILE", "HASH"},
        "--data": {"", "DATA", "FILE"},
        "--output": {"DIR", "FILE"},
    }


def test_a_wrong_name_gets_one_suggestion(tmp_path: Path) -> None:
    error = blockful(tmp_path, "verfy").err
    assert error.count("Did you mean") == 1
    assert "'verify'" in error


def _options(command: Any) -> Iterator[Any]:
    """The options of a command and of those within."""
    yield from (each for each in command.params if each.param_type_name == "option")
    for name in getattr(command, "commands", ()):
        yield from _options(command.commands[name])


def _texts(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """All help of a command and its subcommands, by paragraph."""
    own = [("", command.help), *((each.name, getattr(each, "help", None)) for each in command.params)]
    for name, text in own:
        for number, paragraph in enumerate((text or "").split("\n\n")):
            yield " ".join((*path, name, str(number))), " ".join(paragraph.split())
    for name in getattr(command, "commands", ()):
        yield from _texts(command.commands[name], (*path, name))


def test_the_whole_help_names_every_command_and_the_exit_codes(tmp_path: Path) -> None:
    outcome = blockful_process(tmp_path, "--help")
    assert outcome.status == 0
    assert "Exit codes: 0 done" in outcome.out
    for row in ROWS:
        assert re.search(rf"^  {row.name} +{re.escape(row.summary)}$", outcome.out, re.MULTILINE)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_the_help_of_a_group_names_its_commands(tmp_path: Path, group: Group) -> None:
    outcome = blockful(tmp_path, group.name, "--help")
    for row in group.commands:
        assert re.search(rf"^  {row.name} +{re.escape(row.summary)}$", outcome.out, re.MULTILINE)


def test_summaries_are_sentences_that_fit_a_line_of_80_columns() -> None:
    rows = [*ROWS, *(row for group in GROUPS for row in group.commands)]
    assert [row.name for row in rows if not SENTENCES.fullmatch(row.summary)] == []
    assert [row.name for row in rows if len(row.summary) > 62] == []


def test_no_help_imports_anything_slow() -> None:
    program = (
        "import sys\nfrom blockful_py.cli.main import main\n"
        f"for command in {COMMANDS!r}:\n"
        "    try:\n        main([*command, '--help'])\n    except SystemExit:\n        pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = set(done.stderr.split())
    assert "blockful_py.cli.committee_member" in found
    assert not {"torch", "web3", "matplotlib", "scipy", "sklearn", "requests"} & found


@pytest.mark.parametrize(
    ("arguments", "imported"),
    [(["--help"], []), (["committee", "--help"], []), (["dmeo"], []), (["cid", "--help"], ["files"])],
    ids=["help", "group", "typo", "command"],
)
def test_only_the_command_asked_about_is_imported(arguments: list[str], imported: list[str]) -> None:
    modules = {row.function.partition(":")[0] for row in ROWS if not isinstance(row, Group)}
    modules |= {row.function.partition(":")[0] for group in GROUPS for row in group.commands}
    program = (
        "import sys\nfrom blockful_py.cli.main import main\n"
        f"try:\n    main({arguments})\nfinally:\n"
        "    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    found = set(done.stderr.split())
    assert sorted(name for name in modules if f"blockful_py.cli.{name}" in found) == imported
    assert not {"torch", "web3", "matplotlib", "scipy", "sklearn"} & found


def test_the_version_is_printed(tmp_path: Path) -> None:
    outcome = blockful_process(tmp_path, "--version")
    assert outcome.status == 0
    assert re.fullmatch(r"blockful \d+\.\d+\.\d+\n", outcome.out)


@pytest.mark.parametrize(
    "arguments",
    [("dmeo",), ("unlearn", "--class", "three"), ("unlearn", "--paradigm", "both"), ("verify", "--run")],
)
def test_arguments_that_are_none_end_with_usage(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    outcome = blockful(tmp_path, *arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert "Usage:" in outcome.err or outcome.err.startswith("Error:")
    assert "Traceback" not in outcome.err
