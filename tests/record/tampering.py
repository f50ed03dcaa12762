# SPDX-License-Identifier: Apache-2.0
"""Ways to alter the record, the store and the nodes of a federation."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blockful_py.crypto import chameleon, merkle, payload
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.verifying import to_verify
from blockful_py.record.ahead import verify_blocks
from blockful_py.record.model_node import ModelNode, sign_statement
from blockful_py.record.verify import Verification
from blockful_py.storage.cid import cid_string
from blockful_py.types import Position, Uri
from tests.colluders import Conspiracy
from tests.limits import ANY_SIZE
from tests.record import slots
from tests.record.slots import Slots

Found = dict[str, str]
"""First failing check by position."""


@dataclass(frozen=True)
class World:
    """A federation in which s, t, x and y were redacted once, and its storage."""

    federation: Federation
    slots: Slots
    places: dict[str, Position]

    def node(self, name: str) -> ModelNode:
        return self.federation.catalogue()[name].node

    def height(self, name: str) -> int:
        """Of the block that holds a model."""
        return self.places[name].height

    def uri(self, name: str) -> int:
        """Slot of a model's URI."""
        return self.slots.uri(self.places[name])

    def flip(self, slot: int) -> None:
        self.slots.write(slot, self.slots.read(slot) ^ 1)

    def flip_model(self, name: str, field: int) -> None:
        """Another last bit of a word of a model in its block's code."""
        self.slots.flip_code(self.height(name), self._model(name) + field + 31)

    def write_model(self, name: str, field: int, data: bytes) -> None:
        """Other bytes of a model in its block's code."""
        self.slots.write_code(self.height(name), self._model(name) + field, data)

    def flip_header(self, name: str, field: int) -> None:
        """Another last bit of a word of the header of a model's block in its code."""
        self.slots.flip_code(self.height(name), field + 31)

    def write_last_reference(self, name: str, place: Position) -> None:
        """Of the last model of a block."""
        height = self.height(name)
        self.slots.write_code(height, len(self.slots.code(height)) - 8, place.packed.to_bytes(8))

    def set_model(self, name: str, field: tuple[int, int], value: int) -> None:
        """A field of a model's entry."""
        self.slots.write_field(self.height(name), self.places[name].index, field, value)

    def set_header(self, name: str, field: tuple[int, int], value: int) -> None:
        """A field of the entry of the header of a model's block."""
        self.slots.write_field(self.height(name), slots.HEADER, field, value)

    def _model(self, name: str) -> int:
        return slots.MODELS + slots.MODEL_SIZE * self.places[name].index

    def damage(self, uri: Uri, alter: Callable[[bytes], bytes]) -> None:
        """Alters the file of the first block of `uri`."""
        path = self.file(uri)
        path.write_bytes(alter(path.read_bytes()))

    def file(self, uri: Uri) -> Path:
        (path,) = (self.federation.stores.live.directory / "blocks").rglob(cid_string(uri))
        return path

    def forge_transaction(self, name: str) -> None:
        """The chameleon hash of another owner, who anybody can be."""
        live, place = self.federation.contracts.live, self.places[name]
        self.write_model(name, slots.OWNER, b"\x0f" * 20)
        current = live.transaction(place)
        references = payload.references_hash(current.references)
        content = payload.transaction_payload(current.uri, current.owner, references)
        label = chameleon.label(live.chain_id, live.address, place.packed)
        message = chameleon.message(current.version, content)
        self.write_model(name, slots.CH, self._forged(label, message))

    def forge_header(self, name: str) -> None:
        """Another time for the header of the block of `name`, with a fresh chameleon hash."""
        live, height = self.federation.contracts.live, self.places[name].height
        self.set_time(name, live.header(height).timestamp - 1)
        header = live.header(height)
        content = payload.header_payload(
            header.parent_hash, header.merkle_root, header.timestamp, header.tx_count
        )
        label = chameleon.label(live.chain_id, live.address, Position.of_header(height).packed)
        message = chameleon.message(header.version, content)
        self.slots.write_code(height, slots.HEADER_CH, self._forged(label, message))

    def set_time(self, name: str, seconds: int) -> None:
        """Of the block of `name`."""
        self.slots.write_code(self.height(name), slots.TIMESTAMP, seconds.to_bytes(8))

    def forge_root(self, name: str) -> None:
        """The root over the chameleon hashes as they stand."""
        live, height = self.federation.contracts.live, self.places[name].height
        places = [Position(height, index) for index in range(live.header(height).tx_count)]
        leaves = [payload.block_leaf(t.position, t.ch) for t in live.transactions(places)]
        self.slots.write_code(height, slots.MERKLE_ROOT, merkle.root(leaves))

    def collude(self, name: str, node: ModelNode) -> None:
        Conspiracy.of(self.federation).collude({self.places[name]: node})

    def _forged(self, label: bytes, message: bytes) -> bytes:
        """A chameleon hash, 32 bytes, made without the trapdoor."""
        key = Conspiracy.of(self.federation).shares[0].group_key
        return chameleon.hash_message(key, label, message)[0].to_bytes(32)


def failures(world: World) -> Found:
    """As one process finds them, and one with others ahead of it as well."""
    names = {place: name for name, place in world.places.items()}
    outcome = world.federation.verify()
    assert outcome == with_others_ahead(world.federation)
    return {names.get(each.position, str(each.position)): each.check for each in outcome.failures}


def with_others_ahead(federation: Federation) -> Verification:
    """Of all models, as far as they verify by what another process is sent."""
    chains, store = to_verify(federation.contracts, None), federation.stores.live
    verifier = chains.verifier(federation.contracts, store, None)
    sent = pickle.loads(pickle.dumps(verifier.detached(store)))  # noqa: S301
    verified: dict[Position, str] = {}
    verify_blocks(sent, [verifier.changed()], verified.update)
    outcome = verifier.verify_all(chains.history(), verified=verified)
    if outcome.passed:
        assert len(verified) == outcome.checked
    return outcome


def resigned(world: World, name: str, user: int, **changes: object) -> ModelNode:
    """The node of the next version of `name`, its statement altered and signed by `user`."""
    node, live = world.node(name), world.federation.contracts.live
    secret = Conspiracy.of(world.federation).identities.user(user)
    signed = sign_statement(node.statement.model_copy(update=changes), secret, live.chain_id, live.address)
    assert node.redaction is not None
    redaction = node.redaction.model_copy(update={"version": node.redaction.version + 1})
    return signed.model_copy(update={"redaction": redaction})


def next_version(world: World, name: str, **request: object) -> ModelNode:
    """The node of the next version of `name`, with an altered request."""
    node = world.node(name)
    assert node.redaction is not None
    altered = {
        "version": node.redaction.version + 1,
        "request": node.redaction.request.model_copy(update=request),
    }
    return node.model_copy(update={"redaction": node.redaction.model_copy(update=altered)})


def flipped(data: bytes) -> bytes:
    return data[:100] + bytes([data[100] ^ 1]) + data[101:]


def last_digit(signature: str) -> str:
    return signature[:-1] + ("0" if signature[-1] != "0" else "1")


def restored(world: World, name: str) -> ModelNode:
    """The node as it was published, its weights back from the archive's store."""
    node = world.node(name).model_copy(update={"redaction": None})
    world.federation.stores.live.add(world.federation.stores.archive.read(node.weights, ANY_SIZE))
    return node


def from_a_stranger(world: World) -> ModelNode:
    node = next_version(world, "s")
    assert node.redaction is not None
    request = node.redaction.request
    (start,) = (each for each in request.starts if each.name == "t")
    live, identities = world.federation.contracts.live, Conspiracy.of(world.federation).identities
    signed = request.model_copy(update={"starts": (start,)}).signed(
        [identities.user(4)], live.chain_id, live.address
    )
    return node.model_copy(update={"redaction": node.redaction.model_copy(update={"request": signed})})
