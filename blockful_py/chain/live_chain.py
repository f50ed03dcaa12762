# SPDX-License-Identifier: Apache-2.0
"""The live chain: blocks of models whose URIs a quorum can replace (ILiveChain)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from blockful_py.chain import abi, live_slots
from blockful_py.chain.contract import CertifiedContract
from blockful_py.chain.event_list import PastEvent
from blockful_py.chain.quorum import AppointedCommitteeContract
from blockful_py.crypto import chameleon, payload
from blockful_py.errors import ChainError
from blockful_py.types import (
    Action,
    Bytes32,
    Codec,
    Header,
    HeaderUpdate,
    ModelTransaction,
    NewBlock,
    Opening,
    Point,
    Position,
    Publication,
    RedactedChunk,
    Update,
    Uri,
)

READ_SIZE = 50
"""Transactions in one eth_call."""


@dataclass(frozen=True, slots=True)
class VersionEvent:
    """A logged version of a model; `block_number` is a block of the node."""

    position: Position
    version: int
    uri: Uri
    block_number: int
    transaction_hash: Bytes32


class LiveChainContract(CertifiedContract):
    """Adapter of LiveChain.  Every method raises NodeError if the node fails.

    The contract stores no openings: a first one follows from its content, later ones come from events.
    """

    NAME: ClassVar[str] = "LiveChain"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._openings = _Openings()

    def height(self) -> int:
        """Height of the newest block; 0 if only the genesis header exists."""
        return self._number("height")

    def block_hash(self, height: int) -> Bytes32:
        """Hash over the immutable fields of a block.  Raises ContractError UnknownPosition."""
        return self.block_hashes([height])[0]

    def block_hashes(self, heights: Sequence[int]) -> tuple[bytes, ...]:
        """Hashes of several blocks, as `block_hash`, in batches."""
        return tuple(self._read_each("blockHash", heights))

    def header(self, height: int) -> Header:
        """Header at `height`.  Raises ContractError UnknownPosition."""
        return self.headers([height])[0]

    def headers(self, heights: Sequence[int]) -> tuple[Header, ...]:
        """Headers at `heights`, in batches; openings of version 0 are None.

        Raises ContractError UnknownPosition.
        """
        values = self._read_each("header", heights)
        headers = tuple(abi.to_header(height, value) for height, value in zip(heights, values, strict=True))
        found = self._in_force([(Position.of_header(each.height), each.version) for each in headers])
        return tuple(replace(each, opening=opening) for each, opening in zip(headers, found, strict=True))

    def timestamp(self, height: int) -> int:
        """Timestamp of the block at `height` in seconds, read without past events.

        Raises ContractError UnknownPosition.
        """
        return abi.to_header(height, self._read("header", height)).timestamp

    def transaction(self, position: Position) -> ModelTransaction:
        """Transaction at `position`.  Raises ContractError UnknownPosition."""
        return self.transactions([position])[0]

    def transactions(self, positions: Sequence[Position]) -> tuple[ModelTransaction, ...]:
        """Transactions at `positions`, in few calls; openings of version 0 are None.

        Raises ContractError UnknownPosition.
        """
        pairs = zip(positions, self._stored(positions), strict=True)
        transactions = tuple(abi.to_transaction(*pair) for pair in pairs)
        found = self._in_force([(each.position, each.version) for each in transactions])
        return tuple(
            replace(each, opening=opening) for each, opening in zip(transactions, found, strict=True)
        )

    def appended(self, height: int, uris: Sequence[Uri]) -> NewBlock:
        """The block at `height` as it was appended, when its models had `uris`.

        Raises ContractError UnknownPosition; ChainError if these URIs do not give the stored hashes.
        """
        places = [Position(height, index) for index in range(len(uris))]
        header, key = self.header(height), self._key_of(height)
        publications = []
        for place, stored, uri in zip(places, self._stored(places), uris, strict=True):
            model = abi.to_transaction(place, stored)
            references = payload.references_hash(model.references)
            content = payload.transaction_payload(uri, model.owner, references)
            opening = self._first_opening(key, place, content, model.ch)
            publications.append(Publication(model.ch, opening, uri, model.owner, model.references))
        content = payload.header_payload(header.parent_hash, header.merkle_root, header.timestamp, len(uris))
        opening = self._first_opening(key, Position.of_header(height), content, header.ch)
        return NewBlock(header.parent_hash, header.timestamp, header.ch, opening, tuple(publications))

    def append_data(self, block: NewBlock, action: Action) -> bytes:
        """Call data of `append`."""
        return self.interface.encode("append", abi.new_block(block), abi.action(action))

    def redact_data(
        self, updates: Sequence[Update], header_updates: Sequence[HeaderUpdate], action: Action
    ) -> bytes:
        """Call data of `redact`."""
        values = [abi.update(each) for each in updates]
        headers = [abi.header_update(each) for each in header_updates]
        return self.interface.encode("redact", values, headers, abi.action(action))

    def append_leaf(self, block: NewBlock, chunk: int, chunks: int) -> bytes:
        """Leaf of `append(block)` in a certificate's content."""
        return self._leaf("append", chunk, chunks, abi.new_block_digest(block))

    def redact_leaf(
        self, updates: Sequence[Update], header_updates: Sequence[HeaderUpdate], chunk: int, chunks: int
    ) -> bytes:
        """Leaf of `redact(updates, header_updates)` in a certificate's content."""
        return self._leaf("redact", chunk, chunks, abi.redaction_digest(updates, header_updates))

    def published(self) -> tuple[VersionEvent, ...]:
        """Version 0 of every published model, oldest first."""
        return tuple(map(_version, self.events("ModelPublished")))

    def redactions(self) -> tuple[VersionEvent, ...]:
        """Every replacement, oldest first."""
        return tuple(map(_version, self.events("ModelRedacted")))

    def redacted(self) -> dict[bytes, tuple[RedactedChunk, ...]]:
        """Replacements of each proposal by chunk, as the contract logged them, regardless of the caller."""
        chunks: dict[bytes, dict[int, tuple[list[Update], list[HeaderUpdate]]]] = {}
        counted: dict[bytes, int] = {}
        current: tuple[list[Update], list[HeaderUpdate]] = ([], [])
        for event in self.log():
            values = event.arguments
            if event.name == "ChunkExecuted":
                counted[values["proposal"]] = values["done"] - 1
            elif event.name == "HeaderRedacted":
                proposal = values["proposal"]
                chunk = counted.get(proposal, 0)
                current = chunks.setdefault(proposal, {}).setdefault(chunk, ([], []))
                opening = Opening(**values["opening"])
                current[1].append(HeaderUpdate(values["height"], values["version"], opening))
            elif event.name == "ModelRedacted":
                current[0].append(
                    Update(
                        Position.unpack(values["position"]),
                        values["version"],
                        Uri(values["uri"], Codec(values["codec"])),
                        Opening(**values["opening"]),
                    )
                )
        return {
            proposal: tuple(RedactedChunk(tuple(found[i][0]), tuple(found[i][1])) for i in sorted(found))
            for proposal, found in chunks.items()
        }

    def _stored(self, positions: Sequence[Position]) -> list[Any]:
        """Reads transactions in the contract's form."""
        return self._answers.each("transactions", positions, self._stored_at)

    def _stored_at(self, positions: Sequence[Position], block: str) -> list[Any]:
        groups = [positions[start : start + READ_SIZE] for start in range(0, len(positions), READ_SIZE)]
        calls = [("transactions", ([each.packed for each in group],)) for group in groups]
        return [value for answer in self._read_many(calls, block) for value in answer]

    def _in_force(self, versions: Sequence[tuple[Position, int]]) -> list[Opening | None]:
        """Logged openings of headers and models; None for version 0 and if no event has the opening."""
        if not any(version for _, version in versions):
            return [None] * len(versions)
        found = self._openings.of(self.log())
        return [found.get(version) for version in versions]

    def _first_opening(self, key: Point, place: Position, content: bytes, ch: int) -> Opening:
        label = chameleon.label(self.chain_id, self.address, place.packed)
        opening = chameleon.first_opening(key, label, chameleon.message(0, content), ch)
        if opening is None:
            raise ChainError(f"the chameleon hash at {place} is not of the content that was published there")
        return opening

    def _key_of(self, height: int) -> Point:
        """Group key under which a block was appended.  Raises ChainError without the event of its epoch."""
        epoch = self._openings.epochs(self.log()).get(height)
        if epoch is None:
            raise ChainError(f"no event says in which epoch block {height} was appended")
        keys: list[Point] = self._answers.each("group key", [epoch], self._group_keys)
        return keys[0]

    def _group_keys(self, epochs: Sequence[int], block: str) -> list[Point]:
        committee = AppointedCommitteeContract(self.node, self.quorum())
        answers = committee._read_many([("roster", (epoch,)) for epoch in epochs], block)
        return [abi.to_roster(members).group_key for members, _ in answers]

    def _touched(self, data: bytes) -> tuple[int, ...]:
        return live_slots.touched(self.interface, data, self.height())


def _version(event: PastEvent) -> VersionEvent:
    """The version in a ModelPublished, which is version 0, or a ModelRedacted."""
    values = event.arguments
    return VersionEvent(
        position=Position.unpack(values["position"]),
        version=values.get("version", 0),
        uri=Uri(values["uri"], Codec(values["codec"])),
        block_number=event.block_number,
        transaction_hash=event.transaction_hash,
    )


class _Openings:
    """Openings by position and version, and epochs of blocks, collected from events in one pass."""

    def __init__(self) -> None:
        self._log: Sequence[PastEvent] = ()
        self._seen = 0
        self._found: dict[tuple[Position, int], Opening] = {}
        self._epochs: dict[int, int] = {}

    def of(self, log: Sequence[PastEvent]) -> dict[tuple[Position, int], Opening]:
        self._catch_up(log)
        return self._found

    def epochs(self, log: Sequence[PastEvent]) -> dict[int, int]:
        """Epoch in which each block was appended."""
        self._catch_up(log)
        return self._epochs

    def _catch_up(self, log: Sequence[PastEvent]) -> None:
        if log is not self._log:
            self._log, self._seen, self._found, self._epochs = log, 0, {}, {}
        for event in log[self._seen :]:
            values = event.arguments
            if event.name == "ModelRedacted":
                position = Position.unpack(values["position"])
            elif event.name == "HeaderRedacted":
                position = Position.of_header(values["height"])
            elif event.name == "BlockAppended":
                self._epochs[values["height"]] = values["epoch"]
                continue
            else:
                continue
            self._found[position, values["version"]] = Opening(**values["opening"])
        self._seen = len(log)
