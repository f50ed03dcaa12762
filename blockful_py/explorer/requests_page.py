# SPDX-License-Identifier: Apache-2.0
"""Requests to forget, from signing or filing to the certificate."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from blockful_py.errors import BlockfulError
from blockful_py.explorer.affected import affected_models, reached, with_ancestors
from blockful_py.explorer.lists import Document, cid, hexed, models_at, place, reviewers, without_paths
from blockful_py.explorer.recipients import recipients_told
from blockful_py.explorer.watched import Watched
from blockful_py.pipeline.run.directory import CERTIFICATES
from blockful_py.pipeline.run.recipients import live_domain
from blockful_py.record.certificates.document import ErasureCertificate, parse_certificate
from blockful_py.record.request import Request
from blockful_py.record.shown import checked_by_members, is_passing, shown
from blockful_py.types import Bytes32, Checked, Position

MAX_CERTIFICATE_BYTES = 64 * 2**20
OPEN = (
    "(filing.number IS NOT NULL OR EXISTS (SELECT 1 FROM version JOIN model USING (position)"
    " WHERE version.request = request.key AND version.version = model.version))"
)
"""Condition for a request that was filed or that a current version names; others are only archived."""


def request_list(connection: sqlite3.Connection, audited: bool) -> list[Document]:
    """All requests, newest first, and filings whose request could not be read.

    With `audited`, includes requests that only the archive still names.
    """
    rows = connection.execute(
        "SELECT request.*, filing.number, filing.height"  # noqa: S608
        " FROM request LEFT JOIN filing ON filing.request = request.key"
        f" WHERE ? OR {OPEN} ORDER BY created DESC",
        (audited,),
    ).fetchall()
    unread = connection.execute(
        "SELECT number, decision, problem FROM filing WHERE request IS NULL ORDER BY number DESC"
    ).fetchall()
    return [
        *({"number": row["number"], "key": None, "problem": _problem(row)} for row in unread),
        *(_heading(connection, row) for row in rows),
    ]


def requests_reaching(connection: sqlite3.Connection, position: Position, audited: bool) -> list[Document]:
    """Requests that affect a model, newest first; `audited` as for `request_list`.

    Each has the resulting version; None if the model waits or was left alone.
    """
    rows = connection.execute(
        "SELECT request.*, filing.number, filing.height, (SELECT max(version.version) FROM version"  # noqa: S608
        " WHERE version.position = ? AND version.request = request.key) AS version"
        " FROM request LEFT JOIN filing ON filing.request = request.key"
        f" WHERE ? OR {OPEN} ORDER BY created DESC",
        (position.packed, audited),
    ).fetchall()
    above = with_ancestors(connection, position.packed)
    found = []
    for row in rows:
        request = Request.model_validate_json(row["document"])
        was_there = row["height"] is None or position.height <= row["height"]
        if was_there and any(start.place().packed in above for start in request.starts):
            forget = {"key": hexed(row["key"]), "forget": str(request.forget)}
            found.append({**forget, "paradigm": request.paradigm, "version": row["version"]})
    return found


def request_document(
    connection: sqlite3.Connection, watched: Watched, key: bytes, audited: bool
) -> Document | None:
    """A request's history; None for an unknown key.

    With `audited`, includes requests and figures that only the archive has.
    """
    row = connection.execute(
        "SELECT request.*, filing.number, filing.height"  # noqa: S608
        " FROM request LEFT JOIN filing ON filing.request = request.key"
        f" WHERE key = ? AND (? OR {OPEN})",
        (key, audited),
    ).fetchone()
    if row is None:
        return None
    request = Request.model_validate_json(row["document"])
    heading = _heading(connection, row)
    decisions = decisions_of(connection, key)
    certificate, read = certificate_of(watched, request), watched.stores.live.read
    return {
        **heading,
        "document": json.loads(row["document"]),
        "checked": _weakest(each["review"] and each["review"]["checked"] for each in decisions)
        or checked_by_members(request),
        "filing": _filing(connection, row["number"]),
        "decisions": decisions,
        "models": affected_models(connection, key, request, row["height"], audited),
        "recipients": recipients_told(connection, key, read, live_domain(watched.contracts)),
        "certificate": _certified(certificate),
    }


def certificate_of(watched: Watched, request: Request) -> ErasureCertificate | None:
    """A request's erasure certificate from a run's folder on this machine; None without a readable one."""
    folders = (watched.run.certificates, *(run / CERTIFICATES for _, run in watched.jobs))
    found = (_certificate(folder / f"erasure-{request.created}.json", request) for folder in folders)
    return next((each for each in found if each is not None), None)


def _certificate(path: Path, request: Request) -> ErasureCertificate | None:
    try:
        if path.stat().st_size > MAX_CERTIFICATE_BYTES:
            return None
        certificate = parse_certificate(path.read_bytes())
    except (OSError, BlockfulError):
        return None
    return certificate if certificate.statement.request == request else None


def _heading(connection: sqlite3.Connection, row: sqlite3.Row) -> Document:
    request = Request.model_validate_json(row["document"])
    replaced, last, first = connection.execute(
        "SELECT count(DISTINCT position), max(time), min(time) FROM made WHERE request = ?",
        (row["key"],),
    ).fetchone()
    starts = [start.place().packed for start in request.starts]
    affected = len(reached(connection, starts, row["height"]))
    left = affected - replaced
    return {
        "key": hexed(row["key"]),
        "number": row["number"],
        "starts": [{"name": each.name, "position": each.position} for each in request.starts],
        "forget": str(request.forget),
        "paradigm": request.paradigm,
        "method": request.method,
        "created": request.created,
        "replaced": replaced,
        "affected": affected,
        "left_alone": left if left > 0 and _is_passed_on(connection, row["key"], request) else 0,
        "first": first,
        "last": last,
        "problem": None,
    }


def _problem(filing: sqlite3.Row) -> str:
    """Why a filing's request is not shown."""
    if filing["decision"] is None:
        return "the committee has not decided on its admission"
    if filing["decision"] == "dismissed":
        return "the committee has dismissed it"
    return without_paths(filing["problem"] or "")


def _is_passed_on(connection: sqlite3.Connection, key: bytes, request: Request) -> bool:
    """Computes `record.request_state` from the index; false while nodes of a decision are missing."""
    if not is_passing(request):
        return False
    rows = connection.execute(
        "SELECT position, request, proposal, rest FROM made"
        " WHERE proposal IN (SELECT proposal FROM made WHERE request = ?)",
        (key,),
    ).fetchall()
    whole = {row["proposal"] for row in rows if row["rest"] == 0}
    starts = {start.place().packed for start in request.starts}
    return starts <= {row["position"] for row in rows} and all(
        row["request"] == key and row["proposal"] in whole for row in rows
    )


def _filing(connection: sqlite3.Connection, number: int | None) -> Document | None:
    row = connection.execute(
        "SELECT filing.*, sent.block, sent.time, sent.gas, participant.number AS user FROM filing"
        " JOIN sent ON sent.chain = 'live' AND sent.hash = filing.sent"
        " LEFT JOIN participant ON participant.account = filing.account WHERE filing.number = ?",
        (number,),
    ).fetchone()
    if row is None:
        return None
    parts = connection.execute(
        "SELECT part.*, sent.block, sent.time, sent.gas, participant.number AS user FROM part"
        " JOIN sent ON sent.chain = 'live' AND sent.hash = part.sent"
        " LEFT JOIN participant ON participant.account = part.account WHERE filing = ? ORDER BY part.id",
        (number,),
    ).fetchall()
    names = {each["position"]: each["name"] for each in models_at(connection, {p["position"] for p in parts})}
    return {
        **_event(row),
        "account": hexed(row["account"]),
        "user": row["user"],
        "file": cid(row["uri"], row["codec"]),
        "decision": row["decision"],
        "deadline": row["deadline"],
        "parts": [
            {
                **_event(each),
                "model": names.get(place(each["position"])),
                "position": place(each["position"]),
                "account": hexed(each["account"]),
                "user": each["user"],
                "node": cid(each["uri"], each["codec"]),
            }
            for each in parts
        ],
    }


def decisions_of(connection: sqlite3.Connection, key: bytes) -> list[Document]:
    """Decisions that replaced models for a request, with their transactions and signers."""
    rows = connection.execute(
        "SELECT proposal FROM made WHERE request = ? GROUP BY proposal ORDER BY min(tick)",
        (key,),
    ).fetchall()
    return [_decision(connection, row["proposal"], key) for row in rows]


def _decision(connection: sqlite3.Connection, proposal: Bytes32, key: bytes) -> Document:
    sent = connection.execute(
        "SELECT * FROM sent WHERE proposal = ? ORDER BY chain, block", (proposal,)
    ).fetchall()
    made = connection.execute(
        "SELECT position, withdrawn, checked FROM made WHERE proposal = ? AND request = ?",
        (proposal, key),
    ).fetchall()
    withdrawn = {place(row["position"]) for row in made if row["withdrawn"]}
    return {
        "review": reviewers(connection, proposal, _weakest(row["checked"] for row in made)),
        "models": [
            {
                "name": each["name"],
                "position": each["position"],
                "withdrawn": each["position"] in withdrawn,
            }
            for each in models_at(connection, [row["position"] for row in made])
        ],
        "transactions": [{**_event(each), "chain": each["chain"]} for each in sent],
    }


def _weakest(checks: Iterable[str | None]) -> Checked | None:
    return max((Checked(each) for each in checks if each), key=list(Checked).index, default=None)


def _event(row: sqlite3.Row) -> Document:
    keys = row.keys()
    sent = row["sent"] if "sent" in keys else row["hash"]
    return {"transaction": hexed(sent), "block": row["block"], "time": row["time"], "gas": row["gas"]}


def _certified(certificate: ErasureCertificate | None) -> Document | None:
    if certificate is None:
        return None
    statement = certificate.statement
    try:
        told = shown(statement)
    except BlockfulError:  # a document that nobody checked
        return None
    return {
        "kind": told.kind,
        "warnings": list(told.warnings),
        "models": [each.name for each in statement.replaced],
        "destroyed": len(statement.erasure.keys_destroyed),
        "audited": certificate.attachment is not None,
    }
