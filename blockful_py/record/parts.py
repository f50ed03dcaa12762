# SPDX-License-Identifier: Apache-2.0
"""What a filed request still needs, read from the record alone: no torch, no data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from pydantic import ValidationError

from blockful_py.errors import FormatError
from blockful_py.forget import Level
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, PlacedNode, Request
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Checked, Paradigm, Position, Uri

MAX_REQUEST_BYTES = 1 << 20
STARTS_ONLY = frozenset({"gradient_ascent"})
"""Methods that need the data of the starts' owners alone, as members recompute the rest; the others need that
of all affected owners."""


class Filed(Protocol):
    """A request's file on the chain; numbers of the live chain's node's blocks."""

    @property
    def uri(self) -> Uri: ...

    @property
    def block_number(self) -> int: ...


class PartHandedIn(Protocol):
    """A part that was handed in on the chain."""

    @property
    def position(self) -> Position: ...

    @property
    def by(self) -> bytes: ...

    @property
    def uri(self) -> Uri: ...

    @property
    def block_number(self) -> int: ...


Commitment = TypeVar("Commitment", bound=PartHandedIn)


def request_to_bytes(request: Request) -> bytes:
    """The file of a signed request, whose CID is filed on the chain."""
    return request.model_dump_json().encode()


def request_from_bytes(data: bytes, chain_id: int, contract: bytes, catalogue: Catalogue) -> Request:
    """A filed request that the owners of its starts have signed.

    Raises FormatError when the bytes are none, InvalidSignatureError or UnknownModelError.
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


def affected(catalogue: Catalogue, request: Request) -> tuple[str, ...]:
    """The starts and their descendants, in topological order."""
    starts = [start.name for start in request.starts]
    wanted = {*starts, *catalogue.graph.descendants(starts)}
    return tuple(name for name in catalogue.graph.topological_order() if name in wanted)


def with_parts(catalogue: Catalogue, request: Request) -> frozenset[str]:
    """The models whose owners do a part of the request."""
    if request.method.partition(" ")[0] in STARTS_ONLY:
        return frozenset(start.name for start in request.starts)
    return frozenset(affected(catalogue, request))


def checked_by_members(request: Request) -> Checked:
    """How members check a request's results before they sign (`pipeline.review.methods`)."""
    if request.paradigm == Paradigm.PARALLEL and request.method.partition(" ")[0] in STARTS_ONLY:
        return Checked.RECOMPUTED
    return Checked.MEASURED if request.forget.level is Level.CLASS else Checked.ATTESTED


def checked_in(request: Request, nodes: Iterable[ModelNode]) -> Checked:
    """How members checked new versions that came of a request: the least that they did for any of them."""
    made = [node for node in nodes if not node.is_withdrawn]
    spot_checked = bool(made) and all(node.spot_check is not None for node in made)
    return Checked.SPOT_CHECKED if spot_checked else checked_by_members(request)


def is_replaced(placed: PlacedNode, request: Request) -> bool:
    """Whether a model's current version came of the request."""
    return placed.node.redaction is not None and placed.node.redaction.request == request


def has_answered(placed: PlacedNode, request: Request) -> bool:
    """Whether any version of a model came of the request, also where another request followed."""
    return is_replaced(placed, request) or request in placed.earlier


def is_passed_on(catalogue: Catalogue, request: Request) -> bool:
    """Whether what the starts changed has been passed to all descendants that it reaches.

    Members recompute such a request and decide on it once.  The decision replaces every start, and leaves a
    descendant alone whose update is at most epsilon.
    """
    if checked_by_members(request) is not Checked.RECOMPUTED:
        return False
    decided = all(has_answered(catalogue[start.name], request) for start in request.starts)
    models = [catalogue[name] for name in affected(catalogue, request)]
    return decided and all(placed.settled for placed in models if is_replaced(placed, request))


def missing(catalogue: Catalogue, request: Request) -> tuple[str, ...]:
    """The affected models that the request has yet to replace, in topological order; a model that is
    withdrawn has nothing to forget."""
    if is_passed_on(catalogue, request):
        return ()
    return tuple(
        name
        for name in affected(catalogue, request)
        if name in catalogue.with_weights and not has_answered(catalogue[name], request)
    )


def withdrawn_for(catalogue: Catalogue, request: Request) -> tuple[str, ...]:
    """The models that the request has withdrawn, and that their owners have not published again."""
    return tuple(
        name
        for name in affected(catalogue, request)
        if name not in catalogue.with_weights and is_replaced(catalogue[name], request)
    )


def unanswered(
    catalogue: Catalogue, request: Request, filed: Filed, blocks: int, block_number: int
) -> tuple[str, ...]:
    """The models to be withdrawn at a block of the node, because their owners had their time.

    An owner has `blocks` for each model, counted along the longest path from the starts: the part at depth d
    is due d + 1 times `blocks` after the filing.  Its references come first.  None in the parallel paradigm,
    where only those who signed the request hand in.
    """
    if request.paradigm == Paradigm.PARALLEL or filed.uri != file_uri(request_to_bytes(request)):
        return ()
    depths = catalogue.graph.depth([start.name for start in request.starts])
    waiting = set(missing(catalogue, request))
    return tuple(
        name
        for name in missing(catalogue, request)
        if block_number > filed.block_number + blocks * (depths[name].longest + 1)
        and not waiting.intersection(catalogue.graph.references(name))
    )


def due(
    catalogue: Catalogue, request: Request, account: bytes, handed_in: Iterable[PartHandedIn]
) -> tuple[str, ...]:
    """The models of an account whose parts of a request can be done now; withdrawn ones can come back."""
    owner = "0x" + account.hex()
    undone = (*missing(catalogue, request), *withdrawn_for(catalogue, request))
    left = [name for name in undone if catalogue[name].node.statement.owner == owner]
    if request.paradigm == Paradigm.PARALLEL:
        done = newest_parts(catalogue, request, handed_in).keys()
        return tuple(name for name in left if name in with_parts(catalogue, request) and name not in done)
    waiting = set(missing(catalogue, request))
    return tuple(name for name in left if not waiting.intersection(catalogue.graph.references(name)))


def newest_parts(catalogue: Catalogue, request: Request, handed_in: Iterable[PartHandedIn]) -> dict[str, Uri]:
    """The node that the owner of each model handed in last, of those that the request has not replaced; none
    in a sequential request, where owners hand in commitments to their trainings alone.

    A part that was handed in before another request replaced its model is of a version that is gone.
    """
    if request.paradigm != Paradigm.PARALLEL:
        return {}
    left = set(missing(catalogue, request)) & with_parts(catalogue, request)
    names = {(catalogue[name].position, catalogue[name].node.statement.owner): name for name in left}
    parts = ((names.get((each.position, "0x" + each.by.hex())), each) for each in handed_in)
    return {
        name: each.uri
        for name, each in parts
        if name is not None and each.block_number > catalogue[name].since
    }


def first_commitment(catalogue: Catalogue, name: str, handed_in: Iterable[Commitment]) -> Commitment | None:
    """The first commitment to the training of a model's next version; None without one.

    Later ones do not count, whatever request they are for: their owner knows what the first would have it
    show.  A reference that was replaced since begins another training, and so does the model itself.

    `handed_in`: by anybody, for sequential requests; those of one block in an order that all members share.
    """
    position, owner = catalogue[name].position, catalogue[name].node.statement.owner
    since = max(catalogue[each].since for each in (name, *catalogue.graph.references(name)))
    own = (
        each
        for each in handed_in
        if (each.position, "0x" + each.by.hex()) == (position, owner) and each.block_number > since
    )
    return min(own, key=lambda each: each.block_number, default=None)


def is_complete(catalogue: Catalogue, request: Request, handed_in: Iterable[PartHandedIn]) -> bool:
    """Whether every part of a parallel request is there: handed in by its owner, or replaced."""
    left = set(missing(catalogue, request)) & with_parts(catalogue, request)
    return left == newest_parts(catalogue, request, handed_in).keys()


def has_lapsed(
    catalogue: Catalogue,
    request: Request,
    handed_in: Iterable[PartHandedIn],
    deadline: int,
    block_number: int,
) -> bool:
    """Whether a parallel request waits for parts that nobody can hand in any more.

    `deadline`: last block of the node in which parts are handed in.
    """
    over = request.paradigm == Paradigm.PARALLEL and block_number > deadline
    return over and bool(missing(catalogue, request)) and not is_complete(catalogue, request, handed_in)
