# SPDX-License-Identifier: Apache-2.0
"""Writes a model for other software (`blockful export`)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run, located_run


class ExportForm(StrEnum):
    """Target format of an exported model."""

    HUGGING_FACE = "hf"


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The name of the model.")],
    to: Annotated[ExportForm, typer.Option("--to", help="The form: a folder for the Hugging Face hub.")],
    licence: Annotated[
        str, typer.Option("--license", metavar="ID", help="The licence of the weights, such as apache-2.0.")
    ],
    run: Run = LATEST,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="The new folder. Default: MODEL.", show_default=False
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The hub account with the models that this one was trained from.",
            show_default=False,
        ),
    ] = None,
    sign_key: Annotated[
        Path | None,
        typer.Option(
            "--sign-key",
            metavar="FILE",
            help="Also sign the folder with your private key in PEM, on P-256, P-384 or P-521.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decrypt a model's current version and write it with a model card, its proof and its certificate.

    The folder has the decrypted weights and their data key: no erasure reaches it.  It can be uploaded to the
    Hugging Face hub unchanged (extra `hf`).

    Example: blockful export r6 --to hf --license apache-2.0 --output r6-hf --run runs/latest/parallel
    """
    run = located_run(run)
    from blockful_py.crypto.pem import read_private_key
    from blockful_py.export.exported import exported
    from blockful_py.export.folder import write_folder
    from blockful_py.pipeline.federation import Federation

    out = Output(as_json)
    if sign_key is not None:
        read_private_key(sign_key)
    with Federation.open(run) as federation:
        found = exported(federation, model, out)
    folder = output or Path(model)
    files = write_folder(folder, found, licence, namespace, sign_key)
    out.result({"folder": str(folder), "to": to.value, "files": [path.name for path in files]})
    out.say(f"{model}, version {found.placed.version}, is decrypted in {folder}:")
    for path in files:
        out.say(f"  {path.name}")
