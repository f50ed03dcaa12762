# SPDX-License-Identifier: Apache-2.0
"""Prints the CID of a file (`blockful cid`)."""

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
