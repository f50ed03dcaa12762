# SPDX-License-Identifier: Apache-2.0
"""`blockful audit`: the archive's history."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from blockful_py.cli.alarms import documents, lines
from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run, example


def register(app: typer.Typer) -> None:
    @app.command(epilog=example("blockful audit --run runs/latest/parallel --model r6"))
    def audit(
        run: Run = LATEST,
        model: Annotated[str | None, typer.Option(help="Only this model's versions.")] = None,
        as_json: AsJson = False,
    ) -> None:
        """List every archived version and every alarm, and check the archive's hash chain.

        Ends with status 3 when a record was altered, is missing, or cannot be read.
        """
        from blockful_py.errors import UnknownModelError
        from blockful_py.pipeline.federation import Federation

        out = Output(as_json)
        with Federation.open(run) as federation:
            outcome, alarms = federation.audit(), federation.alarms()
        known = sorted({entry.name for entry in outcome.entries if entry.name})
        if model is not None and model not in known:
            raise UnknownModelError(model, known)
        entries = [entry for entry in outcome.entries if model in (None, entry.name)]
        out.result(
            {
                "head": "0x" + outcome.head.hex(),
                "problems": list(outcome.problems),
                "alarms": documents(alarms),
                "records": [
                    {
                        "index": entry.index,
                        "model": entry.name,
                        "position": str(entry.position),
                        "version": entry.version,
                        "reason": entry.reason,
                        "cid": entry.cid,
                        "timestamp": entry.timestamp,
                        "readable": entry.readable,
                    }
                    for entry in entries
                ],
            }
        )
        table = Table("record", "model", "position", "version", "reason", "node", box=None, pad_edge=False)
        for entry in entries:
            name = entry.name or "unreadable"
            table.add_row(
                str(entry.index), name, str(entry.position), str(entry.version), entry.reason, entry.cid
            )
        out.say(table)
        for line in lines(alarms):
            out.say(line)
        for problem in outcome.problems:
            out.say(f"PROBLEM {problem}")
        out.say(f"{len(outcome.entries)} records, {len(outcome.problems)} problems, head:")
        out.say(f"0x{outcome.head.hex()}")
        if not outcome.passed:
            raise typer.Exit(3)
