# SPDX-License-Identifier: Apache-2.0
"""Verifies models on the live chain against their stored content.

A model verifies exactly when, in this order:

content    its node's and weights' bytes hash to their CIDs; the weights are sealed, and decrypt to
           weights if their key is known
opening    its opening opens its chameleon hash, under its epoch's group key, for its place,
           version, URI, owner and references
merkle     its chameleon hash is the leaf at its place under its block's root
header     its block's opening opens the header's chameleon hash for the header's version
link       the headers link from its block to genesis
signature  its owner signed its statement, over these references; a later version also carries
           the request, signed by the owners of the starts that it names.  A statement with other
           references also needs a request that let its owner choose again
settled    no redaction that touched it is unfinished

It also checks the promises of both chains (record/history.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from blockful_py.crypto import merkle, payload
from blockful_py.crypto.envelope import MAX_SEALED_BYTES
from blockful_py.errors import CryptoError, LearningError, StorageError, VerificationError
from blockful_py.ledger.protocols import LiveReader, Store, require_whole
from blockful_py.record.chain_view import ChainView, Rosters
from blockful_py.record.checks import (
    Descendants,
    check_header,
    check_leaf,
    check_link,
    check_opening,
    check_redaction,
    check_request,
    check_statement,
    require,
)
from blockful_py.record.decryption import Decryptor
from blockful_py.record.events import PROMISES, CheckedHistory
from blockful_py.record.known import NOTHING_KNOWN, Known
from blockful_py.record.model_node import MAX_NODE_BYTES, ModelNode, parse_node
from blockful_py.record.request import Request
from blockful_py.types import ModelTransaction, Position

NOTHING_VERIFIED: Mapping[Position, str] = MappingProxyType({})
CHECKS = ("content", "opening", "merkle", "header", "link", "signature", "settled", *PROMISES)


@dataclass(frozen=True, slots=True)
class Failure:
    """A model that does not verify, and the first failed check.

    A broken promise may concern a block (`position` is its header's) or a decision (None).
    """

    model: str
    position: Position | None
    check: str
    detail: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Outcome for the verified models.

    `decrypted`: number of models whose weights were decrypted with their keys; for the others, only the
    sealed bytes were checked.  `pending`: decisions that are in the archive but missing or incomplete on the
    live chain.  `known`: number of models verified before and unchanged, which are not in `checked`.
    """

    checked: int
    failures: tuple[Failure, ...]
    decrypted: int = 0
    pending: tuple[bytes, ...] = ()
    known: int = 0

    @property
    def passed(self) -> bool:
        return not self.failures


class Verifier:
    """Checks models against the live chain and the store; checks each header and each request once.

    An instance sees one moment of the chain: make a new one after the chain has changed.
    """

    def __init__(
        self,
        live: LiveReader,
        rosters: Rosters,
        store: Store,
        decryptor: Decryptor | None = None,
        known: Known = NOTHING_KNOWN,
    ) -> None:
        """Reads the chain; without `decryptor`, decrypts no weights.

        `known`: headers that are not opened again, and models that `changed` leaves out.
        """
        self._decryptor = decryptor
        self._known = known
        self._read: set[Position] = set()
        self._view = ChainView(live, rosters)
        self._live = live
        self._store = store
        self._opened: set[int] = set()
        self._trees: dict[int, merkle.MerkleTree] = {}
        self._requests: dict[Request, Descendants] = {}
        self._added: dict[Position, tuple[Position, ...]] = {}
        self._hashes = [payload.genesis_block_hash(live.chain_id, live.address)]

    def positions(self) -> Iterator[Position]:
        """Every model's position; for a header with an impossible count, the header's own position."""
        return self._view.positions()

    @property
    def view(self) -> ChainView:
        """The live chain as it was read."""
        return self._view

    def detached(self, store: Store) -> Verifier:
        """A verifier of the same moment for another process, without a node and without keys."""
        read = self._view.read()
        return Verifier(read, read, store, known=self._known)

    def changed(self) -> tuple[Position, ...]:
        """Positions of models new or changed since the checkpoint; a changed header counts as its first
        model.
        """
        self._view.read_all()
        found: list[Position] = []
        if not self._known.models:
            return tuple(self.positions())
        for position in self.positions():
            try:
                same = self._known.has(self._view.transaction(position))
            except VerificationError:
                same = False
            if not same or (position.index == 0 and not self._is_known(position.height)):
                found.append(position)
        return tuple(found)

    def _is_known(self, height: int) -> bool:
        return self._known.has_header(self._view.header(height))

    def verify(self, position: Position, passed: Callable[[str], object] = lambda check: None) -> ModelNode:
        """The node at `position` if all checks hold.  Raises VerificationError otherwise.

        `passed` is called with the name of each check that holds.
        """
        subject = f"model at {position}"
        transaction = self._view.transaction(position)
        node = self._content(transaction, subject)
        passed("content")
        subject = f"model {node.name} at {position}"
        check_opening(self._live, self._view.key(transaction.epoch), transaction, subject)
        passed("opening")
        self._merkle(transaction, subject)
        passed("merkle")
        self._header(position.height, subject)
        passed("header")
        self._link(position.height, subject)
        passed("link")
        self._signature(transaction, node, subject)
        passed("signature")
        require(
            "settled", subject, transaction.settled, "a redaction that touched it is unfinished; resume it"
        )
        passed("settled")
        return node

    def verify_all(
        self,
        history: CheckedHistory,
        positions: Sequence[Position] | None = None,
        progress: Callable[[int], None] = lambda done: None,
        verified: Mapping[Position, str] = NOTHING_VERIFIED,
    ) -> Verification:
        """Verifies the given models, by default all but known ones; collects failures instead of raising.

        `history`: its violations are failures too, unless a check of the same model or block fails.
        `verified`: names of models that a detached verifier has verified; it may grow meanwhile.
        """
        failures: list[Failure] = []
        names: dict[Position, str] = {}
        wanted = self.changed() if positions is None else tuple(positions)
        for done, position in enumerate(wanted, start=1):
            try:
                names[position] = self._verified(position, verified.get(position))
            except VerificationError as error:
                failures.append(Failure(error.subject, position, error.check, error.detail))
            progress(done)
        places = None if positions is None else frozenset(wanted)
        failures += _broken(history, places, failures, names)
        known = 0 if positions is not None else sum(1 for _ in self.positions()) - len(wanted)
        decrypted = len(self._read & set(wanted))
        return Verification(len(wanted), tuple(failures), decrypted, history.pending, known)

    def _verified(self, position: Position, name: str | None) -> str:
        """Name of a model that verifies; `name` if it already verified without keys."""
        if name is None:
            return self.verify(position).name
        if self._decryptor is not None:
            self._content(self._view.transaction(position), f"model at {position}")
        return name

    def _content(self, transaction: ModelTransaction, subject: str) -> ModelNode:
        try:
            node = parse_node(self._store.read(transaction.uri, MAX_NODE_BYTES))
            if node.is_withdrawn:
                return node
            require_whole(self._store, node.weights, MAX_SEALED_BYTES)
            if self._decryptor is not None and self._decryptor.decrypts(
                transaction.position, transaction.version, node.weights
            ):
                self._read.add(transaction.position)
        except (StorageError, LearningError, CryptoError) as error:
            raise VerificationError("content", subject, str(error)) from None
        return node

    def _merkle(self, transaction: ModelTransaction, subject: str) -> None:
        height, index = transaction.position.height, transaction.position.index
        if height not in self._trees:
            leaves = [payload.block_leaf(each.position, each.ch) for each in self._view.block(height)]
            self._trees[height] = merkle.MerkleTree(leaves)
        root = self._view.header(height).merkle_root
        check_leaf(root, transaction, self._trees[height].proof(index), subject)

    def _header(self, height: int, subject: str) -> None:
        if height not in self._opened:
            header = self._view.header(height)
            if not self._known.has_header(header):
                check_header(self._live, self._view.key(header.epoch), header, subject)
            self._opened.add(height)

    def _link(self, height: int, subject: str) -> None:
        """blockHash(b - 1) = parentHash(b) for every block b up to `height`; each is checked once."""
        for below in range(len(self._hashes), height + 1):
            self._hashes.append(check_link(self._hashes[-1], self._view.header(below), subject))
        require(
            "link",
            subject,
            self._view.block_hash(height) == self._hashes[height],
            f"the chain's hash of block {height} differs from its header's",
        )

    def _signature(self, transaction: ModelTransaction, node: ModelNode, subject: str) -> None:
        check_statement(self._live, transaction, node, subject)

        def descendants(request: Request) -> Descendants:
            if request not in self._requests:
                check_request(self._live, request, self._view.find, subject)
                self._requests[request] = Descendants(request, self._view.find, self._added_to)
            return self._requests[request]

        check_redaction(transaction, node, self._view.find, descendants, subject)

    def _added_to(self, transaction: ModelTransaction) -> tuple[Position, ...]:
        """References that a model's owner has chosen since it was published."""
        place = transaction.position
        if place not in self._added:
            added: tuple[Position, ...] = ()
            if transaction.version:
                node = self._node(transaction)
                added = node.added_to(transaction.references)
                if added:
                    check_statement(self._live, transaction, node, f"model {node.name} at {place}")
            self._added[place] = added
        return self._added[place]

    def _node(self, transaction: ModelTransaction) -> ModelNode:
        try:
            return parse_node(self._store.read(transaction.uri, MAX_NODE_BYTES))
        except StorageError as error:
            raise VerificationError("content", f"model at {transaction.position}", str(error)) from None


def _broken(
    history: CheckedHistory,
    wanted: frozenset[Position] | None,
    failures: Sequence[Failure],
    names: Mapping[Position, str],
) -> list[Failure]:
    """The first violation per model and block of `wanted` (None: all) without a failure, and all others.

    The others concern neither a model nor a block.
    """
    failed = {each.position for each in failures if each.position is not None}
    failed |= {Position.of_header(each.height) for each in failed}
    if wanted is not None:
        wanted |= {Position.of_header(each.height) for each in wanted}
    found = []
    for each in history.violations:
        place = each.position
        if place is not None:
            if place in failed or (wanted is not None and place not in wanted):
                continue
            failed.add(place)
        subject = each.subject
        if place is not None and place in names:
            subject = f"model {names[place]} at {place}"
        found.append(Failure(subject, place, each.promise, each.detail))
    return found
