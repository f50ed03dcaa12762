# SPDX-License-Identifier: Apache-2.0
"""A committee and the content of two chains, as values for the ABI, without a node.

Digests are encoded by eth_abi from the type strings of the interfaces, independently of blockful_py.chain, so
the two can be tested against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address

from blockful_py.crypto import chameleon, curve, eip712, merkle, multisignature, payload
from blockful_py.crypto.eip712 import Certified, Domain, decision_digest, sign
from blockful_py.crypto.keccak import keccak, selector
from blockful_py.crypto.randomness import SeededRng
from blockful_py.types import Codec, Opening, Position, Uri

OPENING = "(uint256,uint256)"
PUBLICATION = f"(uint256,{OPENING},bytes32,uint8,address,uint64[])"
NEW_BLOCK = f"(bytes32,uint64,uint256,{OPENING},{PUBLICATION}[])"
UPDATE = f"(uint64,uint32,bytes32,uint8,{OPENING})"
HEADER_UPDATE = f"(uint32,uint32,{OPENING})"
CERTIFICATE = "(uint64,bytes32,bytes32,uint256,address,uint256)"
ACTION = f"({CERTIFICATE},uint32,uint32,bytes32[])"
RECORD = "(uint64,uint32,uint8,uint8,bytes32)"

APPEND_BLOCK = selector(f"append({NEW_BLOCK},{ACTION})")
REDACT = selector(f"redact({UPDATE}[],{HEADER_UPDATE}[],{ACTION})")
APPEND_RECORDS = selector(f"append(bytes32,uint64,{RECORD}[],{ACTION})")
SET_BARRED = selector(f"setBarred(address,bool,{ACTION})")
ADMIT = selector(f"admit(address,{ACTION})")
CHANGE_FILE = selector(f"changeFile(bytes32,{ACTION})")
DECIDE = selector(f"decide(uint32,bool,{ACTION})")


def digest(types: Sequence[str], values: Sequence[Any]) -> bytes:
    """keccak256(abi.encode(values))."""
    return keccak(encode(list(types), list(values)))


@dataclass(frozen=True)
class Panel:
    """The members of one epoch, all their voting secrets, and the whole trapdoor."""

    secrets: tuple[int, ...]
    trapdoor: int

    @classmethod
    def seeded(cls, size: int, label: str) -> Panel:
        rng = SeededRng(b"panel", label)
        return cls(tuple(curve.random_scalar(rng) for _ in range(size)), curve.random_scalar(rng))

    @property
    def key(self) -> Any:
        return curve.multiply_base(self.trapdoor)

    @property
    def key_id(self) -> bytes:
        return curve.key_id(self.key)

    @property
    def addresses(self) -> list[bytes]:
        return [curve.address(curve.multiply_base(secret)) for secret in self.secrets]

    def roster(self, *, unanimous: bool = False) -> tuple[Any, ...]:
        """The ABI's Roster, its threshold equal to the quorum."""
        threshold = len(self.secrets) if unanimous else -(-2 * len(self.secrets) // 3)
        keys = [(key.x, key.y) for key in map(curve.multiply_base, self.secrets)]
        return (keys, threshold, unanimous, self.key.x, self.key.y)

    def vote(self, domain: Domain, epoch: int, proposal: bytes, content: bytes, index: int) -> bytes:
        """One member's own vote."""
        return sign(self.secrets[index], decision_digest(domain, epoch, proposal, content))

    def certificate(
        self,
        domain: Domain,
        executor: tuple[int, str],
        epoch: int,
        proposal: bytes,
        content: bytes,
        voters: Iterable[int],
    ) -> tuple[Any, ...]:
        """The ABI's Certificate, signed by `voters`, member indices, for a contract on a chain."""
        chosen = sorted(voters)
        bits, (chain_id, contract) = sum(1 << index for index in chosen), executor
        certified = Certified(chain_id, bytes.fromhex(contract[2:]), epoch, proposal, content, bits)
        secret = sum(self.secrets[index] for index in chosen) % curve.N
        signed = multisignature.sign(secret, eip712.digest(domain, certified))
        return (epoch, proposal, content, bits, _hex(signed.nonce), signed.s)


@dataclass
class Decider:
    """Makes certified actions for given voters, domain and epoch."""

    panel: Panel
    domain: Domain
    epoch: int = 1
    chain_id: int = 1337
    _count: int = 0

    @property
    def quorum(self) -> int:
        return -(-2 * len(self.panel.secrets) // 3)

    def fresh_proposal(self) -> bytes:
        self._count += 1
        return keccak(b"proposal" + self.epoch.to_bytes(8, "big") + self._count.to_bytes(8, "big"))

    def leaf(self, target: str, function: bytes, digest: bytes, chunk: int = 0, chunks: int = 1) -> bytes:
        return merkle.action_leaf(self.chain_id, bytes.fromhex(target[2:]), function, chunk, chunks, digest)

    def actions(
        self,
        target: str,
        function: bytes,
        digests: Sequence[bytes],
        *,
        proposal: bytes | None = None,
        voters: Iterable[int] | None = None,
    ) -> list[tuple[Any, ...]]:
        """One certified Action for each digest: the chunks of one proposal."""
        leaves = [
            self.leaf(target, function, digest, chunk, len(digests)) for chunk, digest in enumerate(digests)
        ]
        tree = merkle.MerkleTree(leaves)
        chosen = range(self.quorum) if voters is None else voters
        name = self.fresh_proposal() if proposal is None else proposal
        executor = (self.chain_id, target)
        certificate = self.panel.certificate(self.domain, executor, self.epoch, name, tree.root, chosen)
        return [(certificate, chunk, len(digests), list(tree.proof(chunk))) for chunk in range(len(digests))]

    def action(self, target: str, function: bytes, digest: bytes, **options: Any) -> tuple[Any, ...]:
        return self.actions(target, function, [digest], **options)[0]


@dataclass
class Model:
    """The scene's knowledge of a published model."""

    position: Position
    ch: int
    uri: Uri
    owner: bytes
    references: tuple[Position, ...]
    version: int = 0


@dataclass
class Block:
    """The scene's knowledge of an appended block."""

    parent_hash: bytes
    ch: int
    root: bytes
    timestamp: int
    count: int
    version: int = 0


@dataclass
class LiveScene:
    """The content of a LiveChain at `address`; makes and remembers blocks and redactions."""

    address: str
    panel: Panel
    chain_id: int = 1337
    rng: SeededRng = field(default_factory=lambda: SeededRng(b"live scene"))
    models: dict[int, Model] = field(default_factory=dict)
    blocks: dict[int, Block] = field(default_factory=dict)

    @property
    def contract(self) -> bytes:
        return bytes.fromhex(self.address[2:])

    @property
    def head(self) -> bytes:
        if not self.blocks:
            return payload.genesis_block_hash(self.chain_id, self.contract)
        block = self.blocks[len(self.blocks)]
        return payload.block_hash(block.parent_hash, block.ch, block.root, block.timestamp)

    def label(self, position: int) -> bytes:
        return chameleon.label(self.chain_id, self.contract, position)

    def message(self, model: Model, version: int, uri: Uri) -> bytes:
        return chameleon.message(
            version, payload.transaction_payload(uri, model.owner, payload.references_hash(model.references))
        )

    def header_message(self, block: Block, version: int) -> bytes:
        content = payload.header_payload(block.parent_hash, block.root, block.timestamp, block.count)
        return chameleon.message(version, content)

    def fresh_uri(self) -> Uri:
        return Uri(self.rng(32), Codec.RAW)

    def block(self, references: Sequence[Sequence[int]], timestamp: int = 1_700_000_000) -> tuple[Any, ...]:
        """The ABI's NewBlock with one model for each list of packed references."""
        height = len(self.blocks) + 1
        publications = []
        for index, packed in enumerate(references):
            listed = tuple(Position.unpack(value) for value in packed)
            model = Model(Position(height, index), 0, self.fresh_uri(), self.rng(20), listed)
            label = self.label(model.position.packed)
            message = self.message(model, 0, model.uri)
            model.ch, opening = chameleon.hash_message(self.panel.key, label, message)
            publications.append(publication(model, opening))
            self.models[model.position.packed] = model
        leaves = [payload.block_leaf(Position(height, i), value[0]) for i, value in enumerate(publications)]
        root = merkle.root(leaves) if leaves else bytes(32)
        block = Block(self.head, 0, root, timestamp, len(publications))
        label = self.label(Position.of_header(height).packed)
        block.ch, opening = chameleon.hash_message(self.panel.key, label, self.header_message(block, 0))
        value = (block.parent_hash, timestamp, block.ch, (opening.px, opening.s), publications)
        self.blocks[height] = block
        return value

    def update(self, position: int, uri: Uri | None = None) -> tuple[Any, ...]:
        """The ABI's Update of one model to its next version."""
        model = self.models[position]
        chosen = uri or self.fresh_uri()
        message = self.message(model, model.version + 1, chosen)
        opening = chameleon.collide(self.panel.trapdoor, self.label(position), message, model.ch, self.rng)
        return (position, model.version + 1, chosen.digest, int(chosen.codec), (opening.px, opening.s))

    def header_update(self, height: int) -> tuple[Any, ...]:
        """The ABI's HeaderUpdate of one header to its next version."""
        block = self.blocks[height]
        label = self.label(Position.of_header(height).packed)
        message = self.header_message(block, block.version + 1)
        opening = chameleon.collide(self.panel.trapdoor, label, message, block.ch, self.rng)
        return (height, block.version + 1, (opening.px, opening.s))

    def redaction(self, positions: Sequence[int]) -> tuple[list[Any], list[Any]]:
        """Updates of the models at `positions`, and of the headers of their blocks."""
        heights = sorted({position >> 32 for position in positions})
        return [self.update(position) for position in positions], [self.header_update(h) for h in heights]

    def settle(self, updates: Sequence[Any], headers: Sequence[Any]) -> None:
        """Remembers an executed redaction."""
        for position, version, uri, codec, _ in updates:
            self.models[position].version = version
            self.models[position].uri = Uri(uri, Codec(codec))
        for height, version, _ in headers:
            self.blocks[height].version = version


def filed_content(by: str, request: bytes, codec: int, blocks: int, height: int) -> bytes:
    """The registry's stored content of a request."""
    types = ["address", "bytes32", "uint8", "uint64", "uint32"]
    return digest(types, [by, request, codec, blocks, height])[:24]


def decision_on_request(number: int, content: bytes, admitted: bool) -> bytes:
    return digest(["uint32", "bytes24", "bool"], [number, content, admitted])


def block_digest(new_block: Sequence[Any]) -> bytes:
    return digest([NEW_BLOCK], [new_block])


def redaction_digest(updates: Sequence[Any], headers: Sequence[Any]) -> bytes:
    return digest([f"{UPDATE}[]", f"{HEADER_UPDATE}[]"], [updates, headers])


def records_digest(head: bytes, timestamp: int, records: Sequence[Any]) -> bytes:
    return digest(["bytes32", "uint64", f"{RECORD}[]"], [head, timestamp, records])


def publication(model: Model, opening: Opening) -> tuple[Any, ...]:
    packed = [reference.packed for reference in model.references]
    place = (opening.px, opening.s)
    return (model.ch, place, model.uri.digest, int(model.uri.codec), _hex(model.owner), packed)


def _hex(address: bytes) -> str:
    return str(to_checksum_address(address))
