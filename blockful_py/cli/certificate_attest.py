# SPDX-License-Identifier: Apache-2.0
"""Writes a certificate as a signed in-toto statement (`blockful certificate attest`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Overrides, Run, SignKey, located_run
from blockful_py.errors import SettingsError

if TYPE_CHECKING:
    from blockful_py.settings import ControllerSettings, Settings

SECTION = "controller."


def attest(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    sign_key: SignKey,
    run: Run = LATEST,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write. Default: the certificate's name with .intoto.json.",
            show_default=False,
        ),
    ] = None,
    overrides: Overrides = None,
    told: Annotated[
        list[str] | None,
        typer.Option("--told", metavar="NAME", help="A recipient you informed of the erasure. Repeatable."),
    ] = None,
    copies: Annotated[
        list[str] | None,
        typer.Option(
            "--copy",
            metavar="WHAT=DAY",
            help='A further readable copy and its expiry date, such as "backup 7=2026-09-30", or '
            "`never`. Repeatable.",
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Decrypted weights of a new version, to add as a subject."),
    ] = None,
    data_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The data key of --weights, from `read` or `export`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a certificate as an in-toto statement in a DSSE envelope, signed with your key (extra `sign`).

    The command first verifies the certificate on the chains of the run.  The statement names the controller
    in the settings; here, --set overrides only settings of the section `controller`.  Subjects are the sealed
    weights of the new versions.  `blockful certificate verify --attestation` and any in-toto tool can check
    the envelope.

    Example: blockful certificate attest erasure.json --sign-key key.pem --set controller.name=Clinic
    """
    run = located_run(run)
    from blockful_py.crypto.pem import read_private_key
    from blockful_py.keys.data_key import read_data_key
    from blockful_py.pipeline import attesting
    from blockful_py.pipeline.federation import Federation
    from blockful_py.record.certificates.document import parse_certificate
    from blockful_py.record.fields import read_document
    from blockful_py.whole_file import write_whole

    out = Output(as_json)
    if (weights is None) != (data_key is None):
        raise SettingsError("give --weights and --data-key, or neither: a key shows whose weights they are.")
    clear = []
    if weights is not None and data_key is not None:
        clear = [attesting.ClearWeights(weights, read_data_key(data_key))]
    key = read_private_key(sign_key)
    certificate = read_document(file, "certificate", parse_certificate)
    further = _copies(copies or [])
    with Federation.open(run) as federation:
        said = attesting.Said(_controller(federation.settings, overrides or []), told or [], further)
        data, subjects = attesting.attest(federation, certificate, key, said, clear)
    path = output or file.with_suffix(".intoto.json")
    write_whole(path, data)
    out.result({"file": str(path), "subjects": {each.name: each.sha256 for each in subjects}})
    out.say(f"{path}: a signed statement with {len(subjects)} subjects. To check it with your public key:")
    out.command(
        "blockful", "certificate", "verify", file, "--attestation", path, "--public-key", "key.pub.pem"
    )


def _controller(settings: Settings, overrides: Sequence[str]) -> ControllerSettings:
    from blockful_py.settings import Settings
    from blockful_py.settings.text import apply_override

    document = settings.to_json()
    for each in overrides:
        if not each.strip().startswith(SECTION):
            raise SettingsError(f"here, --set takes settings of the section `controller`, not {each!r}.")
        apply_override(document, each)
    return Settings.parse(document).controller


def _copies(texts: Sequence[str]) -> Mapping[str, date | None]:
    found: dict[str, date | None] = {}
    for text in texts:
        what, _, day = text.rpartition("=")
        try:
            found[what] = None if day == "never" else date.fromisoformat(day)
        except ValueError:
            what = ""
        if not what:
            raise SettingsError(
                f"--copy takes WHAT=DAY, such as backup=2026-09-30 or backup=never, not {text!r}."
            )
    return found
