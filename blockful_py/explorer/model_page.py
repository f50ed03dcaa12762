# SPDX-License-Identifier: Apache-2.0
"""The page of one model: its versions on both chains, its hash and openings, its place in its block."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from blockful_py.crypto import chameleon, merkle, payload
from blockful_py.errors import BlockfulError, BlockNotFoundError
from blockful_py.explorer.before import claimed_before, stated_before
from blockful_py.explorer.lists import Document, cid, hexed, models_at, place, reviewers, without_paths
from blockful_py.explorer.places import address_of, position_of
from blockful_py.explorer.requests_page import requests_reaching
from blockful_py.explorer.watched import Watched
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, parse_node
from blockful_py.record.request import Request
from blockful_py.storage.cid import cid_string
from blockful_py.types import (
    Address,
    ArchiveReason,
    Bytes32,
    Checked,
    Codec,
    Header,
    ModelTransaction,
    Opening,
    Position,
    Uri,
)

MOST_LATER = 32
"""Maximum number of later versions on a page."""


def model_document(connection: sqlite3.Connection, watched: Watched, place: str, audited: bool) -> Document:
    """The model's document; with `audited`, includes the archive's content of replaced versions.

    `place` is a position or a name.  Raises UnknownPlaceError, and NodeError if the live chain's node fails.
    """
    position = position_of(connection, place)
    (found,) = models_at(connection, [position.packed])
    live = watched.contracts.live
    header = live.header(position.height)
    members = live.transactions([Position(header.height, index) for index in range(header.tx_count)])
    transaction = members[position.index]
    return {
        **found,
        "address": address_of(connection, position, found["name"]),
        "owner": hexed(transaction.owner),
        "hash": hex(transaction.ch),
        "settled": transaction.settled,
        "references": _references(connection, position, transaction),
        "later": _later(connection, found["name"], transaction.owner),
        "heirs": _heirs(connection, position),
        "block": _block(header, members, position.index, live.block_hash(header.height)),
        "requests": requests_reaching(connection, position, audited),
        "versions": _versions(connection, watched, members, transaction, audited),
    }


def _references(
    connection: sqlite3.Connection, position: Position, transaction: ModelTransaction
) -> list[Document]:
    """The models that it inherits from, each with the kind of its edge; None of a trained model."""
    rows = connection.execute("SELECT reference, kind FROM reference WHERE model = ?", (position.packed,))
    kinds = {place(row["reference"]): row["kind"] for row in rows}
    models = models_at(connection, [each.packed for each in transaction.references])
    return [{**each, "kind": kinds.get(each["position"])} for each in models]


def _later(connection: sqlite3.Connection, name: str | None, owner: Address) -> list[Document]:
    """The models of the same owner that are later versions of an adopted one, oldest first."""
    rows = connection.execute(
        "SELECT position FROM model WHERE supersedes = ? AND owner = ? ORDER BY position LIMIT ?",
        (name, owner, MOST_LATER),
    )
    return models_at(connection, [row["position"] for row in rows])


def _heirs(connection: sqlite3.Connection, position: Position, most: int = 200) -> Document:
    rows = connection.execute(
        "SELECT model, kind FROM reference WHERE reference = ? ORDER BY model LIMIT ?",
        (position.packed, most),
    ).fetchall()
    kinds = {place(row["model"]): row["kind"] for row in rows}
    total = connection.execute(
        "SELECT count(*) FROM reference WHERE reference = ?", (position.packed,)
    ).fetchone()[0]
    models = models_at(connection, [row["model"] for row in rows])
    return {"total": total, "models": [{**each, "kind": kinds[each["position"]]} for each in models]}


def _block(header: Header, members: Sequence[ModelTransaction], index: int, block_hash: Bytes32) -> Document:
    """The block, and the Merkle path from the leaf at `index` to its root."""
    leaves = [payload.block_leaf(each.position, each.ch) for each in members]
    path = merkle.proof(leaves, index)
    return {
        "height": header.height,
        "models": header.tx_count,
        "time": header.timestamp,
        "version": header.version,
        "parent": hexed(header.parent_hash),
        "hash": hexed(block_hash),
        "root": hexed(header.merkle_root),
        "leaf": hexed(leaves[index]),
        "path": [hexed(each) for each in path],
        "holds": merkle.verify(header.merkle_root, leaves[index], path),
    }


def _versions(
    connection: sqlite3.Connection,
    watched: Watched,
    members: Sequence[ModelTransaction],
    transaction: ModelTransaction,
    audited: bool,
) -> list[Document]:
    """Each version on both chains, with its node's content if the reader may see it."""
    packed = transaction.position.packed
    openings = _openings(watched, transaction.position)
    rows = connection.execute(
        "SELECT * FROM made WHERE position = ? ORDER BY version",
        (packed,),
    ).fetchall()
    return [
        {
            "version": row["version"],
            "current": row["version"] == transaction.version,
            "node": cid(row["uri"], row["codec"]),
            "transaction": hexed(row["sent"]),
            "time": row["time"],
            "opening": _opened(watched, transaction, row, openings.get(row["version"])),
            "archived": _archived(connection, packed, row["version"]),
            **(
                _content(connection, watched, row, audited)
                if audited or row["version"] == transaction.version
                else {"reserved": True, "review": reviewers(connection, row["proposal"])}
            ),
        }
        for row in rows
    ]


def _openings(watched: Watched, position: Position) -> dict[int, Opening]:
    """Logged openings, of all versions but 0."""
    return {
        event.arguments["version"]: Opening(**event.arguments["opening"])
        for event in watched.contracts.live.events("ModelRedacted")
        if event.arguments["position"] == position.packed
    }


def _opened(
    watched: Watched, transaction: ModelTransaction, row: sqlite3.Row, opening: Opening | None
) -> Document | None:
    """An opening, and whether it opens the model's chameleon hash to that version's content.

    The epoch is the one whose group key fits: the model's current epoch, else the newest that fits.  The
    opening of version 0 follows from the content and that key.
    """
    if opening is None and row["version"]:
        return None
    live, committee = watched.contracts.live, watched.contracts.committee
    uri = Uri(row["uri"], Codec(row["codec"]))
    references = payload.references_hash(transaction.references)
    content = payload.transaction_payload(uri, transaction.owner, references)
    label = chameleon.label(live.chain_id, live.address, transaction.position.packed)
    message = chameleon.message(row["version"], content)
    for epoch in (transaction.epoch, *range(committee.current_epoch(), 0, -1)):
        key = committee.roster(epoch)[0].group_key
        found = opening or chameleon.first_opening(key, label, message, transaction.ch)
        if found is not None and chameleon.verify(key, label, message, transaction.ch, found):
            return {"px": hex(found.px), "s": hex(found.s), "opens": True, "epoch": epoch}
    if opening is None:
        return None
    return {"px": hex(opening.px), "s": hex(opening.s), "opens": False, "epoch": None}


def _archived(connection: sqlite3.Connection, packed: int, version: int) -> list[Document]:
    rows = connection.execute(
        "SELECT record.*, sent.time AS sent_time FROM record"
        " LEFT JOIN sent ON sent.chain = 'archive' AND sent.hash = record.sent"
        " WHERE position = ? AND version = ? ORDER BY number",
        (packed, version),
    )
    return [
        {
            "record": row["number"],
            "reason": ArchiveReason(row["reason"]).name.lower(),
            "time": row["sent_time"],
            "transaction": hexed(row["sent"]),
            "node": cid(row["uri"], row["codec"]),
        }
        for row in rows
    ]


def _content(connection: sqlite3.Connection, watched: Watched, row: sqlite3.Row, audited: bool) -> Document:
    """Content of a version's node; `problem` if it cannot be read."""
    told: Document = {
        "reserved": False,
        "withdrawn": bool(row["withdrawn"]),
        "accuracy": row["accuracy"],
        "ad_f": row["ad_f"],
        "ad_r": row["ad_r"],
        "logit_auc": row["logit_auc"],
        "at_chance": bool(row["at_chance"]),
        "is_loss": bool(row["is_loss"]),
        "review": reviewers(connection, row["proposal"], row["checked"] and Checked(row["checked"])),
        "request": None if row["request"] is None else _request(connection, row, audited),
    }
    try:
        uri = Uri(row["uri"], Codec(row["codec"]))
        node = parse_node(watched.files.read_file(uri, MAX_NODE_BYTES))
    except BlockfulError as error:
        return {**told, "problem": without_paths(str(error))}
    return {**told, "problem": None, "statement": _statement(node), "weights": _weights(watched, node)}


def _request(connection: sqlite3.Connection, row: sqlite3.Row, audited: bool) -> Document:
    """The request behind a version, and the figures before it, as in `affected_models`."""
    key, position = row["request"], row["position"]
    (document,) = connection.execute("SELECT document FROM request WHERE key = ?", (key,)).fetchone()
    request = Request.model_validate_json(document)
    claimed = claimed_before(connection, key, request, position) if audited else {}
    before = claimed.get(position) or stated_before(row)
    return {"key": hexed(key), "forget": str(request.forget), "before": before}


def _statement(node: ModelNode) -> Document:
    statement: Document = json.loads(node.statement.model_dump_json())
    references = [
        {"name": each.name, "version": each.version, "accuracy": each.accuracy, "used": each.used}
        for each in node.statement.references
    ]
    return {**statement, "references": references, "signature": node.signature}


def _weights(watched: Watched, node: ModelNode) -> Document | None:
    """CID of the sealed file, and which of this machine's stores has it."""
    if node.is_withdrawn:
        return None
    held: dict[str, Any] = {"cid": cid_string(node.weights), "live": False, "archive": False}
    for name, store in (("live", watched.stores.live), ("archive", watched.stores.archive)):
        try:
            held[name] = store.has(node.weights)
        except BlockNotFoundError:
            held[name] = False
    return held
