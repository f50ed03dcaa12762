# SPDX-License-Identifier: Apache-2.0
"""Recipients of a run's models, and their answers to recalls, as the chains have them."""

from __future__ import annotations

from collections.abc import Collection

from blockful_py.crypto import eip712
from blockful_py.errors import BlockNotFoundError
from blockful_py.ledger.protocols import Store
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.recall.recipients import Recipients, RecordedModel, recipients
from blockful_py.storage.cid import cid_string
from blockful_py.types import Position, Uri


def recipients_in(
    contracts: Contracts,
    catalogue: Catalogue,
    store: Store,
    block: int | None = None,
    unread: Collection[str] = (),
) -> Recipients:
    """All deliveries on the record, with the answers that count.

    `block`: the last block of the node whose declarations are read; None reads all.  `unread`: CIDs of files
    that are not read, as if they were missing.
    """
    left_out = frozenset(unread)

    def read(uri: Uri, limit: int) -> bytes:
        if cid_string(uri) in left_out:
            raise BlockNotFoundError("this file is left out.")
        return store.read(uri, limit)

    declared = contracts.participants.declarations()
    return recipients(
        [each for each in declared if block is None or each.block_number <= block],
        recorded(contracts, catalogue),
        read,
        live_domain(contracts),
    )


def declared_files(contracts: Contracts, catalogue: Catalogue, store: Store) -> tuple[dict[Uri, int], bool]:
    """The declared files that count, each with its maximum bytes, and whether all of them could be read."""
    found: dict[Uri, int] = {}

    def read(uri: Uri, limit: int) -> bytes:
        data = store.read(uri, limit)
        found[uri] = limit
        return data

    declared = contracts.participants.declarations()
    known = recipients(declared, recorded(contracts, catalogue), read, live_domain(contracts))
    return found, not known.unread


def recorded(contracts: Contracts, catalogue: Catalogue) -> dict[Position, RecordedModel]:
    """The models of a catalogue, with the nodes of all their versions, as the live chain logged them."""
    nodes: dict[Position, dict[int, str]] = {}
    for each in (*contracts.live.published(), *contracts.live.redactions()):
        nodes.setdefault(each.position, {})[each.version] = cid_string(each.uri)
    return {
        placed.position: RecordedModel(
            name, placed.node.statement.owner, placed.version, nodes.get(placed.position, {})
        )
        for name, placed in catalogue.models.items()
    }


def live_domain(contracts: Contracts) -> eip712.Domain:
    """The domain of recipients' signatures."""
    return eip712.Domain(contracts.live.chain_id, contracts.live.address)
