# SPDX-License-Identifier: Apache-2.0
"""Verifies models against the chains and the stores (`blockful verify`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, PassphraseFile, Quiet, Run, located_run
from blockful_py.cli.passphrase import passphrase_from

if TYPE_CHECKING:
    from blockful_py.record.decryption import Decryptor


def verify(
    models: Annotated[
        list[str] | None,
        typer.Argument(help="The models to check. Checks all models if left out.", show_default=False),
    ] = None,
    run: Run = LATEST,
    decrypt: Annotated[
        bool, typer.Option("--decrypt", help="Also decrypt the weights with the members' keys.")
    ] = False,
    reader: Annotated[
        Path | None,
        typer.Option("--reader", metavar="KEYFILE", help="Also decrypt weights that this reader may read."),
    ] = None,
    passphrase_file: PassphraseFile = None,
    since: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Check only models that are new or changed since this checkpoint.",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a checkpoint to this file if nothing fails.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check models: bytes, opening, Merkle root, header, links to genesis, and signatures.

    The histories of both chains are compared: the archive must have every version of the live chain.

    The check covers weights as sealed files.  With --decrypt or --reader, it also decrypts them and requires
    that they are weights.

    With --since, the command checks that both chains still have the checkpoint's blocks, and trusts the
    checkpoint for unchanged models: it reads neither their files nor their past events again.  Keep the file
    where nobody else can write.

    Ends with status 3 and reports the first failing check of each model that does not verify.

    Example: blockful verify --run runs/latest/parallel r5 r6
    """
    run = located_run(run)
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.reader import LeaderDecryptor, ReaderDecryptor, ReaderSession

    out = Output(as_json, quiet)
    keys = None if reader is None else ReaderKeys.load(reader, passphrase_from(passphrase_file))
    with Federation.open(run, settle=since is None) as federation:
        decryptor: Decryptor | None = LeaderDecryptor(federation.weights) if decrypt else None
        if keys is not None:
            decryptor = ReaderDecryptor(ReaderSession(run, keys, federation.nodes))
        outcome = federation.verify(models or None, out, decryptor, since, checkpoint)
    out.result(
        {
            "checked": outcome.checked,
            "known": outcome.known,
            "decrypted": outcome.decrypted,
            "failed": [
                {
                    "model": f.model,
                    "position": None if f.position is None else str(f.position),
                    "check": f.check,
                    "detail": f.detail,
                }
                for f in outcome.failures
            ],
            "pending": ["0x" + proposal.hex() for proposal in outcome.pending],
        }
    )
    for failure in outcome.failures:
        out.say(f"FAILED {failure.model}: {failure.check}: {failure.detail}")
    out.say(
        f"weights: {outcome.decrypted} decrypted, "
        f"{outcome.checked - outcome.decrypted} checked as sealed bytes"
    )
    if outcome.pending:
        out.say(
            f"{len(outcome.pending)} decisions are in the archive but not yet on the live chain: if no "
            "leader is at work, finish them with `blockful resume`"
        )
    if since is not None:
        out.say(f"{outcome.known} models are unchanged since {since}, whose blocks the chains still have")
    out.say(f"{outcome.checked} models checked, {len(outcome.failures)} failed")
    if checkpoint is not None:
        said = "was not written, because a check failed" if outcome.failures else "is the new checkpoint"
        out.say(f"{checkpoint} {said}")
    if outcome.failures:
        raise typer.Exit(3)
