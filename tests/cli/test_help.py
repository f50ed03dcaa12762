# SPDX-License-Identifier: Apache-2.0
"""Every command explains itself, with an example that the command line accepts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.commands import blockful, blockful_process

COMMANDS = (
    ("cid",),
    ("data",),
    ("demo",),
    ("devnet",),
    ("devnet", "up"),
    ("devnet", "status"),
    ("devnet", "down"),
    ("deploy",),
    ("train",),
    ("unlearn",),
    ("jobs",),
    ("resume",),
    ("abort",),
    ("verify",),
    ("export-proof",),
    ("verify-proof",),
    ("audit",),
    ("certificate", "issue"),
    ("certificate", "show"),
    ("certificate", "verify"),
    ("graph",),
    ("read",),
    ("reader", "keygen"),
    ("reader", "register"),
    ("reader", "leave"),
    ("reader", "bar"),
    ("reader", "readmit"),
    ("auditor", "add"),
    ("auditor", "remove"),
    ("expire",),
    ("report",),
    ("committee", "init"),
    ("committee", "serve"),
    ("committee", "status"),
    ("committee", "join"),
    ("committee", "rotate"),
    ("committee", "agree"),
    ("committee", "leave"),
    ("committee", "keygen"),
    ("committee", "risk"),
    ("experiment", "audit"),
    ("experiment", "tables"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example_of_the_command(tmp_path: Path, command: tuple[str, ...]) -> None:
    outcome = blockful(tmp_path, *command, "--help")
    assert outcome.status == 0
    (example,) = re.findall(r"Example: (.*)", outcome.out)
    assert example.startswith(" ".join(("blockful", *command)))
    for option in re.findall(r"(--[a-z-]+)", example):
        assert command == ("devnet",) or option in outcome.out.split("Example:")[0]
    assert outcome.err == ""
    assert list(tmp_path.iterdir()) == []


def test_the_whole_help_names_every_command_and_the_exit_codes(tmp_path: Path) -> None:
    outcome = blockful_process(tmp_path, "--help")
    assert outcome.status == 0
    assert "Exit codes: 0 done" in outcome.out
    for command in {command[0] for command in COMMANDS}:
        assert re.search(rf"^\s+{command}\s", outcome.out, re.MULTILINE)


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
