# SPDX-License-Identifier: Apache-2.0
"""Reads names, accuracies and requests from model nodes and filed requests into the index."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from blockful_py.errors import BlockfulError
from blockful_py.explorer.database import change
from blockful_py.explorer.events import INSERTS
from blockful_py.explorer.sources import FileSource
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, parse_node
from blockful_py.record.parts import MAX_REQUEST_BYTES
from blockful_py.record.request import Request, request_key
from blockful_py.record.shown import checked_in
from blockful_py.types import Codec, Position, Uri

BATCH = 500
RETRY_SECONDS = 60.0
"""Seconds until a file that could not be read is requested again."""
UNREAD, READ, UNREADABLE = 0, 1, 2
"""States of a version's node, and of a filing's request."""
DUE = f"(state = {UNREAD} OR (state = {UNREADABLE} AND retry <= ?))"
ADMITTED = "decision = 'admitted'"
"""Only requests of admitted filings are read: nobody has vouched for the others."""


class DocumentReader:
    """Reads files named in the index that were not read yet."""

    def __init__(self, connection: sqlite3.Connection, files: FileSource) -> None:
        self._connection = connection
        self._files = files

    def left(self) -> int:
        """Number of files to read now."""
        now = (time.time(),)
        versions = self._connection.execute(f"SELECT count(*) FROM version WHERE {DUE}", now)  # noqa: S608
        filings = self._connection.execute(f"SELECT count(*) FROM filing WHERE {DUE} AND {ADMITTED}", now)  # noqa: S608
        return int(versions.fetchone()[0] + filings.fetchone()[0])

    def read_some(self) -> int:
        """Reads a batch of these files; returns their number."""
        return self._read_versions() + self._read_filings()

    def _read_versions(self) -> int:
        due = self._connection.execute(
            f"SELECT position, version, uri, codec FROM version WHERE {DUE} LIMIT {BATCH}",  # noqa: S608
            (time.time(),),
        ).fetchall()
        requests: dict[bytes, Request] = {}
        keys: dict[Request, bytes] = {}
        rows, names, problems = [], [], list[tuple[Any, ...]]()
        references: list[tuple[int, int]] = []
        kinds: list[tuple[str, bool, int, int]] = []
        for position, version, digest, codec in due:
            try:
                node = parse_node(self._files.read_file(Uri(digest, Codec(codec)), MAX_NODE_BYTES))
            except BlockfulError as error:
                problems.append((str(error), time.time() + RETRY_SECONDS, position, version))
                continue
            key = None
            if node.redaction is not None:
                request = node.redaction.request
                key = keys.get(request) or keys.setdefault(request, request_key(request))
                requests[key] = request
            rows.append((*_figures(node), key, position, version))
            statement = node.statement
            supersedes = statement.adopted and statement.adopted.supersedes
            names.append((node.name, statement.user, statement.round, supersedes, position, version))
            kinds += _kinds(node, position)
            if version:
                height = Position.unpack(position).height
                places = (each.place() for each in statement.references)
                references += [(position, place.packed) for place in places if place.height < height]
        if due:
            self._write(rows, names, references, kinds, problems, requests)
        return len(due)

    def _write(
        self,
        rows: Sequence[tuple[Any, ...]],
        names: Sequence[tuple[Any, ...]],
        references: Sequence[tuple[int, int]],
        kinds: Sequence[tuple[str, bool, int, int]],
        problems: Sequence[tuple[Any, ...]],
        requests: dict[bytes, Request],
    ) -> None:
        with change(self._connection):
            self._keep(requests)
            self._connection.executemany(
                f"UPDATE version SET state = {READ}, problem = NULL, accuracy = ?, ad_f = ?, ad_r = ?,"  # noqa: S608
                " at_chance = ?, is_loss = ?, logit_auc = ?, ad_f_before = ?, ad_r_before = ?,"
                " logit_auc_before = ?, withdrawn = ?, checked = ?, request = ?"
                " WHERE position = ? AND version = ?",
                rows,
            )
            self._connection.executemany(
                "UPDATE model SET name = ?, user = ?, round = ?, supersedes = ? WHERE position = ?"
                " AND (version = ? OR name IS NULL)",
                names,
            )
            self._connection.executemany(INSERTS["reference"], references)
            self._connection.executemany(
                "UPDATE reference SET kind = ?, needed = ? WHERE model = ? AND reference = ?", kinds
            )
            self._connection.executemany(
                f"UPDATE version SET state = {UNREADABLE}, problem = ?, retry = ?"  # noqa: S608
                " WHERE position = ? AND version = ?",
                problems,
            )

    def _read_filings(self) -> int:
        due = self._connection.execute(
            f"SELECT number, uri, codec FROM filing WHERE {DUE} AND {ADMITTED} LIMIT {BATCH}",  # noqa: S608
            (time.time(),),
        ).fetchall()
        for number, digest, codec in due:
            try:
                data = self._files.read_file(Uri(digest, Codec(codec)), MAX_REQUEST_BYTES)
                request = _request(data)
            except (BlockfulError, ValueError) as error:
                with change(self._connection):
                    self._connection.execute(
                        "UPDATE filing SET state = ?, problem = ?, retry = ? WHERE number = ?",
                        (UNREADABLE, str(error)[:500], time.time() + RETRY_SECONDS, number),
                    )
                continue
            key = request_key(request)
            with change(self._connection):
                self._keep({key: request})
                self._connection.execute(
                    "UPDATE filing SET state = ?, problem = NULL, request = ? WHERE number = ?",
                    (READ, key, number),
                )
        return len(due)

    def _keep(self, requests: dict[bytes, Request]) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO request VALUES (?, ?, ?, ?, ?)",
            [
                (key, each.model_dump_json(), each.paradigm, each.method, each.created)
                for key, each in requests.items()
            ],
        )


def _kinds(node: ModelNode, position: int) -> list[tuple[str, bool, int, int]]:
    """Kind, need, model and reference of each edge of an adopted model."""
    statement = node.statement
    if statement.adopted is None:
        return []
    edges = zip(statement.adopted.edges, statement.adopted.needs, statement.references, strict=True)
    return [(edge.kind, needed, position, each.place().packed) for edge, needed, each in edges]


def _figures(node: ModelNode) -> tuple[float | bool | str | None, ...]:
    claims = node.redaction.claims if node.redaction else None
    if node.redaction is None or claims is None:
        return node.signed_accuracy, None, None, False, False, None, None, None, None, node.is_withdrawn, None
    return (
        node.signed_accuracy,
        claims.ad_f,
        claims.ad_r,
        claims.is_at_chance,
        claims.is_loss,
        claims.logit_auc,
        claims.ad_f_before,
        claims.before,
        claims.logit_auc_before,
        node.is_withdrawn,
        checked_in(node.redaction.request, [node]).value,
    )


def _request(data: bytes) -> Request:
    """Parses a request.  Raises ValueError."""
    try:
        return Request.model_validate_json(data)
    except ValidationError as error:
        raise ValueError(f"this is not a request: {error.errors()[0]['msg']}") from None
