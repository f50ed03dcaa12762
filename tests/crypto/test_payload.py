# SPDX-License-Identifier: Apache-2.0
"""Against `eth_abi`, which knows Solidity's encoding independently."""

from __future__ import annotations

import pytest
from eth_abi.abi import encode
from eth_abi.packed import encode_packed

from blockful_py.crypto import payload
from blockful_py.crypto.keccak import keccak
from blockful_py.types import ArchiveReason, ArchiveRecord, Codec, Position, Uri

URI = Uri(keccak(b"uri"), Codec.DAG_PB)
OWNER = b"\xab" * 20
REFERENCES = (Position(1, 0), Position(1, 9), Position(2**32 - 1, 2**32 - 1))


def test_references_hash() -> None:
    packed = [reference.packed for reference in REFERENCES]
    assert payload.references_hash(REFERENCES) == keccak(encode_packed(["uint256[]"], [packed]))
    assert payload.references_hash(()) == keccak(b"")


def test_transaction_payload() -> None:
    digest = payload.references_hash(REFERENCES)
    encoded = encode(["bytes32", "uint8", "address", "bytes32"], [URI.digest, 0x70, OWNER, digest])
    assert payload.transaction_payload(URI, OWNER, digest) == keccak(encoded)


def test_header_payload() -> None:
    parent, root = keccak(b"parent"), keccak(b"root")
    encoded = encode(["bytes32", "bytes32", "uint64", "uint32"], [parent, root, 1_700_000_000, 50])
    assert payload.header_payload(parent, root, 1_700_000_000, 50) == keccak(encoded)


def test_block_hash() -> None:
    parent, root, ch = keccak(b"parent"), keccak(b"root"), 2**200 + 5
    encoded = encode(["bytes32", "uint256", "bytes32", "uint64"], [parent, ch, root, 9])
    assert payload.block_hash(parent, ch, root, 9) == keccak(encoded)


def test_genesis_block_and_archive_head() -> None:
    expected = keccak(encode(["uint256", "address"], [1338, OWNER]))
    assert payload.genesis_block_hash(1338, OWNER) == expected
    assert payload.archive_genesis_head(1338, OWNER) == expected


def test_block_leaf() -> None:
    position = Position(3, 2)
    encoded = encode(["uint256", "bytes32"], [3 << 32 | 2, (77).to_bytes(32, "big")])
    assert payload.block_leaf(position, 77) == keccak(keccak(encoded))


def test_archive_head_step() -> None:
    record = ArchiveRecord(Position(3, 2), 4, ArchiveReason.SUPERSEDED, URI)
    kinds = ["bytes32", "uint64", "uint64", "uint32", "uint8", "uint8", "bytes32", "uint64"]
    encoded = encode(kinds, [keccak(b"head"), 11, 3 << 32 | 2, 4, 1, 0x70, URI.digest, 99])
    assert payload.archive_head_step(keccak(b"head"), 11, record, 99) == keccak(encoded)


def test_an_owner_or_contract_has_20_bytes() -> None:
    for wrong in (bytes(19), bytes(32)):
        with pytest.raises(ValueError, match="20 bytes"):
            payload.transaction_payload(URI, wrong, bytes(32))
        with pytest.raises(ValueError, match="20 bytes"):
            payload.genesis_block_hash(1, wrong)
