# SPDX-License-Identifier: Apache-2.0
"""Groups of commands that import the module of a command on its first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from blockful_py.cli.commands import Command, Group, Sections
from blockful_py.errors import SettingsError
from blockful_py.monitoring.logs import FORMAT, LEVEL, LogFormat, LogLevel, set_up


class LazyGroup(TyperGroup):
    """A group that lists its commands from a table."""

    packages: Mapping[str, str]

    def fill(
        self,
        sections: Sections,
        added: Callable[[], Sections] = dict,
        packages: Mapping[str, str] | None = None,
    ) -> LazyGroup:
        """Sets the commands of the group, under their headings.

        Args:
            added: commands of other packages; called for a name outside of `sections`, and to list all.
            packages: the packages to install for commands that may be missing.
        """
        self.commands: Any = _Loaded(sections, added)
        self.packages = packages or {}
        return self

    @property
    def sections(self) -> Sections:
        """All commands under their headings, including commands of other packages."""
        loaded: _Loaded = self.commands
        return loaded.sections

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Resolves a command with typer's suggestion only; some versions of click add their own.

        Raises SettingsError for a command whose package is not installed.
        """
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            if args[0] in self.packages:
                package = self.packages[args[0]]
                raise SettingsError(
                    f"`blockful {args[0]}` is in the package {package}: pip install {package}."
                ) from None
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

    def __init__(self, own: Sections, added: Callable[[], Sections]) -> None:
        self._own = own
        self._added = added
        self._own_rows = _by_name(own)

    @cached_property
    def sections(self) -> Sections:
        """All commands.  An added one cannot replace another."""
        found = dict(self._own)
        for heading, rows in self._added().items():
            new = tuple(row for row in rows if row.name not in self._own_rows)
            found[heading] = (*found.get(heading, ()), *new)
        return found

    @cached_property
    def _rows(self) -> Mapping[str, Command | Group]:
        return _by_name(self.sections)

    def __getitem__(self, name: str) -> Any:
        row = self._own_rows[name] if name in self._own_rows else self._rows[name]
        return _group(row) if isinstance(row, Group) else _command(row)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _by_name(sections: Sections) -> dict[str, Command | Group]:
    return {row.name: row for rows in sections.values() for row in rows}


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
    function = getattr(import_module(f"{row.package}.{module}"), name)
    text, _, example = cleandoc(function.__doc__ or "").rpartition("\n\nExample: ")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    epilog = _unwrapped(f"Example: {' '.join(example.split())}") if example else None
    alone.command(row.name, cls=_PlainCommand, help=text, epilog=epilog)(function)
    made = get_command(alone)
    return made if row.log is None else with_log_options(made, row.log)


def _unwrapped(line: str) -> str:
    """A help paragraph that stays on one line, so that it can be copied."""
    return f"\b\n{line}"


def with_log_options(command: Any, default: LogLevel) -> Any:
    """The click command `command` with log options; it sets up its logs before it runs."""
    run = command.callback

    def logged(log_format: Any, log_level: Any, **arguments: Any) -> Any:
        set_up(log_format, log_level, default)
        return run(**arguments)

    options = typer.Typer(add_completion=False)
    options.command()(_options)
    added: Any = get_command(options).params
    added[-1].help += f" Default: {default}."
    names = [each.name for each in command.params]
    at = names.index("as_json") if "as_json" in names else len(names)
    command.params[at:at] = added
    command.callback = logged
    return command


def _options(
    log_format: Annotated[
        LogFormat | None,
        typer.Option(
            "--log-format",
            envvar=FORMAT,
            help="Format of the log on standard error. Default: text.",
            show_default=False,
        ),
    ] = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option("--log-level", envvar=LEVEL, help="The minimum level logged.", show_default=False),
    ] = None,
) -> None: ...
