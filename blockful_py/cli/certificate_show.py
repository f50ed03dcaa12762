# SPDX-License-Identifier: Apache-2.0
"""Prints the contents of a certificate (`blockful certificate show`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson


def show(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write a readable page (HTML) to this file.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the contents of a certificate, after checking that its parts are consistent.

    `blockful certificate verify` checks it against a chain.

    Example: blockful certificate show erasure-1767225615.json --html erasure.html
    """
    from blockful_py.record.certificates.document import parse_certificate
    from blockful_py.record.fields import read_document

    certificate = read_document(file, "certificate", parse_certificate)
    from blockful_py.record.certificates.checking import check_certificate
    from blockful_py.report.runs.certificate_page import page_of, write_page
    from blockful_py.report.summary import no_better_than_chance

    out = Output(as_json)
    page = page_of(certificate, check_certificate(certificate), file.name)
    if html is not None:
        write_page(certificate, html, file.name)
    out.result(json.loads(certificate.to_bytes()))
    out.say(f"{page.asked}, {page.method}, {page.paradigm}; decided {page.decided}")
    heads = ("model", "position", "version", "accuracy % before", "AD_f %", "AD_r %", "record")
    table = Table(*heads, box=None, pad_edge=False)
    for row in page.models:
        accuracy = "–" if row.before.accuracy is None else f"{100 * row.before.accuracy:.1f}"
        ad_f, ad_r = _passage(row.before.ad_f, row.ad_f), _passage(row.before.ad_r, row.ad_r)
        version = f"{row.version_before} → {row.version_after}{'' if row.new_weights else ', withdrawn'}"
        table.add_row(row.name, row.position, version, accuracy, ad_f, ad_r, str(row.record))
    out.say(table)
    lost = {
        row.name: f"{100 * row.ad_r:.1f} %" for row in page.models if row.at_chance and row.ad_r is not None
    }
    if lost:
        out.say(f"alarm: {no_better_than_chance(lost)}")
    if worse := [row.name for row in page.models if row.is_loss and not row.at_chance]:
        out.say(f"alarm: worse on the data to be kept, by more than chance explains: {', '.join(worse)}")
    for vote in page.votes:
        voters = ", ".join(map(str, vote.voters))
        out.say(f"{vote.what}: epoch {vote.epoch}, members {voters} of {vote.members}")
    out.say(f"{len(page.deleted)} CIDs, {len(page.keys_destroyed)} data keys destroyed: {page.words}")
    for name, value in page.identifiers:
        out.say(f"{name}:")
        out.say(f"{value}")


def _passage(before: float | None, after: float | None) -> str:
    """The figure in percent, with the figure before if the record has it."""
    shown = "" if after is None else f"{100 * after:.1f}"
    return shown if before is None else f"{100 * before:.1f} → {shown}"
