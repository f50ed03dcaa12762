# SPDX-License-Identifier: Apache-2.0
"""`blockful verify`: is the record what it claims to be?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, PassphraseFile, Quiet, Run
from blockful_py.cli.passphrase import passphrase_from


def verify(
    models: Annotated[
        list[str] | None, typer.Argument(help="Models to check; all if left out.", show_default=False)
    ] = None,
    run: Run = LATEST,
    opening: Annotated[
        bool, typer.Option("--open", help="Open the weights too, with the keys that the members keep.")
    ] = False,
    reader: Annotated[
        Path | None,
        typer.Option("--reader", metavar="KEYFILE", help="Open the weights that this reader may read."),
    ] = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check models: bytes, opening, Merkle root, header, links to genesis, signatures.

    Weights are checked as they are stored, sealed. With --open or --reader they are opened too, and what
    comes out must be weights.

    Ends with status 3 and the first failing check of each model when one does not verify.

    Example: blockful verify --run runs/latest/parallel r5 r6
    """
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.pipeline.decryptors import LeaderOpens, ReaderOpens
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.reader import Reading
    from blockful_py.record.decryption import Opener

    out = Output(as_json, quiet)
    keys = None if reader is None else ReaderKeys.load(reader, passphrase_from(passphrase_file))
    with Federation.open(run) as federation:
        opener: Opener | None = LeaderOpens(federation.weights) if opening else None
        if keys is not None:
            opener = ReaderOpens(Reading(run, keys, federation.nodes))
        outcome = federation.verify(models or None, out, opener)
    out.result(
        {
            "checked": outcome.checked,
            "opened": outcome.opened,
            "failed": [
                {"model": f.model, "position": str(f.position), "check": f.check, "detail": f.detail}
                for f in outcome.failures
            ],
        }
    )
    for failure in outcome.failures:
        out.say(f"FAILED {failure.model}: {failure.check}: {failure.detail}")
    out.say(f"weights: {outcome.opened} opened, {outcome.checked - outcome.opened} checked as sealed bytes")
    out.say(f"{outcome.checked} models checked, {len(outcome.failures)} failed")
    if outcome.failures:
        raise typer.Exit(3)
