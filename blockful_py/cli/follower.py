# SPDX-License-Identifier: Apache-2.0
"""Follows both chains for all parties of this machine (`blockful follower`)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import ArchiveUrl, AsJson, LiveUrl
from blockful_py.errors import SettingsError


def follower(
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    port: Annotated[int, typer.Option(help="Port to listen on. 0 takes a free port.", min=0, max=65535)] = 0,
    as_json: AsJson = False,
) -> None:
    """Follow both chains for all members and participants of this machine, until stopped (Ctrl-C).

    Give them its URLs in place of the nodes'.  They ask it, and it asks the nodes once for all.  It
    listens on the loopback interface alone.

    Example: blockful follower --live-url http://10.0.0.7:8545 --archive-url http://10.0.0.7:8546 --port 8600
    """
    if not live_url or not archive_url:
        raise SettingsError("name the chains' nodes: give --live-url and --archive-url.")
    from blockful_py.chain.follower import ChainFollower
    from blockful_py.chain.follower_server import FollowerServer
    from blockful_py.chain.node import connect

    out = Output(as_json)
    with ExitStack() as stack:
        nodes = {"live": connect(live_url), "archive": connect(archive_url)}
        followers = {name: ChainFollower(node.rpc) for name, node in nodes.items()}
        server = stack.enter_context(FollowerServer(followers, port))
        out.line({"live": server.urls["live"], "archive": server.urls["archive"]})
        out.say(f"the live chain is at {server.urls['live']}, the archive chain at {server.urls['archive']}")
        server.serve()
