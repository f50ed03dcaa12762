# SPDX-License-Identifier: Apache-2.0
"""Prints the CID of a file, and removes the garbage that a crash left in a store."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson
from blockful_py.errors import SettingsError

STDIN = Path("-")


def cid(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file. - reads standard input.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Print the CID that a file has in a folder store or on an IPFS node.  Stores nothing.

    Example: blockful cid model.safetensors
    """
    from blockful_py.storage import cid_string, file_uri

    out = Output(as_json)
    try:
        with nullcontext(sys.stdin.buffer) if file == STDIN else file.open("rb") as stream:
            name = cid_string(file_uri(stream))
    except OSError as error:
        raise SettingsError(
            f"{file} cannot be read ({error.strerror}): give a file, or - for standard input."
        ) from None
    out.result({"file": str(file), "cid": name})
    out.say(name)


def sweep(
    stores: Annotated[
        list[Path],
        typer.Argument(
            metavar="STORE...", help="Store folders: `live` and `archive` of a run.", show_default=False
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Remove blocks of no kept file, and unfinished writes, that a crash left in store folders.

    This is safe while other processes use the stores.

    Example: blockful sweep runs/mine/live runs/mine/archive
    """
    from blockful_py.storage import ContentStore

    for store in stores:
        if not (store / "pins").is_dir():
            raise SettingsError(f"{store} is not a store: name the folder `live` or `archive` of a run.")
    out = Output(as_json)
    removed = {str(store): ContentStore(store).collect_garbage() for store in stores}
    out.result({"removed": removed})
    for name, blocks in removed.items():
        out.say(f"{name}: {blocks} blocks removed")
