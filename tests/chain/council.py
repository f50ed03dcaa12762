# SPDX-License-Identifier: Apache-2.0
"""A committee that votes for everything: certificates and openings for the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.contract import Contract
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.crypto import chameleon, curve, merkle, multisignature, payload
from blockful_py.crypto.eip712 import Certified, Domain, digest
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.roster import Roster
from blockful_py.types import (
    Action,
    ArchiveRecord,
    Certificate,
    Codec,
    HeaderUpdate,
    NewBlock,
    Opening,
    Position,
    Publication,
    Update,
    Uri,
)

OWNER = bytes(range(1, 21))


def uri(name: str) -> Uri:
    return Uri(keccak(name.encode()), Codec.RAW)


@dataclass
class Council:
    """Four members with one trapdoor; `domain` is the domain of the committee's contract."""

    domain: Domain
    secrets: tuple[int, ...]
    trapdoor: int
    rng: SeededRng

    @classmethod
    def gathered(cls, seed: bytes) -> Council:
        rng = SeededRng(seed)
        secrets = tuple(curve.random_scalar(rng) for _ in range(4))
        return cls(Domain(0, bytes(20)), secrets, curve.random_scalar(rng), rng)

    @property
    def roster(self) -> Roster:
        keys = tuple(curve.multiply_base(secret) for secret in self.secrets)
        return Roster(keys, 3, False, curve.multiply_base(self.trapdoor))

    def certify(
        self, contract: Contract, leaves: Sequence[bytes], voters: Sequence[int] = (0, 1, 3)
    ) -> tuple[Action, ...]:
        """One action of `contract` for each leaf, all under one certificate of epoch 1."""
        tree = merkle.MerkleTree(leaves)
        proposal = self.rng(32)
        bits = sum(1 << voter for voter in voters)
        certified = Certified(contract.chain_id, contract.address, 1, proposal, tree.root, bits)
        secret = sum(self.secrets[voter] for voter in voters) % curve.N
        signed = multisignature.sign(secret, digest(self.domain, certified))
        certificate = Certificate(1, proposal, tree.root, bits, signed.nonce, signed.s)
        return tuple(Action(certificate, i, len(leaves), tree.proof(i)) for i in range(len(leaves)))

    def block(self, live: LiveChainContract, count: int, references: Sequence[Position] = ()) -> NewBlock:
        """The next block, with `count` models that have the same references."""
        height = live.height() + 1
        parent, timestamp = live.block_hash(height - 1), live.node.timestamp()
        publications = []
        for index in range(count):
            content = payload.transaction_payload(
                uri(f"{height}:{index}"), OWNER, payload.references_hash(references)
            )
            ch, opening = self._hash(live, Position(height, index), content)
            publications.append(Publication(ch, opening, uri(f"{height}:{index}"), OWNER, tuple(references)))
        leaves = [payload.block_leaf(Position(height, i), each.ch) for i, each in enumerate(publications)]
        content = payload.header_payload(parent, merkle.root(leaves), timestamp, count)
        ch, opening = self._hash(live, Position.of_header(height), content)
        return NewBlock(parent, timestamp, ch, opening, tuple(publications))

    def redaction(
        self, live: LiveChainContract, positions: Sequence[Position]
    ) -> tuple[list[Update], list[HeaderUpdate]]:
        """Updates of models, and of the headers of their blocks, to their next versions."""
        updates = []
        for current in live.transactions(positions):
            new, version = uri(f"{current.position} again"), current.version + 1
            hashed = payload.references_hash(current.references)
            content = payload.transaction_payload(new, current.owner, hashed)
            label = chameleon.label(live.chain_id, live.address, current.position.packed)
            opening = chameleon.collide(
                self.trapdoor, label, chameleon.message(version, content), current.ch, self.rng
            )
            updates.append(Update(current.position, version, new, opening))
        headers = []
        for header in live.headers(sorted({position.height for position in positions})):
            content = payload.header_payload(
                header.parent_hash, header.merkle_root, header.timestamp, header.tx_count
            )
            label = chameleon.label(live.chain_id, live.address, Position.of_header(header.height).packed)
            message = chameleon.message(header.version + 1, content)
            opening = chameleon.collide(self.trapdoor, label, message, header.ch, self.rng)
            headers.append(HeaderUpdate(header.height, header.version + 1, opening))
        return updates, headers

    def archive(self, archive: ArchiveRegistryContract, records: Sequence[ArchiveRecord]) -> Action:
        """Certifies an append of `records` at the current head and time."""
        leaf = archive.append_leaf(archive.head(), archive.node.timestamp(), records, 0, 1)
        return self.certify(archive, [leaf])[0]

    def _hash(self, live: LiveChainContract, position: Position, content: bytes) -> tuple[int, Opening]:
        label = chameleon.label(live.chain_id, live.address, position.packed)
        key = curve.multiply_base(self.trapdoor)
        return chameleon.hash_message(key, label, chameleon.message(0, content))
