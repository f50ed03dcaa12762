# SPDX-License-Identifier: Apache-2.0
"""Compares the histories of both chains, event by event, and reports broken promises.

The promises, and the name under which a broken one is reported:

order      heights follow one another from 1, and a block's models take its places from 0
version    versions of a model and of a header go up by one
archived   the archive holds each published version as PUBLISHED, and each replaced one as SUPERSEDED,
           with the CID that was live, and no other records
chain      the archive holds no record twice, and its records hash to its head
once       every decision was executed once, and its chunks in order
certified  each change on the live chain was archived before, under one certificate for the decision
state      both contracts' states match their events
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from blockful_py.crypto import merkle, payload
from blockful_py.errors import ChainError, NodeError
from blockful_py.ledger.leaves import archive_leaves, redaction_leaves
from blockful_py.record.events import (
    BEGINNING,
    ArchiveEvents,
    Begun,
    CheckedHistory,
    LiveEvents,
    LoggedEvent,
    LoggedVersion,
    Violation,
)
from blockful_py.record.state import Block, Stored, of_model
from blockful_py.storage.cid import cid_string
from blockful_py.types import ArchiveReason, ArchiveRecord, Bytes32, Position

READINGS = 3
"""Maximum number of readings of chains that grow meanwhile."""
_KEEPS = "use a node that keeps past events, or verify from a checkpoint on (`blockful verify --since`)"


def check_promises(
    live: LiveEvents, archive: ArchiveEvents, *, unfinished: bool, begun: Begun = BEGINNING
) -> CheckedHistory:
    """Compares all events of both chains with one another and with the contracts.

    `begun`: state of the chains before the first of these events.

    `unfinished`: whether the newest decisions may be archived but missing or incomplete on the live chain, as
    after a leader's crash.  Reads again if a chain grew meanwhile.  Raises NodeError when a node fails.
    """
    for _ in range(READINGS):
        newest = live.newest_block(), archive.newest_block()
        checked = _checked(live, archive, unfinished, begun)
        if checked.kept or newest == (live.newest_block(), archive.newest_block()):
            break
    return checked


def _checked(live: LiveEvents, archive: ArchiveEvents, unfinished: bool, begun: Begun) -> CheckedHistory:
    disorder = tuple(_unexecuted(archive.log()))
    if disorder:
        return CheckedHistory(disorder, ())
    told = _Told(live, archive, begun)
    pending = tuple(told.pending())
    found = chain(
        told.order(),
        told.versions(),
        told.archived(pending),
        told.chain(),
        _twice(live.log(), "the live chain"),
        _twice(archive.log(), "the archive"),
        told.certified(pending),
        told.late(pending, unfinished),
        told.state(),
    )
    return CheckedHistory(tuple(found), pending)


class _Told:
    """The events of both chains, after the state at their start."""

    def __init__(self, live: LiveEvents, archive: ArchiveEvents, begun: Begun) -> None:
        self._live, self._archive, self._begun = live, archive, begun
        self._live_log, self._archive_log = tuple(live.log()), tuple(archive.log())
        self._blocks = tuple(_blocks(self._live_log))
        self._published, self._redactions = live.published(), live.redactions()
        self._by_height: dict[int, list[LoggedVersion]] = {}
        for each in self._published:
            self._by_height.setdefault(each.position.height, []).append(each)
        self._redacted = live.redacted()
        self._records = archive.archived()
        self._decisions = archive.appended()
        self._live_counts, self._archive_counts = _counts(self._live_log), _counts(self._archive_log)
        self._uris = {(place, version): uri for place, (version, uri) in begun.models.items()} | {
            (each.position, each.version): each.uri for each in (*self._published, *self._redactions)
        }

    def order(self) -> Iterator[Violation]:
        """Violations of the order of blocks and of models in them."""
        for expected, block in enumerate(self._blocks, start=len(self._begun.blocks) + 1):
            if block.height != expected:
                place = Position.of_header(expected)
                yield Violation(
                    "order",
                    f"block {expected}",
                    place,
                    f"the live chain's events go on with block {block.height}: {_KEEPS}",
                )
                return
        places = Counter(Position(each.height, i) for each in self._blocks for i in range(each.count))
        found = Counter(each.position for each in self._published)
        for place in sorted(places.keys() | found.keys()):
            if places[place] != found[place]:
                yield of_model(
                    "order",
                    place,
                    f"the events name it {found[place]} times, the headers have room for {places[place]}",
                )

    def versions(self) -> Iterator[Violation]:
        """Violations of the versions of models, then of headers."""
        replaced: dict[Position, list[int]] = {}
        for each in self._redactions:
            replaced.setdefault(each.position, []).append(each.version)
        for event in self._live_log:
            if event.name == "HeaderRedacted":
                place = Position.of_header(event.arguments["height"])
                replaced.setdefault(place, []).append(event.arguments["version"])
        known = {each.position for each in self._published}
        known |= {Position.of_header(each.height) for each in self._blocks}
        for place, versions in sorted(replaced.items()):
            before = 0 if place in known else self._begun.version(place)
            if before is None:
                yield of_model("version", place, "it was replaced and never published")
            elif versions != [*range(before + 1, before + len(versions) + 1)]:
                since = "the first" if before == 0 else f"version {before}"
                yield of_model("version", place, f"its versions after {since} are {versions}")

    def archived(self, pending: Sequence[bytes]) -> Iterator[Violation]:
        """Versions without a record, and records without a version."""
        expected = {*self._published_records(self._published), *self._superseded(self._redactions)}
        records = {each.record for each in self._records}
        uris = {_key(record): record.uri for record in records}
        for record in sorted(expected - records, key=_key):
            found = uris.get(_key(record))
            instead = "no record of it" if found is None else cid_string(found)
            yield of_model(
                "archived",
                record.position,
                f"version {record.version} is {record.reason.name} with {cid_string(record.uri)} on the live "
                f"chain, the archive has {instead}: ask another of its nodes; where none has it, "
                "the committee went past the archive, so do not rely on this model",
            )
        waiting = {each for proposal in pending for each in self._archived_by(proposal)}
        known = {_key(record) for record in expected}
        for record in sorted(records - expected - waiting, key=_key):
            if _key(record) not in known:
                yield of_model(
                    "archived",
                    record.position,
                    f"the archive has version {record.version} as {record.reason.name}, which it never was "
                    "on the live chain: blocks were lost, or a decision was given up",
                )

    def chain(self) -> Iterator[Violation]:
        """Violations within the archive."""
        for key, times in sorted(Counter(_key(each.record) for each in self._records).items()):
            if times > 1:
                yield of_model(
                    "chain", key[0], f"version {key[1]} is {times} times in the archive as {key[2].name}"
                )
        begun = self._begun
        head = begun.head or payload.archive_genesis_head(self._archive.chain_id, self._archive.address)
        events = [each.arguments for each in self._archive_log if each.name == "Archived"]
        length = begun.length + len(self._records)
        ends = [*(each["first"] for each in events[1:]), length]
        heads = {end: each["head"] for end, each in zip(ends, events, strict=False)}
        for number, stored in enumerate(self._records, begun.length):
            head = payload.archive_head_step(head, number, stored.record, stored.timestamp)
            if stored.index != number or heads.get(number + 1, head) != head:
                yield Violation(
                    "chain",
                    "the archive",
                    None,
                    f"record {number} does not continue the one before: {_KEEPS}",
                )
                return
        if (length, head) != (self._archive.length(), self._archive.head()):
            yield Violation(
                "chain",
                "the archive",
                None,
                f"its {len(self._records)} logged records do not hash to its head over "
                f"{self._archive.length()}: {_KEEPS}",
            )

    def pending(self) -> Iterator[bytes]:
        """Archived decisions that the live chain has not executed completely."""
        for proposal in self._decisions:
            done, chunks = self._live_counts.get(proposal, (0, 1))
            if done < chunks:
                yield proposal

    def late(self, pending: Sequence[bytes], unfinished: bool) -> Iterator[Violation]:
        """Pending decisions that may not be pending, or that later ones have overtaken."""
        newest = (*self._decisions,)[len(self._decisions) - len(pending) :] if unfinished else ()
        for proposal in pending:
            if proposal not in newest:
                yield Violation(
                    "archived",
                    _decision(proposal),
                    None,
                    "it is in the archive and not wholly on the live chain: finish it with `blockful resume`",
                )

    def certified(self, pending: Sequence[bytes]) -> Iterator[Violation]:
        """Decisions on the live chain without a valid certificate, and records without one."""
        certified = Counter(each for proposal in self._decisions for each in self._archived_by(proposal))
        for each in self._records:
            if not certified[each.record]:
                yield of_model("certified", each.record.position, f"record {each.index} has no certificate")
        for block in self._blocks:
            done = [*self._published_records(self._block_models(block.height))]
            yield from self._decided(block.proposal, done, Position.of_header(block.height))
        versions = {(each.position, each.version): each for each in self._redactions}
        for proposal, chunks in self._redacted.items():
            updates = [(each.position, each.version) for chunk in chunks for each in chunk.updates]
            done = [*self._superseded([versions[each] for each in updates])]
            yield from self._decided(proposal, done, None, proposal in pending)

    def state(self) -> Iterator[Violation]:
        """Differences of the live contract's storage from its events (for the archive's, see `chain`)."""
        earlier = enumerate(self._begun.blocks, start=1)
        blocks = [Block(height, b"", each.count, each.block_hash, each.version) for height, each in earlier]
        blocks += self._blocks
        if self._live.height() != len(blocks):
            yield Violation(
                "state",
                "the live chain",
                None,
                f"its height is {self._live.height()}, its events have {len(blocks)} blocks: {_KEEPS}",
            )
        versions = Counter(each.position for each in self._redactions)
        versions.update({place: version for place, (version, _) in self._begun.models.items()})
        versions.update(
            Position.of_header(each.arguments["height"])
            for each in self._live_log
            if each.name == "HeaderRedacted"
        )
        yield from Stored(self._live, versions, self._uris).altered(blocks)

    def _decided(
        self, proposal: Bytes32, done: Sequence[ArchiveRecord], place: Position | None, partly: bool = False
    ) -> Iterator[Violation]:
        """Checks a decision with a part on the live chain, to which the records `done` belong."""
        wrong = self._wrong_with(proposal, done, place, partly)
        if wrong:
            subject = _decision(proposal) if place is None else f"block {place.height}"
            yield Violation("certified", subject, place, wrong)

    def _wrong_with(
        self, proposal: Bytes32, done: Sequence[ArchiveRecord], place: Position | None, partly: bool
    ) -> str:
        if proposal not in self._decisions:
            return f"the archive has no certificate of decision 0x{proposal.hex()}"
        certificate, chunks = self._decisions[proposal]
        counted, total = self._archive_counts[proposal]
        if counted != total:
            return f"it has {counted} of {total} chunks in the archive"
        if certificate.proposal != proposal:
            return "the certificate in the archive is of another decision"
        records = self._archived_by(proposal)
        if partly:
            return "" if {*done} <= {*records} else "it replaced versions that it did not archive"
        if Counter(done) != Counter(records):
            return "its archive records differ from its changes on the live chain"
        try:
            leaves = archive_leaves(self._archive, chunks) + self._live_leaves(proposal, place)
        except NodeError:
            raise
        except ChainError as error:
            return f"its calls cannot be read: {error}"
        if merkle.root(leaves) != certificate.content_hash:
            return "its certificate does not cover its calls on both chains"
        return ""

    def _live_leaves(self, proposal: Bytes32, place: Position | None) -> tuple[bytes, ...]:
        if place is None:
            return redaction_leaves(self._live, self._redacted[proposal])
        uris = [each.uri for each in self._block_models(place.height)]
        return (self._live.append_leaf(self._live.appended(place.height, uris), 0, 1),)

    def _block_models(self, height: int) -> Sequence[LoggedVersion]:
        return self._by_height.get(height, [])

    def _archived_by(self, proposal: Bytes32) -> tuple[ArchiveRecord, ...]:
        return tuple(record for part in self._decisions[proposal][1] for record in part.records)

    def _published_records(self, published: Sequence[LoggedVersion]) -> Iterator[ArchiveRecord]:
        for each in published:
            yield ArchiveRecord(each.position, 0, ArchiveReason.PUBLISHED, each.uri)

    def _superseded(self, redactions: Sequence[LoggedVersion]) -> Iterator[ArchiveRecord]:
        """Records of replaced versions whose predecessor is known; `versions` reports the others."""
        for each in redactions:
            before = self._uris.get((each.position, each.version - 1))
            if before is not None:
                yield ArchiveRecord(each.position, each.version - 1, ArchiveReason.SUPERSEDED, before)


def _blocks(log: Sequence[LoggedEvent]) -> Iterator[Block]:
    for event in log:
        if event.name == "BlockAppended":
            values = event.arguments
            yield Block(values["height"], values["proposal"], values["txCount"], values["blockHash"])


def _counts(log: Sequence[LoggedEvent]) -> dict[bytes, tuple[int, int]]:
    """Executed and total chunks by proposal; a single chunk is not counted by an event of its own."""
    counts: dict[bytes, tuple[int, int]] = {}
    for event in log:
        values = event.arguments
        if event.name == "ChunkExecuted":
            counts[values["proposal"]] = values["done"], values["chunks"]
        elif "proposal" in values:
            counts.setdefault(values["proposal"], (1, 1))
    return counts


def _unexecuted(log: Sequence[LoggedEvent]) -> Iterator[Violation]:
    """Records before any decision, from which no further check can start."""
    for event in log:
        if event.name in ("ChunkExecuted", "RecordsCertified"):
            return
        if event.name == "Archived":
            yield Violation(
                "once",
                "the archive",
                None,
                f"its events begin with records of no decision: {_KEEPS}",
            )
            return


def _twice(log: Sequence[LoggedEvent], side: str) -> Iterator[Violation]:
    """Decisions that a contract executed twice, or out of order."""
    counted: dict[bytes, list[tuple[int, int]]] = {}
    named: dict[bytes, list[tuple[bytes, str, int]]] = {}
    for event in log:
        values = event.arguments
        if event.name == "ChunkExecuted":
            counted.setdefault(values["proposal"], []).append((values["done"], values["chunks"]))
        elif event.name in ("BlockAppended", "HeaderRedacted", "RecordsCertified"):
            seen = (event.transaction_hash, event.name, values.get("height", 0))
            named.setdefault(values["proposal"], []).append(seen)
    for proposal, chunks in counted.items():
        total = chunks[0][1]
        if chunks != [(number + 1, total) for number in range(min(len(chunks), total))]:
            detail = f"{side} executed its chunks as {chunks}, not each once and in order"
            yield Violation("once", _decision(proposal), None, detail)
    for proposal, found in named.items():
        if proposal not in counted and (len({each[0] for each in found}) > 1 or len({*found}) < len(found)):
            yield Violation("once", _decision(proposal), None, f"{side} executed it twice")


def _key(record: ArchiveRecord) -> tuple[Position, int, ArchiveReason]:
    return record.position, record.version, record.reason


def _decision(proposal: Bytes32) -> str:
    return f"decision 0x{proposal.hex()[:8]}"
