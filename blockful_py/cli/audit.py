# SPDX-License-Identifier: Apache-2.0
"""Audits the archive and lists its history (`blockful audit`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, PassphraseFile, Run, located_run
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import UnknownModelError

if TYPE_CHECKING:
    from blockful_py.record.audit import Timeline


def audit(
    run: Run = LATEST,
    model: Annotated[str | None, typer.Option(help="List only the versions of this model.")] = None,
    remember: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare the archive with the records in this file, then update the file.",
            show_default=False,
        ),
    ] = None,
    auditor: Annotated[
        Path | None,
        typer.Option(
            "--auditor", metavar="KEYFILE", help="Also decrypt the versions whose keys this auditor has."
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """List every archived version and every alarm, and check that the archive is whole.

    With --remember, the archive must also begin with the records in your file; the command then adds later
    records to it.  Keep the file where nobody else can write.  If the archive does not begin with the file's
    records, the file stays unchanged.  The check covers weights as sealed files; with --auditor, it also
    decrypts them.  Ends with status 3 if a record was altered, is missing, or cannot be read.

    Example: blockful audit --run runs/latest/parallel --model r6 --remember seen.json
    """
    run = located_run(run)
    from blockful_py.keys.reader_keys import ReaderKeys
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.reader import ReaderDecryptor, ReaderSession
    from blockful_py.record.archive_memory import recall
    from blockful_py.record.archive_memory import remember as write

    out = Output(as_json)
    keys = None if auditor is None else ReaderKeys.load(auditor, passphrase_from(passphrase_file))
    with Federation.open(run) as federation:
        decryptor = (
            None
            if keys is None
            else ReaderDecryptor(ReaderSession(run, keys, federation.nodes), archived=True)
        )
        archive = federation.contracts.archive
        known = recall(remember, archive) if remember is not None else ()
        outcome, alarms = federation.audit(known, decryptor, out), federation.alarms()
        if remember is not None and outcome.extends:
            write(remember, archive)
    names = sorted({entry.name for entry in outcome.entries if entry.name})
    if model is not None and model not in names:
        raise UnknownModelError(model, names)
    entries = [entry for entry in outcome.entries if model in (None, entry.name)]
    out.result(
        {
            "head": "0x" + outcome.head.hex(),
            "problems": list(outcome.problems),
            "remembered": len(known) if remember is not None else None,
            "alarms": [each.to_json() for each in alarms],
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
                    "unread": None if entry.unread is None else entry.unread.cid,
                    "decrypted": entry.decrypted,
                }
                for entry in entries
            ],
        }
    )
    out.say(_table([each for each in outcome.timelines if model in (None, each.name)]))
    for alarm in alarms:
        out.say(str(alarm))
    for problem in outcome.problems:
        out.say(f"PROBLEM {problem}")
    decrypted = sum(entry.decrypted for entry in outcome.entries)
    out.say(f"weights: {decrypted} decrypted, {len(outcome.entries) - decrypted} checked as sealed bytes")
    out.say(f"{len(outcome.entries)} records, {len(outcome.problems)} problems, head:")
    out.say(f"0x{outcome.head.hex()}")
    if remember is not None:
        out.say(_remembered(len(known), outcome.extends, remember))
    if not outcome.passed:
        raise typer.Exit(3)


def _table(timelines: Sequence[Timeline]) -> Table:
    """The versions of each position; the last row is the version on the live chain."""
    table = Table(
        "position", "model", "version", "archived (UTC)", "record", "", "node", box=None, pad_edge=False
    )
    for timeline in timelines:
        place = [str(timeline.position), timeline.name or "unreadable"]
        for entry in timeline.entries:
            told = entry.reason if entry.readable else f"{entry.reason}, UNREADABLE"
            when = datetime.fromtimestamp(entry.timestamp, UTC).strftime("%Y-%m-%d %H:%M:%S")
            table.add_row(*place, str(entry.version), when, str(entry.index), told, entry.cid)
            place = ["", ""]
        current = "none" if timeline.current is None else str(timeline.current)
        table.add_row(*place, current, "", "", "on the live chain", "", end_section=True)
    return table


def _remembered(known: int, extends: bool, path: Path) -> str:
    if not extends:
        return f"{path} was not changed: the archive does not begin with the {known} records in it"
    if not known:
        return f"{path} now has these records"
    return f"the archive begins with the {known} records of {path}, which now has the later ones too"
