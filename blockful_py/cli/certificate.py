# SPDX-License-Identifier: Apache-2.0
"""Issues certificates and prints their contents (`blockful certificate issue`, `show`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from blockful_py.bounded_json import parse_json
from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Run, located_run
from blockful_py.errors import FormatError, RunError

if TYPE_CHECKING:
    from blockful_py.verdicts.outcome import AuditOutcome


def issue(
    run: Run,
    model: Annotated[
        str | None,
        typer.Option(help="Certify the request that replaced this model. Default: the newest request."),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Attach the outcome of an audit (JSON).", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Have a quorum check and sign the outcome of a request, and write the certificate into the run.

    `blockful unlearn` does this at its end.  Use this command if too few members answered then, or to attach
    an audit.  Ends with status 6 if too few members sign.

    Example: blockful certificate issue --run runs/mine --audit audit.json
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.jobs.certificate import latest_request
    from blockful_py.report.runs.certificate_page import keep

    out = Output(as_json)
    outcome = _outcome(audit) if audit is not None else None
    with Federation.open(run) as federation:
        catalogue = federation.catalogue()
        request = latest_request(catalogue)
        if model is not None:
            redaction = catalogue[model].node.redaction
            if redaction is None:
                raise RunError(f"model {model} was never replaced: there is nothing to certify.")
            request = redaction.request
        certificate = federation.certify_erasure(request, outcome)
        path = keep(certificate, federation.run.certificates)
    out.result({"file": str(path), "page": str(path.with_suffix(".html"))})
    out.say(f"{path}: {len(certificate.statement.replaced)} models, signed by a quorum")


def _outcome(path: Path) -> AuditOutcome:
    from blockful_py.verdicts.outcome import AuditOutcome

    try:
        return AuditOutcome.from_json(parse_json(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise FormatError(f"the audit {path} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise FormatError(f"{path} is not an audit: {error}.") from None


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
    out.say(page.kind)
    for warning in page.warnings:
        out.say(f"warning: {warning}")
    out.say(f"{page.asked}, {page.method}, {page.paradigm}; decided {page.decided}")
    heads = (
        "model",
        "position",
        "version",
        "accuracy % before",
        "AD_f %",
        "AUC of logit",
        "AD_r %",
        "record",
    )
    table = Table(*heads, box=None, pad_edge=False)
    for row in page.models:
        accuracy = "–" if row.before.accuracy is None else f"{100 * row.before.accuracy:.1f}"
        ad_f = _passage(_percent(row.before.ad_f), _percent(row.ad_f), ".1f")
        ad_r = _passage(_percent(row.before.ad_r), _percent(row.ad_r), ".1f")
        version = f"{row.version_before} → {row.version_after}{'' if row.new_weights else ', withdrawn'}"
        auc = _passage(row.before.logit_auc, row.logit_auc, ".3f")
        table.add_row(row.name, row.position, version, accuracy, ad_f, auc, ad_r, str(row.record))
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
    if page.recipients is not None:
        out.say(str(page.recipients))
    for name, value in page.identifiers:
        out.say(f"{name}:")
        out.say(f"{value}")


def _passage(before: float | None, after: float | None, spelling: str) -> str:
    """A figure, with the figure before if the record has it."""
    shown = "" if after is None else f"{after:{spelling}}"
    return shown if before is None else f"{before:{spelling}} → {shown}"


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
