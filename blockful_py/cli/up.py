# SPDX-License-Identifier: Apache-2.0
"""Runs a whole federation of machines on this one (`blockful up`, `down`, `ps`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, LabelColumn, Overrides, PersonColumn
from blockful_py.cli.own_files import OwnFiles
from blockful_py.errors import RunError
from blockful_py.settings.text import read_document

PACKAGE = Path(__file__).parents[1]
FOLDER = Path(".blockful/federation")
EXAMPLE = Path("examples/machines.toml")
"""Default settings of a federation: the clone's, or the package's."""

Folder = Annotated[Path, typer.Option("--folder", metavar="DIR", help="The folder of all its processes.")]


def up(
    settings_file: Annotated[
        Path | None,
        typer.Argument(metavar="[SETTINGS]", help=f"A TOML file. Default: {EXAMPLE}.", show_default=False),
    ] = None,
    folder: Folder = FOLDER,
    members: Annotated[int, typer.Option(help="Members of the committee.", min=1, max=100)] = 4,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="A participant's own rows: CSV, parquet, or a folder of images. Repeat for each.",
            show_default=False,
        ),
    ] = None,
    label: LabelColumn = None,
    person: PersonColumn = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Start a federation on this machine: two chains, members, and participants with their own data.

    Each is a process; the command shows the commands for separate machines.  Run it again to
    continue a federation that was stopped.

    Example: blockful up --members 4
    """
    settings_file = settings_file or next(filter(Path.exists, (EXAMPLE, PACKAGE / EXAMPLE)))
    read_document(settings_file)  # before the imports, which take seconds
    from blockful_py.cli.local_federation import LocalFederation

    out = Output(as_json)
    federation = LocalFederation(folder, out.progress)
    federation.up(settings_file, overrides or (), members, OwnFiles.read(data or (), label, person))
    running = sorted(each.name for each in federation.services() if each.is_running())
    first = federation.participants[0]
    one = folder / first
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
        ("certificate", one, "1", "--output", "erasure.json", "--wait", "300"),
    ):
        out.command("blockful", "participant", *command)
    out.command("blockful", "verify", "--run", one / "run")
    out.command("blockful", "down", "--folder", folder)


def down(folder: Folder = FOLDER, as_json: AsJson = False) -> None:
    """Stop the federation that `up` started, keeping its data for the next `up`.

    Example: blockful down
    """
    if not folder.exists():
        raise RunError(f"there is no federation in {folder}: name its folder with --folder.")
    from blockful_py.cli.local_federation import LocalFederation

    out = Output(as_json)
    ended = LocalFederation(folder, out.progress).down()
    out.result({"stopped": [each.name for each in ended]})
    out.say(f"stopped {len(ended)} processes and the chains; their data stays in {folder}")


def ps(folder: Folder = FOLDER, as_json: AsJson = False) -> None:
    """Show the processes of the federation that `up` started, and the last output of stopped ones.

    Ends with status 1 if a process has ended.

    Example: blockful ps
    """
    if not folder.exists():
        raise RunError(f"there is no federation in {folder}: name its folder with --folder.")

    from blockful_py.chain.processes import last_lines
    from blockful_py.cli.local_federation import LocalFederation

    out, federation = Output(as_json), LocalFederation(folder, lambda text: None)
    listed = [(each, each.is_running()) for each in federation.services()]
    rows = [
        {
            "name": each.name,
            "process": each.pid,
            "running": running,
            "log": str(federation.folder / f"{each.name}.log"),
            "said": None if running else last_lines(federation.folder / f"{each.name}.log"),
        }
        for each, running in listed
    ]
    out.result({"folder": str(folder), "processes": rows})
    table = Table("name", "process", "state", "log", box=None, pad_edge=False)
    for row in rows:
        state = "runs" if row["running"] else "has ended"
        table.add_row(str(row["name"]), str(row["process"]), state, str(row["log"]))
    out.say(table)
    for row in rows:
        if not row["running"]:
            out.say(f"{row['name']} has ended; {row['said']}")
    if not all(running for _, running in listed):
        out.say("start what has ended again:")
        out.command("blockful", "up", "--folder", folder)
        raise typer.Exit(1)
