# SPDX-License-Identifier: Apache-2.0
"""JSON documents about the federation, its models and its blocks, from the index."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from typing import Any

from blockful_py.explorer.places import parsed
from blockful_py.settings.sections import FederationSettings
from blockful_py.storage.cid import cid_string
from blockful_py.types import Bytes32, Checked, Codec, Position, Uri

Document = dict[str, Any]

ORDERS = {
    "position": "model.position",
    "name": "model.name COLLATE NOCASE",
    "version": "model.version",
    "accuracy": "last.accuracy",
    "ad_f": "last.ad_f",
    "ad_r": "last.ad_r",
}
"""Sort keys of model lists."""

_MODELS = (
    "SELECT model.position, model.name, model.owner, model.user, model.version, last.accuracy, last.ad_f,"
    " last.ad_r, last.at_chance, last.withdrawn, last.problem FROM model JOIN version AS last"
    " ON last.position = model.position AND last.version = model.version"
)


def hexed(value: bytes | None) -> str | None:
    return None if value is None else "0x" + value.hex()


def place(packed: int) -> str:
    """A position in text form: height:index."""
    return str(Position.unpack(packed))


def cid(digest: Bytes32, codec: int) -> str:
    return cid_string(Uri(digest, Codec(codec)))


def without_paths(text: str) -> str:
    """An error message for strangers, without folders of this machine."""
    return re.sub(r"(?<![\w/:.])/(?:[^\s/:;,]+/)+", "…/", text)


def model_row(row: sqlite3.Row) -> Document:
    return {
        "position": place(row["position"]),
        "name": row["name"],
        "owner": hexed(row["owner"]),
        "user": row["user"],
        "version": row["version"],
        "accuracy": row["accuracy"],
        "ad_f": row["ad_f"],
        "ad_r": row["ad_r"],
        "at_chance": bool(row["at_chance"]),
        "withdrawn": bool(row["withdrawn"]),
        "problem": row["problem"] and without_paths(row["problem"]),
    }


def model_list(
    connection: sqlite3.Connection, text: str, order: str, down: bool, start: int, count: int
) -> Document:
    """Models whose name contains `text`, or whose owner or position equals it: `count` from `start` on."""
    where, values = _matching(text)
    total = connection.execute(f"SELECT count(*) FROM model {where}", values).fetchone()[0]  # noqa: S608
    direction = "DESC" if down else "ASC"
    rows = connection.execute(
        f"{_MODELS} {where} ORDER BY {ORDERS[order]} {direction} NULLS LAST, model.position LIMIT ? OFFSET ?",
        (*values, count, start),
    )
    return {"total": total, "start": start, "models": [model_row(row) for row in rows]}


def models_at(connection: sqlite3.Connection, positions: Iterable[int]) -> list[Document]:
    wanted = list(positions)
    marks = ",".join("?" * len(wanted))
    rows = connection.execute(f"{_MODELS} WHERE model.position IN ({marks}) ORDER BY model.position", wanted)
    return [model_row(row) for row in rows]


def _matching(text: str) -> tuple[str, tuple[Any, ...]]:
    if not text:
        return "", ()
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    clauses, values = ["model.name LIKE ? ESCAPE '\\'"], [f"%{escaped}%"]
    parts: list[Any] = [*values]
    if (position := parsed(text)) is not None:
        clauses.append("model.position = ?")
        parts.append(position.packed)
    try:
        if text.startswith("0x") and len(text) == 42:
            parts.append(bytes.fromhex(text[2:]))
            clauses.append("model.owner = ?")
    except ValueError:
        pass
    return f"WHERE ({' OR '.join(clauses)})", tuple(parts)


def blocks(connection: sqlite3.Connection, before: int, count: int) -> Document:
    """Transactions of both chains that changed the record, newest first."""
    rows = connection.execute(
        "SELECT * FROM (SELECT row_number() OVER (ORDER BY time, block, chain, hash) AS number, * FROM sent"
        " WHERE proposal IS NOT NULL) WHERE number < ? ORDER BY number DESC LIMIT ?",
        (before, count),
    ).fetchall()
    return {
        "transactions": [_transaction(connection, row) for row in rows],
        "next": rows[-1]["number"] if len(rows) == count else None,
        "gas": gas_totals(connection),
    }


def _transaction(connection: sqlite3.Connection, row: sqlite3.Row) -> Document:
    sent = (row["hash"],)
    published, replaced = connection.execute(
        "SELECT coalesce(sum(version = 0), 0), coalesce(sum(version > 0), 0) FROM made WHERE sent = ?",
        sent,
    ).fetchone()
    archived = connection.execute("SELECT count(*) FROM record WHERE sent = ?", sent).fetchone()[0]
    height = connection.execute("SELECT height FROM block WHERE sent = ?", sent).fetchone()
    live = row["chain"] == "live"
    return {
        "chain": row["chain"],
        "hash": hexed(row["hash"]),
        "block": height["height"] if height and live else None,
        "time": row["time"],
        "gas": row["gas"],
        "proposal": hexed(row["proposal"]),
        "published": published if live else 0,
        "replaced": replaced if live else 0,
        "archived": 0 if live else archived,
    }


def gas_totals(connection: sqlite3.Connection) -> list[Document]:
    """Gas on both chains, by kind of transaction."""
    rows = connection.execute(
        "WITH live AS (SELECT gas, sum(version > 0) AS replaced, count(*) AS models FROM made GROUP BY tick),"
        " archived AS (SELECT sent.gas, count(*) AS models, sum(reason) AS superseded FROM record"
        " JOIN sent ON sent.chain = 'archive' AND sent.hash = record.sent GROUP BY record.sent)"
        " SELECT 'publish' AS did, 'live' AS chain, count(*) AS transactions, sum(models) AS models,"
        " sum(gas) AS gas FROM live WHERE replaced = 0"
        " UNION ALL SELECT 'replace', 'live', count(*), sum(models), sum(gas) FROM live WHERE replaced > 0"
        " UNION ALL SELECT 'publish', 'archive', count(*), sum(models), sum(gas) FROM archived"
        " WHERE superseded = 0"
        " UNION ALL SELECT 'replace', 'archive', count(*), sum(models), sum(gas) FROM archived"
        " WHERE superseded > 0"
    )
    return [dict(row) for row in rows if row["transactions"]]


def summary(connection: sqlite3.Connection) -> Document:
    """Counts of the index's contents."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM model) AS models, (SELECT count(*) FROM reference) AS edges,"
        " (SELECT count(*) FROM model WHERE version > 0) AS replaced,"
        " (SELECT coalesce(max(height), 0) FROM block) AS height,"
        " (SELECT count(*) FROM record) AS records, (SELECT count(*) FROM request) AS requests,"
        " (SELECT count(*) FROM version WHERE state <> 1) AS unread,"
        " (SELECT coalesce(max(number), 0) FROM epoch WHERE chain = 'live') AS epoch,"
        " (SELECT max(time) FROM sent) AS newest"
    ).fetchone()
    return dict(row)


def with_parties(document: Any, federation: FederationSettings) -> Any:
    """Adds the party's own name as `party` to every object with a `user`.

    Changes the document and returns it.
    """
    if isinstance(document, dict):
        if "user" in document:
            account = document.get("owner") or document.get("account") or ""
            document["party"] = federation.party(document["user"] or 0, account)
        for each in document.values():
            with_parties(each, federation)
    elif isinstance(document, list):
        for each in document:
            with_parties(each, federation)
    return document


def reviewers(
    connection: sqlite3.Connection, proposal: Bytes32 | None, checked: Checked | None = None
) -> Document | None:
    """Signers of a decision's certificate, among all members of its epoch; None without a certificate.

    `checked`: how they checked new weights, if there are any.
    """
    row = connection.execute("SELECT * FROM certificate WHERE proposal = ?", (proposal,)).fetchone()
    if row is None:
        return None
    epoch = connection.execute(
        "SELECT members, quorum FROM epoch WHERE number = ? ORDER BY chain DESC LIMIT 1", (row["epoch"],)
    ).fetchone()
    voters = int(row["voters"], 16)
    members = json.loads(epoch["members"]) if epoch else []
    return {
        "proposal": hexed(proposal),
        "epoch": row["epoch"],
        "quorum": epoch["quorum"] if epoch else None,
        "checked": checked,
        "members": [
            {"index": index, "address": address, "signed": bool(voters >> index & 1)}
            for index, address in enumerate(members)
        ],
    }
