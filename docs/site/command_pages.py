# SPDX-License-Identifier: Apache-2.0
"""A page for each heading of `blockful --help`: every command with its arguments, options and example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import cleandoc
from typing import Any

from blockful_py.cli.main import NAME, command_line

Pages = dict[str, str]


def command_pages() -> Pages:
    """Markdown by path on the site."""
    group = command_line()
    return {
        f"reference/commands/{heading.lower().replace(' ', '-')}.md": "\n\n".join(
            [
                f"# {heading}",
                *(part for row in rows for part in _described(NAME, row.name, group.commands[row.name])),
            ]
        )
        for heading, rows in group.sections.items()
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
    yield _table(
        parameter.get_help_record(context)
        for parameter in command.get_params(context)
        if parameter.name != "help"
    )
    example = command.epilog.removeprefix("\b\n").removeprefix("Example: ")
    yield f"Example:\n\n{_fenced(example)}"


def _fenced(text: str) -> str:
    return f"```sh\n{text}\n```"


def _table(records: Iterable[tuple[str, str] | None]) -> str:
    """Arguments and options with their meaning.  A pipe divides cells, but not inside code."""
    rows = [(left.strip(), " ".join(right.split())) for left, right in filter(None, records)]
    described = [f"| `{left}` | {right.replace('|', chr(92) + '|')} |" for left, right in rows]
    return "\n".join(["| argument or option | meaning |", "|---|---|", *described]) if rows else ""
