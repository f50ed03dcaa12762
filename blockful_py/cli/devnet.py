# SPDX-License-Identifier: Apache-2.0
"""Starts and stops two development chains that outlive the command (`blockful devnet`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson

if TYPE_CHECKING:
    from blockful_py.chain.persistent import DevnetState
    from blockful_py.settings import Settings

FOLDER = Path(".blockful/devnet")
LIVE, ARCHIVE = 1337, 1338

Folder = Annotated[Path, typer.Option("--folder", metavar="DIR", help="The folder of the chains' data.")]


def up(
    live_port: Annotated[
        int | None,
        typer.Option(help="Port of the live chain. Default: the previous port, or a free one."),
    ] = None,
    archive_port: Annotated[
        int | None,
        typer.Option(help="Port of the archive chain. Default: the previous port, or a free one."),
    ] = None,
    folder: Folder = FOLDER,
    as_json: AsJson = False,
) -> None:
    """Start both chains in the background (Ganache, chain ids 1337 and 1338).

    Example: blockful devnet up --live-port 8545 --archive-port 8546
    """
    from blockful_py.chain import persistent

    out = Output(as_json)
    ran = any(state.is_running() for state in persistent.status(folder))
    with out.stage("start two chains", 2) as advance:
        states = []
        try:
            for chain_id, port in ((LIVE, live_port), (ARCHIVE, archive_port)):
                states.append(persistent.up(folder, chain_id, port))
                advance(1)
        except BaseException:
            if not ran:
                persistent.down(folder)
            raise
    _show(out, tuple(states))


def status(folder: Folder = FOLDER, as_json: AsJson = False) -> None:
    """Show which chains run.

    Example: blockful devnet status --json
    """
    from blockful_py.chain import persistent

    _show(Output(as_json), persistent.status(folder))


def down(folder: Folder = FOLDER, as_json: AsJson = False) -> None:
    """Stop both chains and keep their data for the next `up`.

    Example: blockful devnet down
    """
    from blockful_py.chain import persistent

    out = Output(as_json)
    ended = persistent.down(folder)
    out.result({"stopped": [state.chain_id for state in ended]})
    out.say(f"stopped {len(ended)} chains; their data stays in {folder}")


def with_running_devnets(settings: Settings, folder: Path = FOLDER) -> Settings:
    """Fills in the URLs of the running devnets if the settings have none."""
    from blockful_py.chain import persistent

    if settings.chain.live_url is not None or settings.chain.archive_url is not None:
        return settings
    urls = {state.chain_id: state.url for state in persistent.status(folder) if state.is_running()}
    if not {settings.chain.live_chain_id, settings.chain.archive_chain_id} <= urls.keys():
        return settings
    chain = replace(
        settings.chain,
        live_url=urls[settings.chain.live_chain_id],
        archive_url=urls[settings.chain.archive_chain_id],
    )
    return replace(settings, chain=chain)


def _show(out: Output, states: tuple[DevnetState, ...]) -> None:
    out.result([{"chain": s.chain_id, "url": s.url, "pid": s.pid, "running": s.is_running()} for s in states])
    for state in states:
        running = f"running, process {state.pid}" if state.is_running() else "not running"
        out.say(f"chain {state.chain_id} at {state.url}: {running}")
    if not states:
        out.say("no chains; start them with `blockful devnet up`")
