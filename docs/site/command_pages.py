# SPDX-License-Identifier: Apache-2.0
"""A page for each heading of `blockful --help`: every command with its arguments, options and example."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

from blockful_py.cli.commands import SECTIONS
from blockful_py.cli.main import NAME, command_line

Pages = dict[str, str]


def command_pages() -> Pages:
    """Markdown by path on the site."""
    commands = command_line().commands
    return {
        f"reference/commands/{heading.lower().replace(' ', '-')}.md": "\n\n".join(
            [
                f"# {heading}",
                *(part for row in rows for part in _described(NAME, row.name, commands[row.name])),
            ]
        )
        for heading, rows in SECTIONS.items()
    }


def _described(called: str, name: str, command: Any) -> Iterator[str]:
    """A command, or all commands of a group."""
    words = f"{called} {name}"
    if hasattr(command, "commands"):
        for below in command.commands:
            yield from _described(words, below, command.commands[below])
        return
    context = command.context_class(command, info_name=words)
    yield f"## {words}"
    yield cleandoc(command.help)
    yield _fenced(command.get_usage(context).removeprefix("Usage: "))
    rows = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    described = [(f"`{left.strip()}`", right.strip()) for left, right in filter(None, rows)]
    yield "\n".join(
        [
            "| argument or option | meaning |",
            "|---|---|",
            *(f"| {_cell(a)} | {_cell(b)} |" for a, b in described),
        ]
    )
    example = command.epilog.removeprefix("\b\n").removeprefix("Example: ")
    yield f"Example:\n\n{_fenced(example)}"


def _fenced(text: str) -> str:
    return f"```sh\n{text}\n```"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
