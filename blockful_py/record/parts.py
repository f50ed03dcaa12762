# SPDX-License-Identifier: Apache-2.0
"""The file of a request, and the way in which members check its results."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from blockful_py.errors import FormatError
from blockful_py.forget import Level
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, PlacedNode, Request
from blockful_py.types import Address, Checked, Paradigm

MAX_REQUEST_BYTES = 1 << 20
STARTS_ONLY = frozenset({"gradient_ascent"})
"""Methods that need only the starts' owners' data, since members recompute the other models.

Other methods need the data of all affected owners.
"""
EXACT = frozenset({"subtract"})
"""Methods whose results members recompute in both paradigms: bit for bit a federation without the data."""
BY_WAVES = frozenset({"retrain_ahead"})
"""Methods whose parts need the clean models of all references, affected or not."""


def request_to_bytes(request: Request) -> bytes:
    """The file of a signed request, whose CID is filed on the chain."""
    return request.model_dump_json().encode()


def request_from_bytes(data: bytes, chain_id: int, contract: Address, catalogue: Catalogue) -> Request:
    """A filed request that the owners of its starts have signed.

    Raises FormatError for an invalid request, InvalidSignatureError or UnknownModelError.
    """
    if len(data) > MAX_REQUEST_BYTES:
        raise FormatError(f"a request has at most {MAX_REQUEST_BYTES} bytes, these are {len(data)}.")
    try:
        request = Request.model_validate_json(data)
    except ValidationError as error:
        raise FormatError(f"this is no request: {error.errors()[0]['msg']}.") from None
    owners = [catalogue[start.name].node.statement.owner for start in request.starts]
    signers = ["0x" + signer.hex() for signer in request.signers(chain_id, contract)]
    if signers != owners:
        raise FormatError("the request is not signed by the owners of its starts.")
    return request


def by_waves(request: Request) -> bool:
    """Whether owners need the clean models of their references, affected or not, for their parts."""
    return request.method.partition(" ")[0] in BY_WAVES


def checked_by_members(request: Request) -> Checked:
    """How members check a request's results before they sign (`pipeline.review.methods`)."""
    method = request.method.partition(" ")[0]
    if method in EXACT and request.forget.level is not Level.SAMPLE:
        return Checked.EXACT
    if method in EXACT or (request.paradigm == Paradigm.PARALLEL and method in STARTS_ONLY):
        return Checked.RECOMPUTED
    return Checked.MEASURED if request.forget.level is Level.CLASS else Checked.ATTESTED


def checked_in(request: Request, nodes: Iterable[ModelNode]) -> Checked:
    """How members checked a request's new versions: the weakest check of any of them."""
    made = [node for node in nodes if not node.is_withdrawn]
    spot_checked = bool(made) and all(node.spot_check is not None for node in made)
    return Checked.SPOT_CHECKED if spot_checked else checked_by_members(request)


def is_replaced(placed: PlacedNode, request: Request) -> bool:
    """Whether a model's current version was made for the request."""
    return placed.node.redaction is not None and placed.node.redaction.request == request
