# SPDX-License-Identifier: Apache-2.0
"""A proof that models are on the record: the document and its verification."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

from blockful_py.crypto.envelope import SEGMENT, seal, unseal
from blockful_py.errors import CryptoError, VerificationError
from blockful_py.ledger.protocols import LiveReader
from blockful_py.record.checks import require
from blockful_py.record.fields import Part, parsed, spelt
from blockful_py.record.model_node import ModelNode
from blockful_py.record.proofs.anchors import (
    Anchors,
    ArchiveSource,
    KeySource,
    anchors_in_archive,
    anchors_of_blocks,
    check_anchors,
    check_archive_anchor,
    check_current,
)
from blockful_py.record.proofs.checking import CheckedRecord, archived, check_history, check_record
from blockful_py.record.proofs.record import ArchiveHistory, LiveRecord
from blockful_py.storage.cid import cid_string
from blockful_py.storage.pieces import stream_of
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import ModelTransaction, StoredArchiveRecord, Uri


class Proof(Part):
    """Models of a live chain, with all data needed to check them except their weights.

    `archive` is null if the proof was made without the history.
    """

    format: Literal["blockful-proof/1"]
    record: LiveRecord
    archive: ArchiveHistory | None

    def to_bytes(self) -> bytes:
        return spelt(self)


def parse_proof(data: bytes) -> Proof:
    """Parses a proof.  Raises FormatError, which names the invalid field."""
    return parsed(Proof, data, "proof")


@dataclass(frozen=True, slots=True)
class Proven:
    """A model that is on the record.

    Attributes:
        history: its records in the archive, oldest first.
    """

    node: ModelNode
    transaction: ModelTransaction
    history: tuple[StoredArchiveRecord, ...]


@dataclass(frozen=True, slots=True)
class ProofOutcome:
    """The result of a proof's verification.

    Attributes:
        trusted: height of the highest block with a trusted hash.
        archived: number of records in its history; None without one.
        covered: number of them that a trusted head covers; None without a given head.
    """

    models: tuple[Proven, ...]
    trusted: int
    archived: int | None
    covered: int | None


@dataclass(frozen=True, slots=True)
class Sources:
    """The chains, read through nodes."""

    live: LiveReader
    keys: KeySource
    archive: ArchiveSource | None = None


def verify_proof(
    proof: Proof,
    anchors: Anchors,
    sources: Sources | None = None,
    weights: Path | None = None,
    key: bytes | None = None,
) -> ProofOutcome:
    """Checks a proof against trust anchors, and against the chains if `sources` are given.

    `weights`: file of the single model's sealed weights.  If their data key, `key`, is given, it may also be
    the file of the unencrypted weights.

    Raises VerificationError, which names the first failed check.
    """
    record = check_record(proof.record)
    if weights is not None:
        check_weights(record, weights, key)
    heads = _heads(proof, record)
    if sources is not None:
        anchors |= anchors_of_blocks(record, sources.live, sources.keys)
        check_current(record, sources.live)
        if proof.archive is not None and sources.archive is not None:
            anchors |= anchors_in_archive(proof.archive, heads, sources.archive)
    trusted = check_anchors(record, anchors)
    covered = check_archive_anchor(heads, anchors)
    records = archived(proof.archive) if proof.archive is not None else ()
    models = tuple(
        Proven(
            node,
            record.transactions[position],
            tuple(each for each in records if each.record.position == position),
        )
        for position, node in record.nodes.items()
    )
    return ProofOutcome(models, trusted, len(records) if proof.archive is not None else None, covered)


def check_weights(record: CheckedRecord, path: Path, key: bytes | None = None) -> None:
    """Checks a file of the weights of the record's one model.  Raises as `check_weights_in`."""
    try:
        with path.open("rb") as file:
            check_weights_in(record, file, f"the weights {path}", key)
    except OSError as error:
        require("content", f"the weights {path}", False, f"they cannot be read: {error.strerror}")
        raise


def check_weights_in(record: CheckedRecord, file: BinaryIO, subject: str, key: bytes | None = None) -> None:
    """Checks the weights of the record's one model, read from a file.  Raises VerificationError (`content`).

    Without their data key it must be the sealed file; with the key, it may be the sealed file, which the key
    must open, or its content.
    """
    require("content", "the weights", len(record.nodes) == 1, "the proof is of more than one model")
    (node,) = record.nodes.values()
    try:
        uri = file_uri(file)
        if key is not None:
            file.seek(0)
            uri = _with_key(file, uri, node.weights, key)
    except CryptoError as error:
        raise VerificationError("content", subject, str(error)) from None
    what = "their CID is" if key is None else "sealed under this data key, their CID is"
    require(
        "content",
        subject,
        uri == node.weights,
        f"{what} {cid_string(uri)}, that of model {node.name} is {cid_string(node.weights)} (sealed)",
    )


def _with_key(file: BinaryIO, uri: Uri, expected: Uri, key: bytes) -> Uri:
    """The CID of the sealed file, given it or its content.  Raises EnvelopeError for another key."""
    if uri != expected:
        return file_uri(stream_of(seal(key, file)))
    for _ in unseal(key, iter(partial(file.read, SEGMENT), b"")):
        pass
    return uri


def _heads(proof: Proof, record: CheckedRecord) -> tuple[bytes, ...]:
    if proof.archive is None:
        return ()
    return check_history(proof.archive, [record.transactions[position] for position in record.nodes])
