# SPDX-License-Identifier: Apache-2.0
"""Gives a command the options that say how it logs."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from blockful_py.monitoring.logs import FORMAT, LEVEL, LogFormat, LogLevel, set_up


def with_log_options(command: Any, default: LogLevel) -> Any:
    """The click command `command`, which sets up its logs before it runs."""
    run = command.callback

    def logged(log_format: Any, log_level: Any, **arguments: Any) -> Any:
        set_up(log_format, log_level, default)
        return run(**arguments)

    options = typer.Typer(add_completion=False)
    options.command()(_options)
    helps = [each for each in command.params if each.name == "as_json"]
    at = command.params.index(helps[0]) if helps else len(command.params)
    command.params[at:at] = get_command(options).params
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
        typer.Option("--log-level", envvar=LEVEL, help="The least level that is logged.", show_default=False),
    ] = None,
) -> None: ...
