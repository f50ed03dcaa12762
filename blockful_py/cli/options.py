# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.errors import SettingsError
from blockful_py.types import Address

if TYPE_CHECKING:
    from blockful_py.member.endpoints import Urls
    from blockful_py.record.model_node import PlacedNode

SettingsFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[SETTINGS]", help="A TOML file such as examples/paper14.toml.", show_default=False
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Override a setting, such as learning.epochs=5. Repeatable.",
    ),
]


def located_run(path: Path) -> Path:
    """The run that --run names; for a demo, tells which of its two runs it is.  Raises RunError."""

    from blockful_py.pipeline.run.finding import followed, located

    run = located(path)
    if run != followed(path):
        typer.echo(f"{path} is a demo: using its run {run}", err=True)
    return run


Run = Annotated[
    Path,
    typer.Option(
        "--run",
        "-r",
        metavar="DIR",
        help="The run directory. For a demo, the parallel run is used.",
    ),
]
"""Read-only commands and `resume` default to LATEST; others require --run."""
OptionalRun = Annotated[
    Path | None,
    typer.Option(
        "--run",
        "-r",
        metavar="DIR",
        help="The run directory. For a demo, the parallel run is used.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not show progress.")]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help="File whose first line is the passphrase. Default: FOLDER.words beside a party's folder, "
        "$BLOCKFUL_PASSPHRASE, or a prompt.",
    ),
]
SignKey = Annotated[
    Path,
    typer.Option(
        "--sign-key",
        metavar="FILE",
        help="Your private key in PEM, on P-256, P-384 or P-521, unencrypted.",
        show_default=False,
    ),
]

Monitor = Annotated[
    str | None,
    typer.Option(
        "--monitor",
        metavar="ADDRESS:PORT",
        help="Serve /metrics and /healthz there, over plain HTTP, on the loopback interface or in a private "
        "network. Default: nowhere.",
        show_default=False,
    ),
]

Account = Annotated[str, typer.Argument(metavar="ACCOUNT", help="The address of the account, 0x...")]

LiveUrl = Annotated[
    list[str] | None,
    typer.Option("--live-url", help="Node of the live chain. Repeatable. Default: the run's nodes."),
]
ArchiveUrl = Annotated[
    list[str] | None,
    typer.Option(
        "--archive-url",
        help="Node of the archive chain. Repeatable. Default: the run's nodes.",
    ),
]

MethodName = Annotated[
    str | None,
    typer.Option(
        help="A method of docs/reference/unlearning.md, or your own as module:Class. Default: the "
        "settings' method, or the best one that the situation allows."
    ),
]
AllowedCode = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="MODULE:OBJECT",
        help="Code that the federation file and requests may name here: a model, a trainer, an unlearning "
        "method. Repeatable; replaces the earlier list.",
        show_default=False,
    ),
]

OwnCallbacks = Annotated[
    list[str] | None,
    typer.Option(
        "--callback",
        metavar="NAME",
        help="Receives the participant's events: mlflow, or module:Class. Repeatable; replaces earlier ones.",
        show_default=False,
    ),
]

LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column of the labels in --data. Default: label, class, target or y, else the last one.",
        show_default=False,
    ),
]

PersonColumn = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="Column of --data that identifies each row's person. It is no feature and never leaves the "
        "folder; `participant forget-person` finds rows by it.",
        show_default=False,
    ),
]

Wait = Annotated[
    float,
    typer.Option("--wait", metavar="SECONDS", help="Maximum wait until the request is complete.", min=0),
]

RUNS = Path("runs")
LATEST = RUNS / "latest"

MemberOption = Annotated[
    Path | None,
    typer.Option(
        "--member",
        metavar="FOLDER",
        help="The folder of a member of a federation of machines, in place of a run.",
        show_default=False,
    ),
]

FederationOption = Annotated[
    Path | None,
    typer.Option(
        "--federation",
        metavar="FILE",
        help="The federation file, for a federation of machines.",
        show_default=False,
    ),
]


def new_run() -> Path:
    """A new run directory, `runs/<UTC time>`."""
    return RUNS / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")


def spent(placed: PlacedNode) -> dict[str, float] | None:
    """Privacy loss (epsilon, delta) of a model's training; None if it added no noise."""
    privacy = placed.node.statement.privacy
    return None if privacy is None else {"epsilon": privacy.epsilon, "delta": privacy.delta}


def urls(live: list[str] | None, archive: list[str] | None) -> Urls | None:
    """The URLs of both chains, or None.  Raises SettingsError for one URL without the other."""
    if bool(live) != bool(archive):
        raise SettingsError("give --live-url and --archive-url, or neither.")
    if not live or not archive:
        return None
    from blockful_py.member.endpoints import Urls

    return Urls(tuple(live), tuple(archive))


def address(text: str) -> Address:
    """Parses an address.  Raises SettingsError if `text` is not an address."""
    try:
        raw = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raw = b""
    if len(raw) != 20:
        raise SettingsError(f"{text!r} is not an address of 20 bytes such as 0x12...ef.")
    return raw
