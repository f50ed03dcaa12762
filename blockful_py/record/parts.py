# SPDX-License-Identifier: Apache-2.0
"""The file of a request, the models whose parts it needs, and whether a model's version was made for it."""

from __future__ import annotations

from pydantic import ValidationError

from blockful_py.errors import FormatError
from blockful_py.forget import Level
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, PlacedNode, Redaction
from blockful_py.record.request import Request
from blockful_py.record.shown import is_exact, needs_parts
from blockful_py.types import Address

MAX_REQUEST_BYTES = 1 << 20


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


def is_replaced(placed: PlacedNode, request: Request) -> bool:
    """Whether a model's current version was made for the request."""
    return placed.node.redaction is not None and placed.node.redaction.request == request


def announced(request: Request, record: Catalogue) -> frozenset[str]:
    """The starts whose new weights their owners make, if members compute the others from these."""
    starts = frozenset(start.name for start in request.starts)
    if is_exact(request) and not needs_parts(request):
        return frozenset()
    if not is_exact(request) or request.forget.level is Level.CLASS:
        return starts
    owners = set(request.forget.owners())
    return frozenset(name for name in starts if record[name].node.statement.user in owners)


def withdrawn(placed: PlacedNode, request: Request) -> ModelNode:
    """The node of a model that a request withdraws: its owner's statement, and no weights."""
    redaction = Redaction(
        version=placed.version + 1,
        weights=None,
        request=request,
        claims=None,
        left_out=placed.node.removed_beside(request.classes),
        chosen_by=placed.node.chosen_by,
    )
    return placed.node.model_copy(update={"redaction": redaction})
