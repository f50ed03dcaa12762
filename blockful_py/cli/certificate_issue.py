# SPDX-License-Identifier: Apache-2.0
"""Has the committee sign the outcome of a request (`blockful certificate issue`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
