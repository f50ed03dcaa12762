# SPDX-License-Identifier: Apache-2.0
"""`blockful up` and `blockful down`: a whole federation of machines on this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, LabelColumn, Overrides
from blockful_py.cli.parties import is_founded
from blockful_py.errors import RunError
from blockful_py.settings.text import read_document

FOLDER = Path(".blockful/federation")
SETTINGS = Path("examples/machines.toml")

Folder = Annotated[Path, typer.Option("--folder", metavar="DIR", help="The folder of all its processes.")]


def up(
    settings_file: Annotated[
        Path, typer.Argument(metavar="[SETTINGS]", help="A TOML file.", show_default=True)
    ] = SETTINGS,
    folder: Folder = FOLDER,
    members: Annotated[int, typer.Option(help="Members of the committee.", min=1, max=100)] = 4,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="A participant's own rows: CSV, parquet, or a folder of images. Repeat it, once for each.",
            show_default=False,
        ),
    ] = None,
    label: LabelColumn = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Start a federation on this machine: two chains, members, participants with data of their own.

    Each is a process; what is shown are the commands that a person would type on machines of their own.
    The same command goes on with a federation that was stopped.

    Example: blockful up --members 4
    """
    if settings_file != SETTINGS or not is_founded(folder):
        read_document(settings_file)  # before the imports, which take seconds
    from blockful_py.cli.local_federation import LocalFederation
    from blockful_py.cli.own_files import OwnFiles

    out = Output(as_json)
    federation = LocalFederation(folder, out.progress)
    federation.up(settings_file, overrides or (), members, OwnFiles.read(data or (), label))
    running = sorted(each.name for each in federation.services() if each.is_running())
    first = federation.participants[0]
    one, words = federation.party(first), federation.words(first)
    url = federation.explorer_url()
    copies = federation.shared.get("copies")
    out.result(
        {
            "folder": str(federation.folder),
            "running": running,
            "explorer": url,
            "copies": copies,
            "data": federation.brought,
        }
    )
    out.say(f"{len(running)} processes run, with two chains, in {folder}")
    if copies is not None:
        from blockful_py.learning.copies import Copies

        if said := Copies(**copies).said():
            out.say(said)
    for name, lines in federation.brought.items():
        for line in lines:
            out.say(f"{name}: {line}")
    out.say(f"watch it in the browser: {url}")
    out.say("try:")
    for command in (
        ("status", one),
        ("request", one, "--start", "r1", "--class", "0" if federation.has_own_files else "3"),
        ("certificate", one, "1", "--out", "erasure.json", "--wait", "300"),
    ):
        out.command("blockful", "participant", *command, "--passphrase-file", words)
    out.command("blockful", "verify", "--run", one / "run")
    out.command("blockful", "down", "--folder", folder)


def down(folder: Folder = FOLDER, as_json: AsJson = False) -> None:
    """Stop the federation that `up` started; its data stay for the next `up`.

    Example: blockful down
    """
    if not folder.exists():
        raise RunError(f"there is no federation in {folder}: name its folder with --folder.")
    from blockful_py.cli.local_federation import LocalFederation

    out = Output(as_json)
    ended = LocalFederation(folder, out.progress).down()
    out.result({"stopped": [each.name for each in ended]})
    out.say(f"stopped {len(ended)} processes and the chains; their data stay in {folder}")
