# SPDX-License-Identifier: Apache-2.0
"""Is the record what it claims to be?  (Design invariant 5.)

A model verifies exactly when, in this order:

    content    its node's and weights' bytes hash to their CIDs
    opening    its opening opens its chameleon hash, under its epoch's group key, for its place,
               version, URI, owner and references
    merkle     its chameleon hash is the leaf at its place under its block's root
    header     its block's opening opens the header's chameleon hash for the header's version
    link       the headers link from its block to genesis
    signature  its owner signed its statement, over these references; a later version also carries
               the request, signed by the owners of the starts that it names
    settled    no redaction that touched it is unfinished
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from blockful_py.committee.protocols import LiveLedger, Store
from blockful_py.crypto import chameleon, merkle, payload
from blockful_py.errors import BlockfulError, InvalidSignatureError, StorageError, VerificationError
from blockful_py.pipeline.chain_view import ChainView, Rosters
from blockful_py.pipeline.model_node import ModelNode, Request, parse_node
from blockful_py.types import ModelTransaction, Position

CHECKS = ("content", "opening", "merkle", "header", "link", "signature", "settled")


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that does not verify, and the first check that it fails."""

    model: str
    position: Position
    check: str
    detail: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Outcome for the models looked at."""

    checked: int
    failures: tuple[Failure, ...]

    @property
    def passed(self) -> bool:
        return not self.failures


class Verifier:
    """Checks models against the live chain and the store; checks each header once.

    One instance sees one moment: make a new one after the chain has changed.
    """

    def __init__(self, live: LiveLedger, rosters: Rosters, store: Store) -> None:
        self._view = ChainView(live, rosters)
        self._live = live
        self._store = store
        self._opened: set[int] = set()
        self._hashes = [payload.genesis_block_hash(live.chain_id, live.address)]

    def positions(self) -> Iterator[Position]:
        """Every model's; where a header's count cannot be true, the header's own position."""
        return self._view.positions()

    def verify(self, position: Position) -> ModelNode:
        """The node at `position` when all checks hold. Raises VerificationError otherwise."""
        subject = f"model at {position}"
        transaction = self._view.transaction(position)
        node = self._content(transaction, subject)
        subject = f"model {node.name} at {position}"
        self._opening(transaction, subject)
        self._merkle(transaction, subject)
        self._header(position.height, subject)
        self._link(position.height, subject)
        self._signature(transaction, node, subject)
        _require(
            transaction.settled, "settled", subject, "a redaction that touched it is unfinished; resume it"
        )
        return node

    def verify_all(
        self, positions: Sequence[Position] | None = None, progress: Callable[[int], None] = lambda done: None
    ) -> Verification:
        """Verifies every model (or those given); failures are collected, not raised."""
        failures = []
        wanted = tuple(self.positions()) if positions is None else tuple(positions)
        for done, position in enumerate(wanted, start=1):
            try:
                self.verify(position)
            except VerificationError as error:
                failures.append(Failure(error.subject, position, error.check, error.detail))
            progress(done)
        return Verification(len(wanted), tuple(failures))

    def _content(self, transaction: ModelTransaction, subject: str) -> ModelNode:
        try:
            node = parse_node(self._store.read(transaction.uri))
            self._store.read(node.weights)
        except StorageError as error:
            raise VerificationError("content", subject, str(error)) from None
        return node

    def _opening(self, transaction: ModelTransaction, subject: str) -> None:
        references = payload.references_hash(transaction.references)
        content = payload.transaction_payload(transaction.uri, transaction.owner, references)
        _require(
            chameleon.verify(
                self._view.key(transaction.epoch),
                chameleon.label(self._live.chain_id, self._live.address, transaction.position.packed),
                chameleon.message(transaction.version, content),
                transaction.ch,
                transaction.opening,
            ),
            "opening",
            subject,
            f"the opening does not open its chameleon hash for version {transaction.version} "
            "and the URI, owner and references on the chain",
        )

    def _merkle(self, transaction: ModelTransaction, subject: str) -> None:
        height = transaction.position.height
        leaves = [payload.block_leaf(t.position, t.ch) for t in self._view.block(height)]
        own = payload.block_leaf(transaction.position, transaction.ch)
        root = self._view.header(height).merkle_root
        proof = merkle.proof(leaves, transaction.position.index)
        _require(
            merkle.verify(root, own, proof),
            "merkle",
            subject,
            f"its chameleon hash is not under the root of block {height}",
        )

    def _header(self, height: int, subject: str) -> None:
        if height in self._opened:
            return
        header = self._view.header(height)
        content = payload.header_payload(
            header.parent_hash, header.merkle_root, header.timestamp, header.tx_count
        )
        _require(
            chameleon.verify(
                self._view.key(header.epoch),
                chameleon.label(self._live.chain_id, self._live.address, Position.of_header(height).packed),
                chameleon.message(header.version, content),
                header.ch,
                header.opening,
            ),
            "header",
            subject,
            f"the opening of header {height} does not open its chameleon hash for version {header.version}",
        )
        self._opened.add(height)

    def _link(self, height: int, subject: str) -> None:
        """blockHash(b - 1) = parentHash(b) for every block b up to `height`; each is checked once."""
        for below in range(len(self._hashes), height + 1):
            header = self._view.header(below)
            _require(
                header.parent_hash == self._hashes[-1],
                "link",
                subject,
                f"header {below} does not name the hash of block {below - 1} as its parent",
            )
            self._hashes.append(
                payload.block_hash(header.parent_hash, header.ch, header.merkle_root, header.timestamp)
            )
        _require(
            self._live.block_hash(height) == self._hashes[height],
            "link",
            subject,
            f"the chain's hash of block {height} is not that of its header",
        )

    def _signature(self, transaction: ModelTransaction, node: ModelNode, subject: str) -> None:
        statement = node.statement
        try:
            signer = node.signer(self._live.chain_id, self._live.address)
        except BlockfulError as error:
            raise VerificationError("signature", subject, str(error)) from None
        _require(
            signer == transaction.owner and statement.owner == "0x" + transaction.owner.hex(),
            "signature",
            subject,
            f"the statement is signed by 0x{signer.hex()}, the owner is 0x{transaction.owner.hex()}",
        )
        _require(
            sorted(r.place() for r in statement.references) == list(transaction.references),
            "signature",
            subject,
            "the signed references are not those on the chain",
        )
        version = node.redaction.version if node.redaction else 0
        _require(
            version == transaction.version,
            "signature",
            subject,
            f"the node is of version {version}, the transaction of version {transaction.version}",
        )
        if node.redaction:
            self._request(transaction, node.redaction.request, subject)

    def _request(self, transaction: ModelTransaction, request: Request, subject: str) -> None:
        try:
            signers = request.signers(self._live.chain_id, self._live.address)
        except InvalidSignatureError as error:
            raise VerificationError("signature", subject, str(error)) from None
        for start, signer in zip(request.starts, signers, strict=True):
            origin = self._view.find(start.place())
            _require(
                origin is not None and signer == origin.owner,
                "signature",
                subject,
                f"the request to unlearn from {start.name} is not signed by the owner of {start.position}",
            )
        ancestry = self._view.ancestry(transaction)
        _require(
            any(start.place() in ancestry for start in request.starts),
            "signature",
            subject,
            "the request that redacted it starts from none of its ancestors",
        )


def _require(holds: bool, check: str, subject: str, detail: str) -> None:
    if not holds:
        raise VerificationError(check, subject, detail)
