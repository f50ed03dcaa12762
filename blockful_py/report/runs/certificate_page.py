# SPDX-License-Identifier: Apache-2.0
"""The content of a certificate's page."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

from blockful_py.bounded_json import parse_json
from blockful_py.ledger.erasure import erasure_digest
from blockful_py.pipeline.run.identities import DEVELOPMENT_CHAINS
from blockful_py.record.certificates.checking import CheckedStatement, check_certificate
from blockful_py.record.certificates.document import ErasureCertificate, parse_certificate
from blockful_py.record.fields import of_octets, position, read_document
from blockful_py.record.model_node import ModelNode
from blockful_py.record.reach import reached_by, work_left
from blockful_py.record.request import Request
from blockful_py.record.shown import shown
from blockful_py.report.certificate import CertificatePage, ModelRow, VoteRow, WorkRow, render_certificate
from blockful_py.report.plain import plain_language
from blockful_py.report.summary import CHECKED
from blockful_py.verdicts.outcome import AuditOutcome
from blockful_py.whole_file import write_whole

REACHED = "each member checked that no model is left out that the record says the data reached"
"""The members' check of a withdrawal of models that were made elsewhere."""


def page_of(certificate: ErasureCertificate, checked: CheckedStatement, file: str) -> CertificatePage:
    """The page of a certificate with its `checked` statement; `file` is the document's name."""
    statement, record = certificate.statement, checked.record
    request = statement.request
    outcome = _audit(certificate)
    aucs = {each.model: each.auc for each in outcome.row.models} if outcome else {}
    starts = {start.name for start in request.starts}
    rosters = {each.epoch: each for each in statement.committee.rosters}
    models = [
        ModelRow(
            each.name,
            each.position,
            each.name in starts,
            each.version_before,
            each.version_after,
            each.old_weights,
            each.new_weights,
            each.record,
            of_octets(checked.heads[each.record + 1]),
            None if each.claims is None else each.claims.ad_f,
            None if each.claims is None else each.claims.ad_r,
            None if each.claims is None else each.claims.logit_auc,
            each.figures_before(request.forget),
            each.claims is not None and each.claims.is_at_chance,
            each.claims is not None and each.claims.is_loss,
            () if (made := record.nodes[position(each.position)].redaction) is None else made.left_out,
            aucs.get(each.name),
        )
        for each in statement.replaced
    ]
    told = shown(statement)
    epoch = certificate.endorsed.epoch
    chain = statement.committee.domain.chain_id
    development = chain if chain in DEVELOPMENT_CHAINS else None
    digest = of_octets(erasure_digest(statement.committee.domain, epoch, statement.to_bytes()))
    what = "Withdrawal" if request.datasets else "Replacement"
    votes = [
        VoteRow(
            f"{what} of {sum(len(chunk.updates) for chunk in each.live)}",
            each.epoch,
            each.signed.voters,
            len(rosters[each.epoch].keys),
            rosters[each.epoch].quorum,
            each.content_hash,
        )
        for each in statement.decisions
    ]
    signed = rosters[epoch]
    votes.append(
        VoteRow(
            "This certificate",
            epoch,
            certificate.endorsed.votes.voters,
            len(signed.keys),
            signed.quorum,
            digest,
        )
    )
    return CertificatePage(
        digest=digest,
        asked=str(request.forget),
        forget=request.forget,
        method=request.method,
        paradigm=str(request.paradigm),
        kind=told.kind,
        warnings=told.warnings,
        checked=REACHED if request.datasets else CHECKED[told.review],
        how=told.review,
        requested=_time(request.created, development),
        decided=_time(statement.decided, development),
        requesters=[
            (start.name, start.position, of_octets(record.transactions[position(start.position)].owner))
            for start in request.starts
        ],
        models=models,
        work=_work(record.nodes.values(), starts) if request.datasets else (),
        spot_checks=[
            (node.name, str(node.spot_check)) for node in record.nodes.values() if node.spot_check is not None
        ],
        left_alone=statement.left_alone,
        votes=votes,
        deleted=statement.erasure.deleted,
        words=statement.erasure.words,
        keys_destroyed=statement.erasure.keys_destroyed,
        identifiers=[
            (f"Block {record.last}", of_octets(record.block_hashes[record.last])),
            *((f"Roster of epoch {each}", of_octets(roster)) for each, roster in checked.rosters.items()),
            (f"Archive, {len(statement.archive.records)} records", statement.archive.head),
        ],
        audit=_told(certificate, outcome),
        development=development,
        file=file,
        recipients=statement.recipients,
    )


def _work(nodes: Collection[ModelNode], starts: Collection[str]) -> list[WorkRow]:
    return [
        WorkRow(
            each.name,
            each.starts,
            [(name, kind.replace("_", "-")) for name, kind in each.edges.items()],
            each.owner,
            each.remedy.value,
        )
        for each in work_left(nodes, reached_by(nodes, starts))
    ]


def _audit(certificate: ErasureCertificate) -> AuditOutcome | None:
    if certificate.attachment is None:
        return None
    return AuditOutcome.from_json(parse_json(certificate.attachment.audit))


def _told(certificate: ErasureCertificate, outcome: AuditOutcome | None) -> str | None:
    if outcome is None or certificate.attachment is None:
        return None
    return (
        f"An audit is attached, measured by the issuer {certificate.attachment.issuer} and not by the "
        f"committee: {outcome.verdict()}."
    )


def _time(seconds: int, development: int | None) -> str:
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return text if development is None else f"{text} (development clock)"


def keep(certificate: ErasureCertificate, folder: Path) -> Path:
    """Writes `erasure-<time of the request>.json` and `.html`; returns the document's path.

    Raises RunError if they cannot be written.
    """
    path = folder / kept_name(certificate.statement.request)
    write_whole(path, certificate.to_bytes(), parents=True)
    write_page(certificate, path.with_suffix(".html"), path.name)
    return path


def kept_name(request: Request) -> str:
    """The name of the document that `keep` writes."""
    return f"erasure-{request.created}.json"


def kept(request: Request, folder: Path) -> ErasureCertificate | None:
    """The certificate of a request that `keep` wrote; None without one.  Raises FormatError."""
    path = folder / kept_name(request)
    if not path.exists():
        return None
    certificate = read_document(path, "certificate", parse_certificate)
    return certificate if certificate.statement.request == request else None


def write_page(certificate: ErasureCertificate, path: Path, document: str) -> None:
    """Checks that the certificate is consistent and writes its page.

    Raises VerificationError for an inconsistent certificate, and RunError if the file cannot be written.
    """
    page = page_of(certificate, check_certificate(certificate), document)
    write_whole(path, render_certificate(page, plain_language(page)).encode())
