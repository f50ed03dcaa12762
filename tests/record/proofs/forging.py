# SPDX-License-Identifier: Apache-2.0
"""A chain that fits together and that nobody has to believe."""

from __future__ import annotations

import json

from blockful_py.crypto import chameleon, curve, merkle, payload
from blockful_py.record.fields import of_octets
from blockful_py.record.model_node import sign_statement
from blockful_py.record.proofs.proof import Proof
from blockful_py.record.proofs.record import BlockHeader, GroupKey, LiveRecord, Model, Transaction
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Header, ModelTransaction, Point, Position
from tests.record.conftest import Scene


def forge(scene: Scene, key: Point, **changes: object) -> Proof:
    """A chain of one block with a model of a stranger, made without any secret of the federation."""
    live, secret = scene.federation.contracts.live, 4711
    owner = curve.address(curve.multiply_base(secret))
    node = scene.federation.catalogue()["a"].node
    own = {"owner": of_octets(owner), "references": ()}
    signed = sign_statement(node.statement.model_copy(update=own), secret, live.chain_id, live.address)
    signed = signed.model_copy(update={"statement": signed.statement.model_copy(update=changes)})
    text = json.dumps(signed.model_dump(mode="python") | {"redaction": None}, sort_keys=True, default=list)
    place = Position(1, 0)
    content = payload.transaction_payload(file_uri(text.encode()), owner, payload.references_hash(()))
    label = chameleon.label(live.chain_id, live.address, place.packed)
    ch, opening = chameleon.hash_message(key, label, chameleon.message(0, content))
    root = merkle.root([payload.block_leaf(place, ch)])
    genesis = payload.genesis_block_hash(live.chain_id, live.address)
    label = chameleon.label(live.chain_id, live.address, Position.of_header(1).packed)
    message = chameleon.message(0, payload.header_payload(genesis, root, 1, 1))
    header_ch, header_opening = chameleon.hash_message(key, label, message)
    transaction = ModelTransaction(place, ch, opening, file_uri(text.encode()), 0, 1, owner, True, ())
    header = Header(1, genesis, header_ch, header_opening, 0, 1, root, 1, 1)
    record = LiveRecord(
        chain_id=live.chain_id,
        contract=of_octets(live.address),
        first=1,
        headers=(BlockHeader.of(header),),
        keys=(GroupKey.of(1, key),),
        models=(Model(transaction=Transaction.of(transaction, ()), node=text),),
        others=(),
    )
    return Proof(format="blockful-proof/1", record=record, archive=None)


def block_hash_of(proof: Proof) -> bytes:
    header = proof.record.headers[-1].header(1)
    return payload.block_hash(header.parent_hash, header.ch, header.merkle_root, header.timestamp)
