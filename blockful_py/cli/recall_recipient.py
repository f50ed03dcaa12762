# SPDX-License-Identifier: Apache-2.0
"""Answers a notice of recall, and marks the card of a recalled model (`blockful recall`)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, PassphraseFile, Run, located_run
from blockful_py.cli.passphrase import passphrase_from
from blockful_py.errors import FormatError, RunError, SettingsError


def answer(
    notice_file: Annotated[Path, typer.Argument(metavar="NOTICE", help="The notice that you received.")],
    did: Annotated[
        str,
        typer.Option(metavar="WORD", help="What you did: deleted, replaced, kept or not-received."),
    ],
    keystore: Annotated[Path, typer.Option(metavar="FILE", help="Your Ethereum keystore.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The answer to send back.")
    ] = Path("answer.json"),
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Check a notice of recall and sign an answer to it. Needs no chain.

    Send the file back to the publisher.  It is your signed word: nobody can see whether a copy is left.

    Example: blockful recall answer notice.json --did deleted --keystore mine.json
    """
    from blockful_py.record.recall.documents import Did
    from blockful_py.record.recall.notice import check_notice, parse_notice

    if did not in set(Did):
        raise SettingsError(f"--did takes {', '.join(Did)}, not {did!r}.")
    notice = parse_notice(read_file(notice_file))
    node = check_notice(notice)
    from blockful_py.chain.account_file import secret_in
    from blockful_py.whole_file import write_whole

    secret = secret_in(keystore, passphrase_from(passphrase_file))
    made = notice.answer(Did(did), int(time.time())).signed(notice.domain, secret)
    write_whole(output, made.to_bytes(), FormatError)
    out = Output(as_json)
    stands = None if node.is_withdrawn else notice.stands
    out.result({"file": str(output), "model": node.name, "recalled": notice.version, "stands": stands})
    what = "is withdrawn" if stands is None else f"stands at version {stands}"
    out.say(f"{node.name} {what}; {output} says that version {notice.version} is {did}: send it back")


def card(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The name of the model.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder as it is on the hub.")],
    run: Run = LATEST,
    new_version: Annotated[
        str | None,
        typer.Option(
            "--new-version",
            metavar="ACCOUNT/NAME",
            help="The model on the hub to use instead.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Mark a recalled model's card with the tag `recalled`, the hub's `new_version`, and a notice on top.

    All else in README.md stays as it is, byte for byte.  Nothing is uploaded: take the weights out of the
    folder, and push it.

    Example: blockful recall card r6 r6-hf --run runs/latest/parallel
    """
    run = located_run(run)
    from blockful_py.adopt.recalled_card import mark_card
    from blockful_py.pipeline.run.opened import OpenedRun
    from blockful_py.recall.notices import standing

    out = Output(as_json)
    with OpenedRun.attach(run) as opened:
        placed = opened.catalogue()[model]
    if not placed.version:
        raise RunError(f"{model} was neither replaced nor withdrawn: its card stays as it is.")
    readme = folder / "README.md"
    changed = mark_card(readme, standing(placed), new_version)
    out.result({"card": str(readme), "changed": changed, "new_version": new_version})
    out.say(f"{readme} is {'marked' if changed else 'unchanged'}: {standing(placed)}")


def read_file(path: Path) -> bytes:
    """Reads a notice or an answer; one that is too long is cut, and no document.  Raises FormatError."""
    from blockful_py.record.recall.notice import MAX_NOTICE_BYTES

    try:
        with path.open("rb") as file:
            return file.read(MAX_NOTICE_BYTES + 1)
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}.") from None
