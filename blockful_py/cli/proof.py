# SPDX-License-Identifier: Apache-2.0
"""Writes and verifies proofs that models are on the record (`blockful export-proof`, `verify-proof`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import LATEST, AsJson, Run, located_run
from blockful_py.cli.trust import (
    ArchiveHeads,
    BlockHashes,
    KeyIds,
    TrustedContract,
    TrustedRun,
    TrustedUrl,
    digest,
    digests,
    sources,
)
from blockful_py.errors import SettingsError

if TYPE_CHECKING:
    from blockful_py.record.proofs.proof import ProofOutcome


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


def verify_proof(
    file: Annotated[Path, typer.Argument(help="The proof, from `blockful export-proof`.")],
    block_hashes: BlockHashes = None,
    key_ids: KeyIds = None,
    archive_heads: ArchiveHeads = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The model's weights: the sealed file, or with --data-key also the plain file.",
        ),
    ] = None,
    data_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The weights' data key, from `blockful read --data-key`."),
    ] = None,
    run: TrustedRun = None,
    live_url: TrustedUrl = None,
    contract: TrustedContract = None,
    as_json: AsJson = False,
) -> None:
    """Check a proof: node, opening, Merkle path, headers, links, signatures, history, and trust anchors.

    A proof needs anchors that you trust.  Give the hash of a block, such as the last one, and the ids of the
    group keys, or name a run or a node to read them from.  Ends with status 3 and the first failing check, or
    with status 5 if the file is not a proof.

    The proof names weights by the CID of their sealed file, so --weights alone checks that file without
    decrypting it.  With --data-key, the command decrypts a sealed file, or seals a plain file and compares
    the result.

    Example: blockful verify-proof r6.proof.json --run runs/latest/parallel
    """
    run = located_run(run) if run else None
    from blockful_py.keys.data_key import read_data_key
    from blockful_py.record.fields import read_document
    from blockful_py.record.proofs.anchors import Anchors
    from blockful_py.record.proofs.proof import parse_proof
    from blockful_py.record.proofs.proof import verify_proof as verify

    out = Output(as_json)
    if data_key is not None and weights is None:
        raise SettingsError("--data-key needs --weights: give both.")
    key = None if data_key is None else read_data_key(data_key)
    anchors = Anchors(
        digests(block_hashes, "--block-hash"),
        digests(key_ids, "--key-id"),
        digests(archive_heads, "--archive-head"),
    )
    proof = read_document(file, "proof", parse_proof)
    with sources(run, live_url, contract, proof.record.chain_id) as chains:
        outcome = verify(proof, anchors, chains, weights, key)
    checked = None if weights is None else "sealed" if key is None else "decrypted"
    out.result(_document(outcome) | {"weights": checked})
    for model in outcome.models:
        place = model.transaction.position
        out.say(f"{model.node.name} at {place}, version {model.transaction.version}: on the record")
        for each in model.history:
            out.say(f"  record {each.index}: version {each.record.version} {each.record.reason.name.lower()}")
    if weights is not None:
        out.say(f"weights {weights}: {_said_of_weights(key)}")
    out.say(f"trusted: block {outcome.trusted} and all before it" + _said_of_history(outcome))


def _said_of_weights(key: bytes | None) -> str:
    if key is None:
        return "the sealed bytes are the model's; decrypting them needs their key (--data-key)"
    return "decrypted with their key, they are the model's"


def _said_of_history(outcome: ProofOutcome) -> str:
    if outcome.archived is None:
        return ""
    if outcome.covered is None:
        return "; the history hashes to its head, which is not among your trusted heads (--archive-head)"
    return f"; {outcome.covered} of {outcome.archived} records of the archive"


def _document(outcome: ProofOutcome) -> dict[str, Any]:
    from blockful_py.storage.cid import cid_string

    return {
        "models": [
            {
                "model": each.node.name,
                "position": str(each.transaction.position),
                "version": each.transaction.version,
                "owner": "0x" + each.transaction.owner.hex(),
                "node": cid_string(each.transaction.uri),
                "weights": None if each.node.is_withdrawn else cid_string(each.node.weights),
                "records": [stored.index for stored in each.history],
            }
            for each in outcome.models
        ],
        "trusted_block": outcome.trusted,
        "records": outcome.archived,
        "trusted_records": outcome.covered,
    }
