# SPDX-License-Identifier: Apache-2.0
"""Writes example settings into the current folder (`blockful init`)."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson
from blockful_py.errors import SettingsError
from blockful_py.settings.text import read_document


def init(
    example: Annotated[
        str,
        typer.Argument(
            metavar="[EXAMPLE]", help="One of paper14, scripted, organic, private, cifar10, machines."
        ),
    ] = "paper14",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The new file. Default: EXAMPLE.toml.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the settings of an example into a file, to start from.

    Example: blockful init organic --output mine.toml
    """
    examples = {
        file.name.removesuffix(".toml"): file
        for file in (resources.files("blockful_py") / "examples").iterdir()
        if file.name.endswith(".toml")
    }
    if example not in examples:
        raise SettingsError(f"there is no example {example!r}: choose one of {', '.join(sorted(examples))}.")
    path = output or Path(f"{example}.toml")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(examples[example].read_text(encoding="utf-8"))
    except FileExistsError:
        raise SettingsError(f"{path} exists and was not changed: choose another --output.") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}; choose another --output.") from None
    out = Output(as_json)
    out.result({"settings": str(path)})
    out.say(f"wrote {path}; edit it as you like, then:")
    elected = read_document(path).get("committee", {}).get("roster") == "elected"
    out.command("blockful", "up" if elected else "train", path)
