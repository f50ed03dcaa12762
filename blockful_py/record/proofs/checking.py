# SPDX-License-Identifier: Apache-2.0
"""Checks that the parts of a record in a document are consistent, without trust anchors.

The checks have the names and the order of `verify`, and run for all models at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from blockful_py.crypto import curve, payload
from blockful_py.errors import StorageError, VerificationError
from blockful_py.record.checks import (
    Descendants,
    check_header,
    check_leaf,
    check_link,
    check_opening,
    check_redaction,
    check_request,
    check_statement,
    require,
)
from blockful_py.record.fields import octets
from blockful_py.record.model_node import ModelNode, parse_node
from blockful_py.record.proofs.record import ArchiveHistory, LiveRecord, Transaction
from blockful_py.record.request import Request
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Address, Header, ModelTransaction, Point, Position, StoredArchiveRecord


@dataclass(frozen=True)
class CheckedRecord:
    """A record whose parts are consistent; only anchors prove its origin.

    Attributes:
        address: address of the LiveChain contract.
        headers: by height.
        block_hashes: by height, including the parent of the first header.
        nodes: nodes of the models, in the order of their positions.
        keys: group keys by epoch.
    """

    chain_id: int
    address: Address
    headers: dict[int, Header]
    block_hashes: dict[int, bytes]
    keys: dict[int, Point]
    transactions: dict[Position, ModelTransaction]
    nodes: dict[Position, ModelNode]

    @property
    def last(self) -> int:
        """Height of the last header."""
        return max(self.headers)

    @property
    def first(self) -> int:
        return min(self.headers)

    @property
    def needed(self) -> int:
        """Height of the highest block with a model or another transaction."""
        return max(position.height for position in self.transactions)

    def key_ids(self) -> dict[int, bytes]:
        return {epoch: curve.key_id(key) for epoch, key in self.keys.items()}


def check_record(record: LiveRecord) -> CheckedRecord:
    """Checks a record.  Raises VerificationError, which names the first failed check."""
    checker = _Checker(record)
    for step in (checker.shape, checker.content, checker.opening, checker.merkle, checker.header):
        step()
    hashes = checker.link()
    checker.signature()
    return CheckedRecord(
        checker.chain_id,
        checker.address,
        checker.headers,
        hashes,
        checker.keys,
        checker.transactions,
        checker.nodes,
    )


def check_history(history: ArchiveHistory, models: Sequence[ModelTransaction]) -> tuple[bytes, ...]:
    """Checks the archive's history; returns the heads after 0, 1, ... all of the records.

    Raises VerificationError (`history`) unless the records hash to the head, and include every version of the
    models that was published or replaced.
    """
    subject = "the archive"
    records = archived(history)
    heads = [payload.archive_genesis_head(history.chain_id, octets(history.contract))]
    for stored in records:
        heads.append(payload.archive_head_step(heads[-1], stored.index, stored.record, stored.timestamp))
    require(
        "history",
        subject,
        heads[-1] == octets(history.head),
        "its records do not hash to the head that it names",
    )
    known = {(each.record.position, each.record.version): each.record.uri for each in records}
    for model in models:
        must = partial(require, "history", f"model at {model.position}")
        for version in range(max(model.version, 1)):
            must((model.position, version) in known, f"version {version} was never archived")
        must(
            model.version > 0 or known[model.position, 0] == model.uri,
            "another node was archived when it was published",
        )
    return tuple(heads)


def archived(history: ArchiveHistory) -> tuple[StoredArchiveRecord, ...]:
    """The records by index.  Raises VerificationError (`history`) for an invalid CID."""
    try:
        return tuple(each.stored(index) for index, each in enumerate(history.records))
    except StorageError as error:
        raise VerificationError("history", "the archive", str(error)) from None


_shape = partial(require, "shape", "the record")


class _Checker:
    """Goes through one record, check by check."""

    def __init__(self, record: LiveRecord) -> None:
        self._record = record
        self.chain_id = record.chain_id
        self.address = octets(record.contract)
        self.headers = {
            height: header.header(height) for height, header in enumerate(record.headers, start=record.first)
        }
        self.keys: dict[int, Point] = {}
        self.transactions: dict[Position, ModelTransaction] = {}
        self.nodes: dict[Position, ModelNode] = {}

    def shape(self) -> None:
        """Checks that all parts are in order, once each, complete and needed."""
        models = [each.transaction for each in self._record.models]
        for listed in (models, self._record.others):
            transactions = [self._transaction(each) for each in listed]
            for before, after in pairwise(transactions):
                _shape(before.position < after.position, "its transactions are not in the order of positions")
            for each in transactions:
                _shape(each.position not in self.transactions, f"{each.position} stands in it twice")
                self.transactions[each.position] = each
        for position in self.transactions:
            _shape(position.height in self.headers, f"it has no header {position.height}")
        epochs = [each.epoch for each in self._record.keys]
        used = {header.epoch for header in self.headers.values()}
        used |= {transaction.epoch for transaction in self.transactions.values()}
        _shape(epochs == sorted(used), f"it has keys of epochs {epochs}, those of {sorted(used)} are needed")
        self.keys = {each.epoch: each.point() for each in self._record.keys}

    def content(self) -> None:
        for model in self._record.models:
            transaction = self.transactions[self._transaction(model.transaction).position]
            subject, data = f"model at {transaction.position}", model.node.encode()
            require(
                "content", subject, file_uri(data) == transaction.uri, "its node does not hash to its CID"
            )
            try:
                self.nodes[transaction.position] = parse_node(data)
            except StorageError as error:
                raise VerificationError("content", subject, str(error)) from None

    def opening(self) -> None:
        for transaction in self.transactions.values():
            check_opening(self, self.keys[transaction.epoch], transaction, self._subject(transaction))

    def merkle(self) -> None:
        for part in self._parts():
            transaction = self._transaction(part)
            root = self.headers[transaction.position.height].merkle_root
            check_leaf(root, transaction, tuple(map(octets, part.path)), self._subject(transaction))

    def header(self) -> None:
        for header in self.headers.values():
            check_header(self, self.keys[header.epoch], header, f"block {header.height}")
        for transaction in self.transactions.values():
            position, count = transaction.position, self.headers[transaction.position.height].tx_count
            require(
                "header",
                self._subject(transaction),
                position.index < count,
                f"header {position.height} says that its block holds {count} models",
            )

    def link(self) -> dict[int, bytes]:
        """Block hashes by height; anchors must know the first header's parent unless it is genesis."""
        first = self._record.first
        lowest = payload.genesis_block_hash(self.chain_id, self.address)
        if first > 1:
            lowest = self.headers[first].parent_hash
        hashes = {first - 1: lowest}
        for height, header in self.headers.items():
            hashes[height] = check_link(hashes[height - 1], header, f"block {height}")
        return hashes

    def signature(self) -> None:
        requests: dict[Request, Descendants] = {}
        for position, node in self.nodes.items():
            transaction = self.transactions[position]
            subject = self._subject(transaction)
            check_statement(self, transaction, node, subject)

            def descendants(request: Request, subject: str = subject) -> Descendants:
                if request not in requests:
                    check_request(self, request, self.transactions.get, subject)
                    requests[request] = Descendants(request, self.transactions.get, self._added_to)
                return requests[request]

            check_redaction(transaction, node, self.transactions.get, descendants, subject)

    def _added_to(self, transaction: ModelTransaction) -> tuple[Position, ...]:
        node = self.nodes.get(transaction.position)
        return node.added_to(transaction.references) if node else ()

    def _parts(self) -> Iterator[Transaction]:
        yield from (model.transaction for model in self._record.models)
        yield from self._record.others

    def _transaction(self, part: Transaction) -> ModelTransaction:
        try:
            return part.transaction()
        except StorageError as error:
            raise VerificationError("content", f"model at {part.position}", str(error)) from None

    def _subject(self, transaction: ModelTransaction) -> str:
        node = self.nodes.get(transaction.position)
        return f"model {node.name} at {transaction.position}" if node else f"model at {transaction.position}"
