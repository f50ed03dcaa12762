# SPDX-License-Identifier: Apache-2.0
"""The references that an owner's part of a request starts from."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from blockful_py.errors import BlockfulError, FormatError
from blockful_py.learning.federation import TrainedModel
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.training import load_model, trained_model
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, PlacedNode, parse_node
from blockful_py.record.request_state import RequestStanding
from blockful_py.types import Uri

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CleanReferences:
    """The references of a model without the data to forget.

    Attributes:
        models: references by name, in the graph's order; a reference that nobody can give is left out.
        as_published: whether all references are there, and the data has reached none of them.
    """

    models: dict[str, TrainedModel]
    as_published: bool

    @classmethod
    def of(cls, context: FederationContext, status: RequestStanding, name: str) -> CleanReferences:
        """Reads the handed-in parts of a model's references, or their current versions if they have none.

        Left out are withdrawn references, auxiliary ones whose owners missed their time, and, once less than
        half of this owner's time is left, ones whose parts cannot be read.  Otherwise raises that error.
        """
        record, parts = status.record, status.parts if status.is_by_waves else {}
        models, as_published = {}, True
        for reference in record.graph.references(name):
            placed, part = record[reference], parts.get(reference)
            as_published = as_published and part == placed.uri
            if placed.node.is_withdrawn or (part is None and reference in status.auxiliary):
                continue
            if part in (None, placed.uri):
                models[reference] = load_model(placed, context.weights)
                continue
            try:
                node = _part(context, status, placed, part)
                models[reference] = trained_model(placed, context.weights.read(node.weights))
            except BlockfulError as error:
                if not (status.presses((name,)) or record[name].node.is_withdrawn):
                    raise
                _log.warning("%s is trained without %s, whose part is unusable: %s", name, reference, error)
        return cls(models, as_published)


def _part(context: FederationContext, status: RequestStanding, placed: PlacedNode, uri: Uri) -> ModelNode:
    """A reference's handed-in node.  Raises FormatError if it is not its owner's part of the request."""
    node, live = parse_node(context.stores.live.read(uri, MAX_NODE_BYTES)), context.contracts.live
    signer = "0x" + node.signer(live.chain_id, live.address).hex()
    if (node.name, signer) != (placed.node.name, placed.node.statement.owner):
        raise FormatError(f"the part of {placed.node.name} is not its owner's.")
    if node.redaction is None or node.redaction.request != status.request:
        raise FormatError(f"the part of {placed.node.name} is of another request.")
    return node
