# SPDX-License-Identifier: Apache-2.0
"""`blockful verify`: is the record what it claims to be?"""

from __future__ import annotations

from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Quiet, Run, example


def register(app: typer.Typer) -> None:
    @app.command(epilog=example("blockful verify --run runs/latest/parallel r5 r6"))
    def verify(
        models: Annotated[
            list[str] | None, typer.Argument(help="Models to check; all if left out.", show_default=False)
        ] = None,
        run: Run = LATEST,
        as_json: AsJson = False,
        quiet: Quiet = False,
    ) -> None:
        """Check models: bytes, opening, Merkle root, header, links to genesis, signatures.

        Ends with status 3 and the first failing check of each model when one does not verify.
        """
        from blockful_py.pipeline.federation import Federation

        out = Output(as_json, quiet)
        with Federation.open(run) as federation:
            outcome = federation.verify(models or None, out)
        out.result(
            {
                "checked": outcome.checked,
                "failed": [
                    {"model": f.model, "position": str(f.position), "check": f.check, "detail": f.detail}
                    for f in outcome.failures
                ],
            }
        )
        for failure in outcome.failures:
            out.say(f"FAILED {failure.model}: {failure.check}: {failure.detail}")
        out.say(f"{outcome.checked} models checked, {len(outcome.failures)} failed")
        if outcome.failures:
            raise typer.Exit(3)
