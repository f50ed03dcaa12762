# SPDX-License-Identifier: Apache-2.0
"""`blockful certificate verify`: verifies an erasure certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, located_run
from blockful_py.cli.trust import ArchiveHeads, BlockHashes, KeyIds, TrustedRun, digests

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
    as_json: AsJson = False,
) -> None:
    """Check a certificate: record, archive, request, decisions, and the quorum's signatures.

    Without a node, give the anchors that you trust: the hash of a block, the id of each roster, and a head
    of the archive. With --run, the command reads them from the chains and checks that these executed the
    decisions. Ends with status 3 and the first failing check; ends with status 5 when the file is not a
    certificate.

    Example: blockful certificate verify erasure-1767225615.json --run runs/mine
    """
    run = located_run(run) if run else None
    from blockful_py.record.certificates.document import parse_certificate
    from blockful_py.record.certificates.verifying import verify_certificate
    from blockful_py.record.proofs.anchors import Anchors
    from blockful_py.record.proofs.fields import read_document

    out = Output(as_json)
    anchors = Anchors(
        digests(block_hashes, "--block-hash"),
        digests(key_ids, "--key-id"),
        digests(archive_heads, "--archive-head"),
    )
    rosters = digests(roster_ids, "--roster-id")
    certificate = parse_certificate(read_document(file, "certificate"))
    if run is None:
        outcome = verify_certificate(certificate, anchors, rosters)
    else:
        from blockful_py.pipeline.proving import opened_chains

        with opened_chains(run) as chains:
            outcome = verify_certificate(certificate, anchors, rosters, chains)
    statement = certificate.statement
    out.result(
        {
            "models": [each.name for each in statement.replaced],
            "trusted_block": outcome.trusted,
            "records": len(statement.archive.records),
            "trusted_records": outcome.covered,
            "superseded": dict(outcome.superseded),
            "keys_destroyed": list(statement.erasure.keys_destroyed),
            "audited": certificate.attachment is not None,
        }
    )
    out.say(f"the certificate holds: {len(statement.replaced)} models, {statement.request.forget}")
    keyless = len(statement.erasure.keys_destroyed)
    out.say(f"the members who signed no longer hold the data keys of {keyless} sealed files")
    for name, version in outcome.superseded.items():
        out.say(f"{name} was replaced again and is at version {version}")
    if outcome.covered is None:
        out.say("the archive's head was not checked: name one that you trust with --archive-head")
