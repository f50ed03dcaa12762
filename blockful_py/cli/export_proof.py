# SPDX-License-Identifier: Apache-2.0
"""Writes a proof that models are on the record (`blockful export-proof`)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run, located_run
from blockful_py.cli.trust import digest


def export_proof(
    models: Annotated[list[str], typer.Argument(help="The models to prove in one document.")],
    run: Run = LATEST,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write. Default: MODEL.proof.json."),
    ] = None,
    history: Annotated[
        bool, typer.Option("--history/--no-history", help="Include the archive's records.")
    ] = True,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="Leave out the headers up to the block with this hash."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a proof, which anybody can check without a node, that models are on the record.

    The command first verifies the models.  The proof names the sealed weights by CID, so checking it needs no
    key.

    The verifier must learn the printed block hash and key ids from a source other than the proof.

    Example: blockful export-proof --run runs/latest/parallel r6
    """
    run = located_run(run)
    from blockful_py.pipeline.federation import Federation
    from blockful_py.pipeline.proving import prove
    from blockful_py.record.proofs.checking import check_record
    from blockful_py.whole_file import write_whole

    out = Output(as_json)
    below = digest(checkpoint, "--checkpoint")
    with Federation.open(run) as federation:
        proof = prove(federation, models, history, below, out)
    path = output or Path("-".join(models[:3]) + ".proof.json")
    data = proof.to_bytes()
    write_whole(path, data)
    record = check_record(proof.record)
    key_ids = {str(epoch): "0x" + key_id.hex() for epoch, key_id in record.key_ids().items()}
    block_hash = "0x" + record.block_hashes[record.last].hex()
    head = proof.archive.head if proof.archive else None
    out.result(
        {
            "file": str(path),
            "bytes": len(data),
            "models": [node.name for node in record.nodes.values()],
            "block": record.last,
            "block_hash": block_hash,
            "key_ids": key_ids,
            "archive_head": head,
        }
    )
    out.say(f"{path}: {len(data)} bytes, {len(record.headers)} headers. To check it:")
    anchors = ["--block-hash", block_hash]
    anchors += [word for key_id in key_ids.values() for word in ("--key-id", key_id)]
    anchors += ["--archive-head", head] if head else []
    out.command("blockful", "verify-proof", path, *anchors)
