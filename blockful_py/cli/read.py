# SPDX-License-Identifier: Apache-2.0
"""Decrypts a model for a registered reader (`blockful read`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, PassphraseFile, Run, located_run
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import SettingsError


def read(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The name of the model.")],
    reader: Annotated[Path, typer.Option("--reader", metavar="KEYFILE", help="The reader's secrets.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The new file for the weights.")
    ],
    version: Annotated[
        int | None, typer.Option(min=0, help="Read this version from the archive, as an auditor.")
    ] = None,
    data_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the data key to a new file (for `verify-proof`)."),
    ] = None,
    run: Run = LATEST,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Get the key of a model's current version from the committee, decrypt it, and write safetensors.

    With --version, read that version from the archive, as an auditor.

    Example: blockful read r6 --reader reader.json --output r6.safetensors --run runs/mine
    """
    run = located_run(run)
    from blockful_py.keys.data_key import write_data_key
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.learning.weights import to_bytes
    from blockful_py.pipeline.reader import ReaderSession
    from blockful_py.whole_file import write_secret

    out = Output(as_json)
    for path in (output, data_key):
        if path is not None and path.exists():
            raise SettingsError(f"{path} exists already: choose another file.")
    keys = ReaderKeys.load(reader, passphrase_from(passphrase_file))
    with ReaderSession(run, keys) as session:
        data = to_bytes(session.read(model) if version is None else session.read_archived(model, version))
        key = None if data_key is None else session.data_key(model, version)
    write_secret(output, data, SettingsError)
    if data_key is not None and key is not None:
        write_data_key(data_key, key)
    out.result({"model": model, "file": str(output), "bytes": len(data)})
    out.say(f"{model} is decrypted in {output} ({len(data)} bytes): keep it secret")
