# SPDX-License-Identifier: Apache-2.0
"""Exports proofs from the chains and the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from blockful_py.crypto import merkle, payload
from blockful_py.errors import RunError
from blockful_py.ledger.protocols import LiveLedger, Store
from blockful_py.record.chain_view import ChainView, Rosters
from blockful_py.record.fields import of_octets
from blockful_py.record.model_node import MAX_NODE_BYTES, parse_node
from blockful_py.record.openings import opened_header, opened_model
from blockful_py.record.proofs.anchors import ArchiveSource
from blockful_py.record.proofs.record import (
    Archived,
    ArchiveHistory,
    BlockHeader,
    GroupKey,
    LiveRecord,
    Model,
    Transaction,
)
from blockful_py.types import Bytes32, Header, ModelTransaction, Position


def export_record(
    live: LiveLedger,
    rosters: Rosters,
    store: Store,
    positions: Sequence[Position],
    checkpoint: bytes | None = None,
) -> LiveRecord:
    """The current models at `positions`, which must verify.

    `checkpoint`: hash of a block that the verifier trusts; earlier headers are left out.
    Raises RunError if the checkpoint is no block of the chain, or not below all needed blocks.
    """
    view = ChainView(live, rosters)
    nodes: dict[Position, bytes] = {}
    needed, pending = set[Position](), sorted(positions)
    while pending:
        position = pending.pop()
        if position in nodes:
            continue
        transaction = view.transaction(position)
        nodes[position] = store.read(transaction.uri, MAX_NODE_BYTES)
        node = parse_node(nodes[position])
        needed.update(node.added_to(transaction.references))
        for request in node.requests:
            starts = {start.place() for start in request.starts}
            way = _way_up(position, starts, lambda place: view.transaction(place).references)
            if not way:  # it leads over references that their models have chosen since they were published
                way = _way_up(position, starts, lambda place: _all_references(view, store, place))
                pending += way
            needed |= starts.union(way)
    models = {position: view.transaction(position) for position in sorted(nodes)}
    others = {position: view.transaction(position) for position in needed - models.keys()}
    first = 1 if checkpoint is None else _after(live, checkpoint)
    lowest = min(position.height for position in (*models, *others))
    if first > lowest:
        raise RunError(
            f"the checkpoint is block {first - 1}, and headers from {lowest} on are needed: "
            "give an earlier block, or none."
        )
    headers = [_opened(view, height) for height in range(first, live.height() + 1)]
    epochs = {header.epoch for header in headers}
    epochs |= {transaction.epoch for transaction in (*models.values(), *others.values())}
    return LiveRecord(
        chain_id=live.chain_id,
        contract=of_octets(live.address),
        first=first,
        headers=tuple(map(BlockHeader.of, headers)),
        keys=tuple(GroupKey.of(epoch, view.key(epoch)) for epoch in sorted(epochs)),
        models=tuple(
            Model(transaction=_with_path(view, transaction), node=nodes[position].decode())
            for position, transaction in models.items()
        ),
        others=tuple(_with_path(view, others[position]) for position in sorted(others)),
    )


def export_history(archive: ArchiveSource) -> ArchiveHistory:
    """The archive's records and its head."""
    records = archive.records(0, archive.length())
    genesis = payload.archive_genesis_head(archive.chain_id, archive.address)
    return ArchiveHistory(
        chain_id=archive.chain_id,
        contract=of_octets(archive.address),
        records=tuple(map(Archived.of, records)),
        head=of_octets(payload.archive_head(genesis, records)),
    )


def _opened(view: ChainView, height: int) -> Header:
    header = view.header(height)
    return opened_header(view.live, view.key(header.epoch), header)


def _with_path(view: ChainView, transaction: ModelTransaction) -> Transaction:
    block = view.block(transaction.position.height)
    leaves = [payload.block_leaf(each.position, each.ch) for each in block]
    opened = opened_model(view.live, view.key(transaction.epoch), transaction)
    return Transaction.of(opened, merkle.proof(leaves, transaction.position.index))


def _all_references(view: ChainView, store: Store, position: Position) -> tuple[Position, ...]:
    """The references of a model, on the chain and added by its owner's statement."""
    transaction = view.transaction(position)
    node = parse_node(store.read(transaction.uri, MAX_NODE_BYTES))
    return (*transaction.references, *node.added_to(transaction.references))


def _way_up(
    model: Position, starts: set[Position], references: Callable[[Position], Sequence[Position]]
) -> tuple[Position, ...]:
    """The positions between a model and the nearest start among its ancestors, both included."""
    came_from: dict[Position, Position | None] = {model: None}
    row = [model]
    while row:
        for position in row:
            if position in starts:
                return tuple(_back(came_from, position))
        following = []
        for position in row:
            for reference in references(position):
                if reference not in came_from:
                    came_from[reference] = position
                    following.append(reference)
        row = following
    return ()


def _back(came_from: dict[Position, Position | None], position: Position | None) -> list[Position]:
    way = []
    while position is not None:
        way.append(position)
        position = came_from[position]
    return way


def _after(live: LiveLedger, block_hash: Bytes32) -> int:
    for height in range(live.height(), -1, -1):
        if live.block_hash(height) == block_hash:
            return height + 1
    raise RunError(f"0x{block_hash.hex()} is the hash of no block of this chain: give one that is.")
