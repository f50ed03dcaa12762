# SPDX-License-Identifier: Apache-2.0
"""Serves a web page that shows a federation (`blockful explorer`)."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import (
    LATEST,
    ArchiveUrl,
    AsJson,
    FederationOption,
    LiveUrl,
    Monitor,
    OptionalRun,
    located_run,
    urls,
)
from blockful_py.errors import SettingsError
from blockful_py.explorer.sign_in_message import require_origin

FOLDER = Path(".blockful/explorer")


def explorer(
    run: OptionalRun = None,
    federation: FederationOption = None,
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    jobs: Annotated[
        list[Path] | None,
        typer.Option(
            "--jobs",
            metavar="DIR",
            help="With --federation: also show the jobs of this run directory. Repeatable.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on. 0 takes a free port.", min=0, max=65535)] = 0,
    origin: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Address at which a proxy publishes the page, such as https://explorer.example.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Folder of the index and fetched public files."),
    ] = FOLDER,
    monitor: Monitor = None,
    as_json: AsJson = False,
) -> None:
    """Show a federation in the browser, read-only, until stopped (Ctrl-C).

    Shows a run, or with --federation a federation of machines.  That requires only the federation file and
    nodes of its chains, not membership.  A run's own chains are started while it is shown, and other commands
    on the run use them meanwhile.

    If its folder is removed, the index of the record is rebuilt from the chains.  The page is served over
    plain HTTP: let strangers reach it only through a proxy that adds TLS, and give its address with --origin.

    Example: blockful explorer --run runs/latest/parallel
    """
    if federation is None:
        shown, file = located_run(run or LATEST), b""
    else:
        shown, file = None, _file(federation, run, live_url, archive_url)
    out, place = Output(as_json), urls(live_url, archive_url)
    from blockful_py.explorer.explorer import Explorer
    from blockful_py.explorer.watched import folder_of, watched_federation, watched_run

    page = None if origin is None else require_origin(origin)
    with ExitStack() as stack:
        if shown is None:
            own = folder_of(folder, file)
            watched = stack.enter_context(watched_federation(file, place, own, jobs or ()))
        else:
            own = folder_of(folder, (shown / "run.json").resolve().as_posix().encode())
            watched = stack.enter_context(watched_run(shown, place, own / "events"))
        explorer = stack.enter_context(
            Explorer(watched, own, host, port, monitor=monitor, origin=page, progress=out)
        )
        out.line({"url": explorer.url, "monitor": explorer.monitor_url})
        out.say(f"the explorer of {watched.name} is at {explorer.url} (stop it with Ctrl-C)")
        if explorer.monitor_url:
            out.say(f"its metrics and health are at {explorer.monitor_url}")
        explorer.serve()
        if watched.demo_clock:
            out.say("the chains stop once no other command uses them")


def _file(
    federation: Path, run: Path | None, live_url: list[str] | None, archive_url: list[str] | None
) -> bytes:
    """Reads the federation file.  Raises SettingsError if the options do not fit it."""
    from blockful_py.record.federation_file import read_federation_file

    if run is not None:
        raise SettingsError("give --run, or --federation with the URLs of its chains.")
    if not live_url or not archive_url:
        raise SettingsError(
            "a federation of machines needs the chains' nodes: give --live-url and --archive-url."
        )
    return read_federation_file(federation)
