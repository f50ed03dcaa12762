# SPDX-License-Identifier: Apache-2.0
"""Recipients of the versions that a request replaced, and their answers, by the index and declared files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from blockful_py.crypto import eip712
from blockful_py.explorer.lists import Document, cid, hexed, place
from blockful_py.record.recall.listed import ListedRecipient, listed
from blockful_py.record.recall.recipients import RecordedModel, recipients
from blockful_py.types import Address, Codec, Position, Uri


@dataclass(frozen=True, slots=True)
class _DeclaredRow:
    """A file that an account declared on a model (`DeclaredFile`)."""

    position: Position
    by: Address
    uri: Uri
    block_number: int


def recipients_told(
    connection: sqlite3.Connection, key: bytes, read: Callable[[Uri, int], bytes], domain: eip712.Domain
) -> Document | None:
    """The recipients of a request's replaced versions, the open ones first; None without any.

    `read`: a store's `read`.  `domain`: the live chain's.  They count as in a certificate.
    """
    rows = connection.execute(
        "SELECT position, max(version) AS version FROM version WHERE request = ? GROUP BY position", (key,)
    )
    replaced = {row["position"]: row["version"] for row in rows}
    declared = [each for each in _declared(connection) if each.position.packed in replaced]
    models = {each.position: _model(connection, each.position.packed) for each in declared}
    found = recipients(declared, models, read, domain)
    versions = {place(packed): version for packed, version in replaced.items()}
    block = max((each.block_number for each in declared), default=0)
    shown = listed(found, versions, block)
    if shown is None:
        return None
    names = {str(position): model.name for position, model in models.items()}
    return {
        "counts": shown.counts,
        "recipients": [_recipient(each, names) for each in shown.recipients],
        "more": shown.more,
        "unread": len(shown.unread),
    }


def _declared(connection: sqlite3.Connection) -> list[_DeclaredRow]:
    """Every declared file, oldest first."""
    rows = connection.execute(
        "SELECT happening.arguments, sent.block FROM happening JOIN sent ON sent.chain = happening.chain"
        " AND sent.hash = happening.sent WHERE source = 'participants' AND name = 'Declared' ORDER BY id"
    )
    return [_as_declared(json.loads(row["arguments"]), row["block"]) for row in rows]


def _as_declared(values: Document, block: int) -> _DeclaredRow:
    uri = Uri(bytes.fromhex(values["digest"][2:]), Codec(values["codec"]))
    return _DeclaredRow(Position.unpack(int(values["position"])), bytes.fromhex(values["by"][2:]), uri, block)


def _model(connection: sqlite3.Connection, packed: int) -> RecordedModel:
    model = connection.execute("SELECT * FROM model WHERE position = ?", (packed,)).fetchone()
    rows = connection.execute("SELECT version, uri, codec FROM version WHERE position = ?", (packed,))
    nodes = {row["version"]: cid(row["uri"], row["codec"]) for row in rows}
    return RecordedModel(model["name"] or place(packed), hexed(model["owner"]) or "", model["version"], nodes)


def _recipient(each: ListedRecipient, names: dict[str, str]) -> Document:
    answer = each.answer
    return {
        "model": names[each.position],
        "position": each.position,
        "version": each.version,
        "recipient": each.recipient,
        "account": each.account,
        "did": None if answer is None else answer.did.value,
        "at": None if answer is None else answer.at,
    }
