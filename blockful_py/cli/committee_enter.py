# SPDX-License-Identifier: Apache-2.0
"""Gives a member a new federation file (`blockful committee enter`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AllowedCode, ArchiveUrl, AsJson, LiveUrl, PassphraseFile
from blockful_py.cli.parties import member_run
from blockful_py.cli.passphrase import passphrase_from


def enter(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The member's folder.")],
    federation: Annotated[
        Path, typer.Option("--federation", metavar="FILE", help="The federation file (federation.toml).")
    ],
    live_url: LiveUrl = None,
    archive_url: ArchiveUrl = None,
    allow: AllowedCode = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Check a federation file against the chains and have the member follow it, even while it serves.

    A member follows changes of the file by itself; use this command for a file that no other member serves.

    Example: blockful committee enter members/1 --federation federation.toml
    """
    from blockful_py.committee.service.folder import keys_in

    out = Output(as_json)
    keys = keys_in(folder, passphrase_from(passphrase_file, folder))
    run = member_run(folder, None, federation, live_url, archive_url, keys, allow)
    out.result({"run": str(run)})
    out.say(f"the member in {folder} follows {federation}")
