# SPDX-License-Identifier: Apache-2.0
"""Entry point of the command line; turns errors into messages and exit codes."""

from __future__ import annotations

import json
import os
import sys
from errno import ENOSPC
from importlib.metadata import version
from itertools import takewhile
from typing import Annotated, Any, cast

import typer

from blockful_py.cli.commands import PACKAGES, SECTIONS, Group, Sections, added_sections
from blockful_py.cli.lazy import LazyGroup
from blockful_py.errors import BlockfulError
from blockful_py.extras import needed_by
from blockful_py.monitoring import logs
from blockful_py.terminal import printable, show_all_characters

EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 bad settings or request, 3 verification failed, 4 chain, 5 storage, "
    "6 committee, 130 interrupted."
)

INTERRUPTED = 130

UsageError: Any = typer.BadParameter.__mro__[2]
"""Base class of typer's errors for wrong arguments; its public name differs between versions."""

NAME = "blockful"

app = typer.Typer(
    name=NAME,
    cls=LazyGroup,
    help="Unlearning in blockchained federated learning: models forget, their record still verifies.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"blockful {version('blockful')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and ends the process with its status."""
    words = sys.argv[1:] if arguments is None else arguments
    show_all_characters()
    try:
        logs.set_up()
        with needed_by(f"`blockful {_called(words)}`"):
            status = command_line().main(args=words, prog_name=NAME, standalone_mode=False)
    except BlockfulError as error:
        _fail(error, "--json" in words)
        status = error.exit_code
    except UsageError as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except BrokenPipeError:
        status = 0
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        status = _no_space(error)
    if status == INTERRUPTED:  # some versions of typer return it instead of raising
        sys.stderr.write("interrupted; the processes of this command were stopped\n")
    try:
        sys.stdout.flush()
    except OSError as error:
        status = _no_space(error)
    sys.exit(status if isinstance(status, int) else 0)


def command_line() -> LazyGroup:
    """All commands, for `main` and for tests of their arguments."""
    group: Any = typer.main.get_command(app)
    return cast(LazyGroup, group).fill(SECTIONS, added_sections, PACKAGES)


def _called(words: list[str]) -> str:
    """The name of the command in the arguments."""
    named = [*takewhile(lambda word: not word.startswith("-"), words), ""][:2]
    known = _groups(SECTIONS)
    if named[0] in PACKAGES:
        known |= _groups(added_sections())
    return " ".join(named if named[0] in known else named[:1])


def _groups(sections: Sections) -> set[str]:
    return {row.name for rows in sections.values() for row in rows if isinstance(row, Group)}


def _no_space(error: OSError) -> int:
    """Reports output or files that could not be written; returns the exit status."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards buffered output
    sys.stderr.write(f"error: {error.filename or 'the output'} could not be written: {error.strerror}.\n")
    return 1


def _fail(error: BlockfulError, as_json: bool) -> None:
    if as_json:
        document = {"error": {"kind": type(error).__name__, "message": str(error)}}
        sys.stdout.write(json.dumps(document, indent=2, sort_keys=True) + "\n")
    else:
        sys.stderr.write(printable(f"error: {error}\n"))


if __name__ == "__main__":
    main()
