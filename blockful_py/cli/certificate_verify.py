# SPDX-License-Identifier: Apache-2.0
"""Verifies an erasure certificate (`blockful certificate verify`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, located_run
from blockful_py.cli.trust import ArchiveHeads, BlockHashes, KeyIds, TrustedRun, digests
from blockful_py.errors import SettingsError

if TYPE_CHECKING:
    from blockful_py.record.certificates.checking import CheckedStatement
    from blockful_py.record.certificates.document import ErasureCertificate

RosterIds = Annotated[
    list[str] | None,
    typer.Option(
        "--roster-id", metavar="ID", help="The id of a roster that you trust. Repeatable.", show_default=False
    ),
]


def verify(
    file: Annotated[Path, typer.Argument(help="The certificate.")],
    block_hashes: BlockHashes = None,
    roster_ids: RosterIds = None,
    key_ids: KeyIds = None,
    archive_heads: ArchiveHeads = None,
    run: TrustedRun = None,
    attestation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also check this envelope from `blockful certificate attest`. Needs --public-key.",
        ),
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The attestation signer's public key, in PEM."),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also check that this file is a subject of the attestation."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a certificate: record, archive, request, decisions, and the quorum's signatures.

    Without a node, give the anchors that you trust: the hash of a block, the id of each roster, and a head of
    the archive.  With --run, the command reads them from the chains and checks that the chains executed the
    decisions.  Ends with status 3 and the first failing check, or with status 5 if the file is not a
    certificate.

    With --attestation, the command also checks the envelope's signature, that its statement follows from the
    certificate, and that its subjects are the new versions.

    Example: blockful certificate verify erasure-1767225615.json --run runs/mine
    """
    run = located_run(run) if run else None
    from blockful_py.record.certificates.document import parse_certificate
    from blockful_py.record.certificates.verifying import verify_certificate
    from blockful_py.record.fields import read_document
    from blockful_py.record.proofs.anchors import Anchors
    from blockful_py.record.shown import shown

    out = Output(as_json)
    if (attestation is None) != (public_key is None) or (weights is not None and attestation is None):
        raise SettingsError("--attestation and --public-key belong together, and --weights needs both.")
    anchors = Anchors(
        digests(block_hashes, "--block-hash"),
        digests(key_ids, "--key-id"),
        digests(archive_heads, "--archive-head"),
    )
    rosters = digests(roster_ids, "--roster-id")
    certificate = read_document(file, "certificate", parse_certificate)
    if run is None:
        outcome = verify_certificate(certificate, anchors, rosters)
    else:
        from blockful_py.pipeline.proving import opened_chains

        with opened_chains(run) as chains:
            outcome = verify_certificate(certificate, anchors, rosters, chains)
    attested = None
    if attestation is not None and public_key is not None:
        attested = _attested(attestation, public_key, weights, outcome.checked, certificate)
    statement = certificate.statement
    told = shown(statement)
    out.result(
        {
            "kind": told.kind,
            "warnings": list(told.warnings),
            "other_owners": statement.other_owners,
            "models": [each.name for each in statement.replaced],
            "trusted_block": outcome.trusted,
            "records": len(statement.archive.records),
            "trusted_records": outcome.covered,
            "superseded": dict(outcome.superseded),
            "keys_destroyed": list(statement.erasure.keys_destroyed),
            "recipients": None if statement.recipients is None else statement.recipients.counts,
            "audited": certificate.attachment is not None,
            "attestation": attested,
        }
    )
    out.say(f"the certificate holds: {len(statement.replaced)} models, {statement.request.forget}")
    out.say(told.kind)
    for warning in told.warnings:
        out.say(f"warning: {warning}")
    keyless = len(statement.erasure.keys_destroyed)
    out.say(f"the members who signed no longer hold the data keys of {keyless} sealed files")
    if statement.recipients is not None:
        out.say(str(statement.recipients))
    for name, version in outcome.superseded.items():
        out.say(f"{name} was replaced again and is at version {version}")
    if attested is not None:
        controller = attested["issuer"]["controller"]["name"]
        out.say(f"{controller} attests it for {len(attested['subjects'])} subjects; see `issuer` in --json")
    if weights is not None:
        out.say(f"{weights} is a subject of the attestation")
    if outcome.covered is None:
        out.say("the archive's head was not checked: name one that you trust with --archive-head")


def _attested(
    envelope: Path,
    public_key: Path,
    weights: Path | None,
    checked: CheckedStatement,
    certificate: ErasureCertificate,
) -> dict[str, Any]:
    """Digests of the attestation's subjects by name, and its issuer's statement."""
    from blockful_py.crypto.pem import read_public_key
    from blockful_py.record.attestation.checking import check_attestation, require_subject
    from blockful_py.record.fields import read_document

    key = read_public_key(public_key)
    subjects, predicate = read_document(
        envelope, "attestation", lambda data: check_attestation(data, key, certificate, checked)
    )
    if weights is not None:
        require_subject(subjects, weights)
    return {
        "subjects": {each.name: each.sha256 for each in subjects},
        "issuer": predicate.issuer.model_dump(mode="json", by_alias=True),
    }
