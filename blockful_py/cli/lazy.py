# SPDX-License-Identifier: Apache-2.0
"""Groups of commands that import the module of a command on its first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from blockful_py.cli.commands import Command, Group
from blockful_py.cli.logging_options import with_log_options

Sections = Mapping[str, tuple[Command | Group, ...]]


class LazyGroup(TyperGroup):
    """A group that lists its commands from a table."""

    sections: Sections

    def fill(self, sections: Sections) -> LazyGroup:
        """Sets the commands of the group, by heading."""
        self.sections = sections
        self.commands: Any = _Loaded({row.name: row for rows in sections.values() for row in rows})
        return self

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolves a command with typer's suggestion only; some versions of click add their own."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            if "Did you mean" in getattr(error, "message", "") and getattr(error, "possibilities", None):
                error.possibilities = None  # type: ignore[attr-defined]
            raise

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for heading, rows in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(row.name.ljust(width), row.summary) for row in rows])


class _PlainCommand(TyperCommand):
    """A command whose help has no backslashes before brackets.

    Some versions of typer escape brackets for rich, which does not print this help.
    """

    def get_help(self, ctx: Any) -> str:
        return super().get_help(ctx).replace("\\[", "[")


class _Loaded(Mapping[str, Any]):
    """Click commands by name, created on lookup."""

    def __init__(self, rows: Mapping[str, Command | Group]) -> None:
        self._rows = rows

    def __getitem__(self, name: str) -> Any:
        row = self._rows[name]
        return _group(row) if isinstance(row, Group) else _command(row)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _group(row: Group) -> LazyGroup:
    group = LazyGroup(
        name=row.name,
        help=row.summary,
        epilog=_unwrapped(f"Example: blockful {row.name} {row.commands[0].name} --help"),
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    return group.fill({"Commands": row.commands})


def _command(row: Command) -> Any:
    """Builds a command whose epilog is the example, the last paragraph of its docstring."""
    module, _, name = row.function.partition(":")
    function = getattr(import_module(f"blockful_py.cli.{module}"), name)
    text, _, example = cleandoc(function.__doc__ or "").rpartition("\n\nExample: ")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    epilog = _unwrapped(f"Example: {' '.join(example.split())}") if example else None
    alone.command(row.name, cls=_PlainCommand, help=text, epilog=epilog)(function)
    made = get_command(alone)
    return made if row.log is None else with_log_options(made, row.log)


def _unwrapped(line: str) -> str:
    """A help paragraph that stays on one line, so that it can be copied."""
    return f"\b\n{line}"
