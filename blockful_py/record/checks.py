# SPDX-License-Identifier: Apache-2.0
"""The checks of a record, one function each, on values from any source.

Each raises VerificationError with its name (`opening`, `merkle`, `header`, `link`, `signature`) when it
fails.  `subject` names the checked item in the message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from blockful_py.crypto import merkle, payload
from blockful_py.errors import BlockfulError, VerificationError
from blockful_py.record.model_node import ModelNode
from blockful_py.record.openings import ContractId, header_digests, model_digests, opens
from blockful_py.record.request import Request
from blockful_py.types import Header, ModelTransaction, Opening, Point, Position

Find = Callable[[Position], ModelTransaction | None]
"""Finds the transaction at an untrusted position; None if it has no model."""


Added = Callable[[ModelTransaction], Sequence[Position]]
"""References that a model has chosen since it was published (`ModelNode.added_to`)."""


def require(check: str, subject: str, holds: bool, detail: str) -> None:
    """Requires a condition.  Raises VerificationError unless `holds`."""
    if not holds:
        raise VerificationError(check, subject, detail)


def check_opening(live: ContractId, key: Point, transaction: ModelTransaction, subject: str) -> None:
    """Checks that the opening fits the chameleon hash, position, version, URI, owner and references."""
    opening = _known(transaction.opening, transaction.version, "opening", subject)
    require(
        "opening",
        subject,
        opens(key, model_digests(live, transaction), transaction.version, transaction.ch, opening),
        f"the opening does not open its chameleon hash for version {transaction.version} "
        "and the URI, owner and references on the chain",
    )


def check_leaf(root: bytes, transaction: ModelTransaction, path: Sequence[bytes], subject: str) -> None:
    """Checks that the chameleon hash is the leaf at its place under its block's root."""
    leaf = payload.block_leaf(transaction.position, transaction.ch)
    require(
        "merkle",
        subject,
        merkle.verify(root, leaf, path),
        f"its chameleon hash is not under the root of block {transaction.position.height}",
    )


def check_header(live: ContractId, key: Point, header: Header, subject: str) -> None:
    """Checks that the header's opening opens its chameleon hash for its version and content."""
    opening = _known(header.opening, header.version, "header", subject)
    require(
        "header",
        subject,
        opens(key, header_digests(live, header), header.version, header.ch, opening),
        f"the opening of header {header.height} does not open its chameleon hash "
        f"for version {header.version}",
    )


def check_link(parent: bytes, header: Header, subject: str) -> bytes:
    """Checks that parentHash is the hash of the block before; returns blockHash of this one."""
    require(
        "link",
        subject,
        header.parent_hash == parent,
        f"header {header.height} does not name the hash of block {header.height - 1} as its parent",
    )
    return payload.block_hash(header.parent_hash, header.ch, header.merkle_root, header.timestamp)


def check_statement(live: ContractId, transaction: ModelTransaction, node: ModelNode, subject: str) -> None:
    """Checks that the owner signed the node's statement, and the references and version match the chain."""
    must = partial(require, "signature", subject)
    statement = node.statement
    try:
        signer = node.signer(live.chain_id, live.address)
    except (BlockfulError, ValueError) as error:  # numbers that no signed struct can hold
        raise VerificationError("signature", subject, str(error)) from None
    must(
        signer == transaction.owner and statement.owner == "0x" + transaction.owner.hex(),
        f"the statement is signed by 0x{signer.hex()}, the owner is 0x{transaction.owner.hex()}",
    )
    added = node.added_to(transaction.references)
    places = [reference.place() for reference in statement.references]
    must(
        sorted(set(places) - set(added)) == list(transaction.references) and len(set(places)) == len(places),
        "the signed references differ from the chain's",
    )
    must(
        all(place.height < transaction.position.height for place in added),
        "it chose a reference that was not published before it",
    )
    must(
        node.chosen_by is not None or not (added or node.has_chosen_again),
        "the signed references differ from the chain's, and no request let the owner choose again",
    )
    version = node.redaction.version if node.redaction else 0
    must(
        version == transaction.version,
        f"the node is of version {version}, the transaction of version {transaction.version}",
    )
    if node.redaction is not None and node.chosen_by == node.redaction.request:
        must(
            statement.weights == node.redaction.weights,
            "its owner chose references again, and has not signed the weights that came of it",
        )


def check_redaction(
    transaction: ModelTransaction,
    node: ModelNode,
    find: Find,
    descendants: Callable[[Request], Descendants],
    subject: str,
) -> None:
    """Checks the requests of a later version: the one that made it, and the last that chose references again.

    `descendants`: the models that a request reaches, after `check_request`.
    """
    chosen_by = node.redaction.chosen_by if node.redaction else None
    require(
        "signature",
        subject,
        chosen_by is None or chosen_by.chooses_again,
        "the request that is said to have chosen its references again kept them",
    )
    for place in node.added_to(transaction.references):
        require("signature", subject, find(place) is not None, f"it chose {place}, where no model is")
    for request in node.requests:
        check_descent(transaction, descendants(request), subject)


def check_request(live: ContractId, request: Request, find: Find, subject: str) -> None:
    """Checks that the owners of the request's starts have signed it."""
    try:
        signers = request.signers(live.chain_id, live.address)
    except (BlockfulError, ValueError) as error:
        raise VerificationError("signature", subject, str(error)) from None
    for start, signer in zip(request.starts, signers, strict=True):
        origin = find(start.place())
        require(
            "signature",
            subject,
            origin is not None and signer == origin.owner,
            f"the request to unlearn from {start.name} is not signed by the owner of {start.position}",
        )


def check_descent(transaction: ModelTransaction, descent: Descendants, subject: str) -> None:
    """Checks that the replaced model is a start of the request or descends from one."""
    require(
        "signature",
        subject,
        transaction.position in descent,
        "the request that redacted it starts from none of its ancestors",
    )


def _known(opening: Opening | None, version: int, check: str, subject: str) -> Opening | None:
    if opening is None and version:
        raise VerificationError(
            check,
            subject,
            f"the node no longer has the event with the opening of version {version}: use a node that keeps "
            "past events, or a run or member folder that kept them",
        )
    return opening


class Descendants:
    """The models that descend from the starts of a request, including the starts.

    Visits each transaction once, and only ancestors of the queried models.
    """

    def __init__(self, request: Request, find: Find, added: Added) -> None:
        """Takes a request; a model also descends by the references that `added` names."""
        self._find = find
        self._added = added
        self._known = {start.place(): True for start in request.starts}

    def __contains__(self, position: Position) -> bool:
        """Whether the model at a position descends from a start.

        On the chain, references lead to earlier blocks; the search also ends on loops in an altered record.
        """
        pending = [position]
        while pending:
            at = pending[-1]
            if at in self._known:
                pending.pop()
                continue
            transaction = self._find(at)
            references = (*transaction.references, *self._added(transaction)) if transaction else ()
            unknown = [each for each in references if each not in self._known and each.height < at.height]
            if unknown and not any(self._known.get(each) for each in references):
                pending += unknown
                continue
            self._known[at] = any(self._known.get(each) for each in references)
            pending.pop()
        return self._known[position]
