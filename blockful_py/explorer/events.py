# SPDX-License-Identifier: Apache-2.0
"""Turns events into rows of the index (schema.sql)."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blockful_py.chain.abi import logged_records
from blockful_py.explorer.database import raise_counter
from blockful_py.explorer.sources import ARCHIVE, LIVE, ChainEvent, SourceLog
from blockful_py.types import Bytes32

Arguments = Mapping[str, Any]

STATES = {
    "ParticipantJoined": "joined",
    "ParticipantLeft": "left",
    "ParticipantBarred": "barred",
    "ParticipantReadmitted": "readmitted",
    "ParticipantAdmitted": "admitted",
}
"""State of a participant after an event."""

INSERTS = {
    "sent": "INSERT OR IGNORE INTO sent (chain, hash, block) VALUES (?, ?, ?)",
    "block": "INSERT INTO block (height, hash, merkle_root, models, epoch, sent) VALUES (?, ?, ?, ?, ?, ?)",
    "model": "INSERT INTO model (position, row, owner, version) VALUES (?, ?, ?, 0)",
    "reference": "INSERT OR IGNORE INTO reference (model, reference) VALUES (?, ?)",
    "tick": "INSERT INTO tick VALUES (?, ?)",
    "version": "INSERT INTO version (position, version, uri, codec, tick) VALUES (?, ?, ?, ?, ?)",
    "record": "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "certificate": "INSERT OR REPLACE INTO certificate VALUES (?, ?, ?, ?)",
    "filing": "INSERT INTO filing (number, account, uri, codec, height, sent) VALUES (?, ?, ?, ?, ?, ?)",
    "decision": "UPDATE filing SET decision = ?, deadline = ?, decided = ? WHERE number = ?",
    "part": "INSERT INTO part (filing, position, account, uri, codec, sent) VALUES (?, ?, ?, ?, ?, ?)",
    "participant": "INSERT INTO participant VALUES (?, ?, ?) ON CONFLICT (account) DO UPDATE SET"
    " number = max(number, excluded.number), state = excluded.state",
    "endpoint": "INSERT OR REPLACE INTO endpoint VALUES (?, ?, ?)",
    "epoch": "INSERT OR REPLACE INTO epoch VALUES (?, ?, ?, ?, ?, ?, ?)",
    "happening": "INSERT INTO happening (source, name, arguments, chain, sent) VALUES (?, ?, ?, ?, ?)",
    "proposal": "UPDATE sent SET proposal = ? WHERE chain = ? AND hash = ?",
    "rest": "UPDATE sent SET rest = ? WHERE chain = ? AND hash = ?",
    "newest": "UPDATE model SET version = ? WHERE position = ?",
    "reopened": "UPDATE block SET version = ? WHERE height = ?",
}
"""Statements in the order in which a batch of rows is written."""


class EventRows:
    """Collects the rows for a batch of one contract's events, and writes them."""

    def __init__(self, connection: sqlite3.Connection, source: SourceLog) -> None:
        self._connection = connection
        self._source = source
        self._rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        self._models: int = connection.execute("SELECT count(*) FROM model").fetchone()[0]
        self._ticks: int = connection.execute("SELECT count(*) FROM tick").fetchone()[0]
        last = connection.execute("SELECT sent FROM tick ORDER BY number DESC LIMIT 1").fetchone()
        self._ticked: bytes | None = last[0] if last else None
        self._handlers: Mapping[str, Callable[[Arguments, bytes], None]] = {
            LIVE: {
                "BlockAppended": self._block_appended,
                "ModelPublished": self._model_published,
                "HeaderRedacted": self._header_redacted,
                "ModelRedacted": self._model_redacted,
                "ChunkExecuted": self._chunk_executed,
            },
            ARCHIVE: {
                "Archived": self._archived,
                "RecordsCertified": self._certified,
                "ChunkExecuted": self._chunk_executed,
            },
            "participants": {
                "Filed": self._filed,
                "RequestAdmitted": self._admitted,
                "RequestDismissed": self._dismissed,
                "HandedIn": self._handed_in,
                "Announced": self._announced,
            },
            "committee": {"EpochStarted": self._epoch},
            "mirror": {"EpochStarted": self._epoch},
        }.get(source.name, {})

    def add(self, event: ChainEvent) -> None:
        """Adds the rows of one event."""
        chain, name, values = self._source.chain, event.name, event.arguments
        sent = event.transaction_hash
        self._rows["sent"].append((chain, sent, event.block_number))
        handler = self._handlers.get(name)
        if handler is not None:
            handler(values, sent)
        if name in STATES:
            self._rows["participant"].append((values["account"], values.get("number", 0), STATES[name]))
        if handler is None:
            shown = json.dumps(shown_arguments(values), separators=(",", ":"))
            self._rows["happening"].append((self._source.name, name, shown, chain, sent))

    def write(self) -> None:
        """Writes the collected rows; the caller holds a transaction."""
        for name, statement in INSERTS.items():
            if rows := self._rows.pop(name, None):
                self._connection.executemany(statement, rows)

    def _tick(self, sent: bytes) -> int:
        """Number of a live transaction that published or replaced models."""
        if sent != self._ticked:
            self._ticks, self._ticked = self._ticks + 1, sent
            self._rows["tick"].append((self._ticks, sent))
        return self._ticks

    def _names(self, proposal: Bytes32, sent: bytes) -> None:
        self._rows["proposal"].append((proposal, self._source.chain, sent))

    def _chunk_executed(self, values: Arguments, sent: bytes) -> None:
        self._names(values["proposal"], sent)
        self._rows["rest"].append((values["chunks"] - values["done"], self._source.chain, sent))

    def _block_appended(self, values: Arguments, sent: bytes) -> None:
        fields = ("height", "blockHash", "merkleRoot", "txCount", "epoch")
        self._rows["block"].append((*(values[each] for each in fields), sent))
        self._names(values["proposal"], sent)

    def _model_published(self, values: Arguments, sent: bytes) -> None:
        position = values["position"]
        self._rows["model"].append((position, self._models, values["owner"]))
        self._rows["version"].append((position, 0, values["uri"], values["codec"], self._tick(sent)))
        self._rows["reference"] += [(position, each) for each in values["references"]]
        self._models += 1

    def _header_redacted(self, values: Arguments, sent: bytes) -> None:
        self._names(values["proposal"], sent)
        self._rows["reopened"].append((values["version"], values["height"]))

    def _model_redacted(self, values: Arguments, sent: bytes) -> None:
        position, version = values["position"], values["version"]
        self._rows["version"].append((position, version, values["uri"], values["codec"], self._tick(sent)))
        self._rows["newest"].append((version, position))

    def _archived(self, values: Arguments, sent: bytes) -> None:
        for stored in logged_records(values):
            record, uri = stored.record, stored.record.uri
            fields = record.position.packed, record.version, record.reason, uri.digest, uri.codec
            self._rows["record"].append((stored.index, *fields, stored.timestamp, sent))

    def _certified(self, values: Arguments, sent: bytes) -> None:
        signed = values["certificate"]
        content = signed["contentHash"]
        self._rows["certificate"].append(
            (values["proposal"], signed["epoch"], hex(signed["voters"]), content)
        )
        self._names(values["proposal"], sent)

    def _filed(self, values: Arguments, sent: bytes) -> None:
        fields = ("number", "by", "digest", "codec", "height")
        self._rows["filing"].append((*(values[each] for each in fields), sent))

    def _admitted(self, values: Arguments, sent: bytes) -> None:
        self._rows["decision"].append(("admitted", values["deadline"], sent, values["number"]))

    def _dismissed(self, values: Arguments, sent: bytes) -> None:
        self._rows["decision"].append(("dismissed", None, sent, values["number"]))

    def _handed_in(self, values: Arguments, sent: bytes) -> None:
        fields = ("request", "position", "by", "digest", "codec")
        self._rows["part"].append((*(values[each] for each in fields), sent))

    def _announced(self, values: Arguments, sent: bytes) -> None:
        self._rows["endpoint"].append((values["account"], values["key"], values["url"]))

    def _epoch(self, values: Arguments, sent: bytes) -> None:
        members = json.dumps(["0x" + each.hex() for each in values["members"]])
        fields = values["quorum"], values["threshold"]
        self._rows["epoch"].append(
            (self._source.chain, values["epoch"], values["keyId"], members, *fields, sent)
        )


def apply(connection: sqlite3.Connection, source: SourceLog, events: Sequence[ChainEvent]) -> None:
    """Appends new events; the caller holds a transaction."""
    rows = EventRows(connection, source)
    for event in events:
        rows.add(event)
    rows.write()
    raise_counter(connection, "events", len(events))


def shown_arguments(values: Arguments) -> dict[str, Any]:
    """Arguments as JSON values: bytes in hexadecimal, integers beyond 53 bits as text."""
    return {name: _shown(value) for name, value in values.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, Mapping):
        return shown_arguments(value)
    if isinstance(value, list | tuple):
        return [_shown(each) for each in value]
    if isinstance(value, int) and abs(value) >= 2**53:
        return str(value)
    return value
