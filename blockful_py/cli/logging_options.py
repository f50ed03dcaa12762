# SPDX-License-Identifier: Apache-2.0
"""Adds the log options to a command."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from blockful_py.monitoring.logs import FORMAT, LEVEL, LogFormat, LogLevel, set_up


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
