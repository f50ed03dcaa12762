# SPDX-License-Identifier: Apache-2.0
"""Generated federations of any size: their contracts' logs, and their nodes.

Users publish wave after wave; a model refers to some of the previous waves.  A request replaces the
descendants of its starts.  Nothing is signed or sealed: the index reads it, but no check would pass.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from blockful_py.errors import BlockNotFoundError
from blockful_py.explorer.sources import ARCHIVE, LIVE, IndexSources, SentReceipt, SourceLog
from blockful_py.storage.cid import cid_string
from blockful_py.types import ArchiveReason, ArchiveRecord, Codec, Position, Uri
from tests.packed_records import packed

BLOCK = 100
"""Models of one block, and of one transaction that replaces some."""
WAVES = 3
"""Waves before its own that a model refers to."""
EPOCH_OF_TIME = 1_767_225_600


@dataclass(frozen=True, slots=True)
class GeneratedEvent:
    """An event as the index reads it."""

    name: str
    arguments: Mapping[str, Any]
    block_number: int
    transaction_hash: bytes


@dataclass
class GeneratedLog:
    """A contract's events, to which more can be added."""

    events: list[GeneratedEvent] = field(default_factory=list)

    def log(self) -> Sequence[GeneratedEvent]:
        return self.events


@dataclass
class GeneratedReceipts:
    """The same gas for every event of a transaction; a block every ten seconds."""

    log: GeneratedLog
    asked: int = 0

    def receipts(self, hashes: Sequence[bytes]) -> Sequence[SentReceipt | None]:
        self.asked += len(hashes)
        blocks = {each.transaction_hash: each.block_number for each in self.log.events}
        return [SentReceipt(100_000, EPOCH_OF_TIME + 10 * blocks[each]) for each in hashes]


class GeneratedFederation:
    """A federation of `users`, which grows by `publish` and `forget`."""

    def __init__(self, users: int, references: int = 3, seed: int = 0) -> None:
        self.live, self.archive = GeneratedLog(), GeneratedLog()
        self.positions: list[Position] = []
        self.references: list[list[int]] = []
        self.reads = 0
        self._users = users
        self._wanted = references
        self._random = random.Random(seed)
        self._files: dict[Uri, bytes] = {}
        self._statements: list[dict[str, Any]] = []
        self._versions: list[int] = []
        self._uris: list[Uri] = []
        self._damaged: frozenset[int] = frozenset()
        self._height = self._block = self._records = 0
        epoch = {
            "epoch": 1,
            "keyId": bytes(32),
            "members": tuple(bytes([each]) * 20 for each in range(1, 5)),
            "quorum": 3,
            "threshold": 3,
        }
        started = GeneratedEvent("EpochStarted", epoch, 1, b"\1" * 32)
        self.committee, self.mirror = GeneratedLog([started]), GeneratedLog([started])
        self.receipts = {
            LIVE: GeneratedReceipts(GeneratedLog([*self.committee.events])),
            ARCHIVE: GeneratedReceipts(GeneratedLog([*self.mirror.events])),
        }

    def sources(self) -> IndexSources:
        logs = [
            SourceLog("committee", LIVE, self.committee),
            SourceLog("mirror", ARCHIVE, self.mirror),
            SourceLog(ARCHIVE, ARCHIVE, self.archive),
            SourceLog(LIVE, LIVE, self.live),
        ]
        return IndexSources(logs, self.receipts, self)

    def read_file(self, uri: Uri, limit: int) -> bytes:
        self.reads += 1
        try:
            return self._files[uri]
        except KeyError:
            raise BlockNotFoundError("it was never generated") from None

    def lose(self, row: int) -> None:
        """Loses the node of a model."""
        del self._files[self._uris[row]]

    def choose(self, row: int, reference: int) -> None:
        """Adds a reference to the model's next statement."""
        place = self.positions[reference]
        named = {"name": f"m{reference}", "position": str(place), "accuracy": 0.5}
        self._statements[row]["references"] = [*self._statements[row]["references"], named]

    def publish(self, models: int, name: str = "m{row}") -> None:
        """Publishes further models; `name` has a place for the row."""
        while models > 0:
            wave = min(models, self._users - len(self.positions) % self._users)
            for start in range(0, wave, BLOCK):
                self._publish_block(min(BLOCK, wave - start), name)
            models -= wave

    def forget(
        self, starts: Sequence[int], paradigm: str = "parallel", number: int = 3, damaged: Sequence[int] = ()
    ) -> list[int]:
        """Replaces the starts and their descendants for a request to forget class `number`; returns their
        rows.  `damaged`: rows that are no better than chance after it."""
        self._damaged = frozenset(damaged)
        rows, request = self.descendants(starts), {**self._request(starts, paradigm), "classes": [number]}
        size = BLOCK if paradigm == "parallel" else 1
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            self._replace(part, request, self._archived(part, 1))
        return rows

    def forget_in_chunks(
        self, starts: Sequence[int], *chunks: Sequence[int], paradigm: str = "parallel"
    ) -> Iterator[int]:
        """Replaces some rows for a request by one decision; yields how many of its live chunks are done."""
        request = self._request(starts, paradigm)
        proposal = self._archived([row for chunk in chunks for row in chunk], 1)
        for done, chunk in enumerate(chunks, start=1):
            self._replace(chunk, request, proposal, (done, len(chunks)))
            yield done

    def leave(self, row: int) -> list[int]:
        """A client's request: withdraws its model, then makes each descendant the mean of its references."""
        rows = self.descendants([row])
        client = self._statements[row]["user"]
        request = {**self._request([row], "sequential"), "classes": [], "clients": [client]}
        for each in rows:
            made = {"weights": None, "claims": None} if each == row else {"untrained": True}
            self._replace([each], request, self._archived([each], 1), made=made)
        return rows

    def _request(self, starts: Sequence[int], paradigm: str) -> dict[str, Any]:
        return {
            "starts": [
                {"name": self._statements[row]["name"], "position": str(self.positions[row])}
                for row in starts
            ],
            "classes": [3],
            "clients": [],
            "samples": [],
            "paradigm": paradigm,
            "method": "gradient_ascent {}" if paradigm == "parallel" else "retrain {}",
            "created": EPOCH_OF_TIME,
            "signatures": ["0x" + "00" * 64] * len(starts),
        }

    def descendants(self, starts: Sequence[int]) -> list[int]:
        """Starts and what descends from them, in the order of rows."""
        reached = set(starts)
        for row in range(min(starts), len(self.positions)):
            if any(each in reached for each in self.references[row]):
                reached.add(row)
        return sorted(reached)

    def _publish_block(self, models: int, name: str) -> None:
        self._height += 1
        first = len(self.positions)
        whole = first - first % self._users
        earlier = range(max(0, whole - WAVES * self._users), whole)
        rows = []
        for index in range(models):
            row = first + index
            chosen = sorted(self._random.sample(earlier, min(self._wanted, len(earlier))))
            self.references.append(chosen)
            self.positions.append(Position(self._height, index))
            self._versions.append(0)
            self._statements.append(self._statement(row, name.format(row=row)))
            self._uris.append(self._kept({"statement": self._statements[row], "redaction": None}))
            rows.append(row)
        proposal = self._archived(rows, 0)
        block = {
            "height": self._height,
            "proposal": proposal,
            "blockHash": _hash("block", self._height),
            "merkleRoot": _hash("root", self._height),
            "txCount": models,
            "epoch": 1,
        }
        sent = self._sent(LIVE)
        self._add(self.live, "BlockAppended", block, sent)
        for row in rows:
            published = {
                "position": self.positions[row].packed,
                "owner": _hash("owner", row % self._users)[:20],
                "uri": self._uris[row].digest,
                "codec": int(self._uris[row].codec),
                "references": tuple(self.positions[each].packed for each in self.references[row]),
            }
            self._add(self.live, "ModelPublished", published, sent)

    def _replace(
        self,
        rows: Sequence[int],
        request: dict[str, Any],
        proposal: bytes,
        chunk: tuple[int, int] = (1, 1),
        made: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Replaces models in one chunk of a decision; `chunk` gives its number and the total.

        `made`: what their nodes say otherwise of the redaction.
        """
        sent = self._sent(LIVE)
        done, chunks = chunk
        if chunks > 1:
            executed = {"proposal": proposal, "done": done, "chunks": chunks}
            self._add(self.live, "ChunkExecuted", executed, sent)
        for height in sorted({self.positions[row].height for row in rows}):
            opened = {"height": height, "proposal": proposal, "version": 1, "opening": {"px": 1, "s": 1}}
            self._add(self.live, "HeaderRedacted", opened, sent)
        for row in rows:
            self._versions[row] += 1
            weights = cid_string(Uri(_hash("weights", row, self._versions[row]), Codec.RAW))
            ad_r = 0.1 if row in self._damaged else round(0.85 + self._random.random() / 10, 4)
            claims = {
                **{"ad_f": 0.0, "ad_r": ad_r, "chance": 0.15, "before": 0.95, "samples": 30},
                **{"logit_auc": 0.92, "ad_f_before": 0.9, "logit_auc_before": 0.99},
            }
            redaction = {
                "version": self._versions[row],
                "weights": weights,
                "request": request,
                "claims": claims,
                **made,
            }
            self._uris[row] = self._kept({"statement": self._statements[row], "redaction": redaction})
            replaced = {
                "position": self.positions[row].packed,
                "version": self._versions[row],
                "uri": self._uris[row].digest,
                "codec": int(self._uris[row].codec),
                "opening": {"px": 1, "s": 1},
            }
            self._add(self.live, "ModelRedacted", replaced, sent)

    def _archived(self, rows: Sequence[int], reason: int) -> bytes:
        sent = self._sent(ARCHIVE)
        proposal = hashlib.sha256(sent).digest()
        signed = {"epoch": 1, "proposal": proposal, "contentHash": bytes(32), "voters": 0b1011}
        self._add(self.archive, "RecordsCertified", {"proposal": proposal, "certificate": signed}, sent)
        records = [
            ArchiveRecord(self.positions[row], self._versions[row], ArchiveReason(reason), self._uris[row])
            for row in rows
        ]
        batch = {
            "first": self._records,
            "timestamp": EPOCH_OF_TIME + 10 * self._block,
            "head": _hash("head", self._records),
            "records": b"".join(map(packed, records)),
        }
        self._add(self.archive, "Archived", batch, sent)
        self._records += len(rows)
        return proposal

    def _sent(self, chain: str) -> bytes:
        self._block += 1
        return _hash("transaction", chain, self._block)

    def _add(self, log: GeneratedLog, name: str, arguments: Mapping[str, Any], sent: bytes) -> None:
        event = GeneratedEvent(name, arguments, self._block, sent)
        log.events.append(event)
        chain = LIVE if log is self.live else ARCHIVE
        self.receipts[chain].log.events.append(event)

    def _statement(self, row: int, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "user": row % self._users + 1,
            "round": row // self._users + 1,
            "owner": "0x" + _hash("owner", row % self._users)[:20].hex(),
            "weights": cid_string(Uri(_hash("weights", row, 0), Codec.RAW)),
            "references": [
                {
                    "name": self._statements[each]["name"],
                    "position": str(self.positions[each]),
                    "accuracy": 0.9,
                }
                for each in self.references[row]
            ],
            "accuracy": round(0.8 + self._random.random() / 5, 4),
            "training": {"epochs": 1},
            "created": EPOCH_OF_TIME,
        }

    def _kept(self, content: dict[str, Any]) -> Uri:
        node = {"format": "blockful-model/1", "signature": "0x" + "00" * 64, **content}
        data = json.dumps(node, separators=(",", ":")).encode()
        uri = Uri(hashlib.sha256(data).digest(), Codec.RAW)
        self._files[uri] = data
        return uri


def _hash(*what: object) -> bytes:
    return hashlib.sha256(repr(what).encode()).digest()
