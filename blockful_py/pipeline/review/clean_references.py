# SPDX-License-Identifier: Apache-2.0
"""The references that an owner's part of a request starts from."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass

from blockful_py.errors import BlockfulError, FormatError
from blockful_py.keys.sealing import SealedWeights
from blockful_py.learning.weights import Weights
from blockful_py.ledger.protocols import LiveLedger, Store
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, PlacedNode, parse_node
from blockful_py.record.request_state import RequestStanding
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Uri

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CleanReferences:
    """The references of a model without the data to forget.

    Attributes:
        weights: state dicts by name, in the graph's order; a reference that nobody can give is left out.
        as_published: whether all references are there, and the data has reached none of them.
        from_initial: whether the training of each was checked for the request, down to the initial weights.
        left_out: names of references whose parts are unusable, or whose owners withhold the training that
            they committed to.
    """

    weights: dict[str, Weights]
    as_published: bool
    from_initial: bool
    left_out: tuple[str, ...]

    @classmethod
    def of(
        cls,
        status: RequestStanding,
        name: str,
        sealed: SealedWeights,
        store: Store,
        live: LiveLedger,
        patient: bool,
        without: Collection[str] = (),
    ) -> CleanReferences:
        """Reads the handed-in parts of a model's references, or their current versions if they have none.

        An unaffected reference that is settled has its clean model in the store: a part replaces it only if
        the part's training was checked.  Left out are withdrawn references, others that are auxiliary and
        whose owners missed their time, and all of `left_out`, unless `patient`, which raises.

        Args:
            sealed: reads the weights in the live `store`.
            live: the contract that statements are bound to.
            without: references whose parts are taken to be unusable.
        """
        record, parts = status.record, status.parts if status.is_by_waves else {}
        weights, as_published, from_initial = {}, True, True
        left_out: list[str] = []
        for reference in record.trained_from.references(name):
            placed, part = record[reference], parts.get(reference)
            as_published = as_published and part == placed.uri
            stored, node = _stored(status, placed), placed.node
            is_asked, is_made = reference in status.auxiliary, part not in (None, placed.uri)
            if node.is_withdrawn or (stored is None and part is None and is_asked):
                continue
            is_withheld = is_asked and not is_made and status.has_committed(reference)
            if stored is None and not is_made and not is_withheld:
                weights[reference] = sealed.read(node.weights)
                from_initial = from_initial and _is_checked(node, status)
                continue
            if reference in without:
                left_out.append(reference)
                continue
            try:
                if is_withheld:
                    raise FormatError(f"its owner shows no training of {reference}, and committed to one.")
                if is_made:
                    node = handed_in(status, placed, store, live)
                    weights[reference] = sealed.read(node.weights)
                if stored is not None and node.spot_check is None:
                    weights[reference] = sealed.read(stored)
                from_initial = from_initial and _is_checked(node, status)
            except BlockfulError as error:
                if patient:
                    raise
                left_out.append(reference)
                _log.warning("%s is trained without %s, whose part is unusable: %s", name, reference, error)
        return cls(weights, as_published, from_initial, tuple(left_out))


NO_REFERENCES = CleanReferences({}, as_published=False, from_initial=True, left_out=())
"""Of a merged model's part, which is trained from the base alone."""


def _stored(status: RequestStanding, placed: PlacedNode) -> Uri | None:
    """The stored clean model of an unaffected model that is settled."""
    if placed.node.name in status.affected or placed.node.name not in status.settled:
        return None
    entry = placed.node.increment(status.request.classes[0])
    return None if entry is None else parse_cid(entry.weights)


def _is_checked(node: ModelNode, status: RequestStanding) -> bool:
    """Whether a version was trained for the request, and is checked down to the initial weights."""
    said, redaction = node.spot_check, node.redaction
    made_for_it = redaction is not None and redaction.request == status.request
    return made_for_it and said is not None and said.from_initial


def handed_in(status: RequestStanding, placed: PlacedNode, store: Store, live: LiveLedger) -> ModelNode:
    """The node that is a model's part.  Raises FormatError if it is not its owner's for this request."""
    node, name = parse_node(store.read(status.parts[placed.node.name], MAX_NODE_BYTES)), placed.node.name
    signer = "0x" + node.signer(live.chain_id, live.address).hex()
    if (node.name, signer) != (name, placed.node.statement.owner):
        raise FormatError(f"the part of {name} is not its owner's.")
    if node.redaction is None or node.redaction.request != status.request:
        raise FormatError(f"the part of {name} is of another request.")
    return node
