# SPDX-License-Identifier: Apache-2.0
"""The references that an owner's part of a request starts from."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from blockful_py.errors import BlockfulError, FormatError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.weights import Weights
from blockful_py.ledger.protocols import LiveLedger, Store
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, PlacedNode, Request, parse_node
from blockful_py.record.request_state import RequestStanding

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CleanReferences:
    """The references of a model without the data to forget.

    Attributes:
        weights: state dicts by name, in the graph's order; a reference that nobody can give is left out.
        as_published: whether all references are there, and the data has reached none of them.
    """

    weights: dict[str, Weights]
    as_published: bool

    @classmethod
    def of(
        cls,
        status: RequestStanding,
        name: str,
        sealed: SealedWeights,
        store: Store,
        live: LiveLedger,
        patient: bool,
    ) -> CleanReferences:
        """Reads the handed-in parts of a model's references, or their current versions if they have none.

        Left out are withdrawn references, auxiliary ones whose owners missed their time, and ones whose parts
        are unusable, unless `patient`, which raises.

        Args:
            sealed: reads the weights in the live `store`.
            live: the contract that statements are bound to.
        """
        record, parts = status.record, status.parts if status.is_by_waves else {}
        weights, as_published = {}, True
        for reference in record.trained_from.references(name):
            placed, part = record[reference], parts.get(reference)
            as_published = as_published and part == placed.uri
            if placed.node.is_withdrawn or (part is None and reference in status.auxiliary):
                continue
            if part in (None, placed.uri):
                weights[reference] = sealed.read(placed.node.weights)
                continue
            try:
                node = parse_node(store.read(part, MAX_NODE_BYTES))
                _require_own(node, placed, status.request, live)
                weights[reference] = sealed.read(node.weights)
            except BlockfulError as error:
                if patient:
                    raise
                _log.warning("%s is trained without %s, whose part is unusable: %s", name, reference, error)
        return cls(weights, as_published)


def _require_own(node: ModelNode, placed: PlacedNode, request: Request, live: LiveLedger) -> None:
    """Checks that a node is its owner's part of the request.  Raises FormatError if not."""
    signer = "0x" + node.signer(live.chain_id, live.address).hex()
    if (node.name, signer) != (placed.node.name, placed.node.statement.owner):
        raise FormatError(f"the part of {placed.node.name} is not its owner's.")
    if node.redaction is None or node.redaction.request != request:
        raise FormatError(f"the part of {placed.node.name} is of another request.")
