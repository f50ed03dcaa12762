# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from eth_account.messages import encode_typed_data

from blockful_py.crypto import eip712
from blockful_py.crypto.eip712 import Decision, Domain, ModelStatement, UnlearningRequest, typed
from blockful_py.crypto.keccak import keccak

DOMAIN = Domain(1337, b"\xcc" * 20)
DOMAIN_TYPE = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
    {"name": "verifyingContract", "type": "address"},
]


@dataclass(frozen=True)
class Wallet:
    account: bytes = typed("address")
    label: str = typed("string")


@dataclass(frozen=True)
class Asset:
    balance_change: int = typed("int128")
    kind: bytes = typed("bytes4")


@dataclass(frozen=True)
class Everything:
    to_wallet: Wallet = typed(Wallet)
    assets: Asset = typed(Asset)
    is_final: bool = typed("bool")
    notes: tuple[str, ...] = typed("string[]")
    pair: tuple[int, int] = typed("uint8[2]")
    matrix: tuple[tuple[int, int], ...] = typed("uint256[2][]")
    blob: bytes = typed("bytes")


SAMPLES: dict[str, tuple[Any, dict[str, Any], dict[str, list[tuple[str, str]]]]] = {
    "decision": (
        Decision(2**64 - 1, keccak(b"p"), keccak(b"c")),
        {"epoch": 2**64 - 1, "proposal": keccak(b"p"), "contentHash": keccak(b"c")},
        {"Decision": [("uint64", "epoch"), ("bytes32", "proposal"), ("bytes32", "contentHash")]},
    ),
    "model statement": (
        ModelStatement(keccak(b"w"), keccak(b"r"), keccak(b"t"), "r5 — é", 1_700_000_000),
        {
            "weights": keccak(b"w"),
            "references": keccak(b"r"),
            "training": keccak(b"t"),
            "name": "r5 — é",
            "created": 1_700_000_000,
        },
        {
            "ModelStatement": [
                ("bytes32", "weights"),
                ("bytes32", "references"),
                ("bytes32", "training"),
                ("string", "name"),
                ("uint64", "created"),
            ]
        },
    ),
    "unlearning request": (
        UnlearningRequest(("r5 at 1:4", "r7 at 2:0"), (3, 8), (), ("5:17",), "parallel", "retrain", 7),
        {
            "starts": ["r5 at 1:4", "r7 at 2:0"],
            "classes": [3, 8],
            "clients": [],
            "samples": ["5:17"],
            "paradigm": "parallel",
            "method": "retrain",
            "created": 7,
        },
        {
            "UnlearningRequest": [
                ("string[]", "starts"),
                ("uint256[]", "classes"),
                ("uint256[]", "clients"),
                ("string[]", "samples"),
                ("string", "paradigm"),
                ("string", "method"),
                ("uint64", "created"),
            ]
        },
    ),
    "every kind": (
        Everything(
            Wallet(b"\x01" * 20, "w"),
            Asset(-5, b"abcd"),
            True,
            ("a", "", "b"),
            (1, 255),
            ((1, 2), (3, 4)),
            b"\x00\x01",
        ),
        {
            "toWallet": {"account": "0x" + "01" * 20, "label": "w"},
            "assets": {"balanceChange": -5, "kind": b"abcd"},
            "isFinal": True,
            "notes": ["a", "", "b"],
            "pair": [1, 255],
            "matrix": [[1, 2], [3, 4]],
            "blob": b"\x00\x01",
        },
        {
            "Everything": [
                ("Wallet", "toWallet"),
                ("Asset", "assets"),
                ("bool", "isFinal"),
                ("string[]", "notes"),
                ("uint8[2]", "pair"),
                ("uint256[2][]", "matrix"),
                ("bytes", "blob"),
            ],
            "Wallet": [("address", "account"), ("string", "label")],
            "Asset": [("int128", "balanceChange"), ("bytes4", "kind")],
        },
    ),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_equals_eth_account(name: str) -> None:
    value, message, types = SAMPLES[name]
    named = {struct: [{"type": t, "name": n} for t, n in members] for struct, members in types.items()}
    signable = encode_typed_data(
        full_message={
            "types": {"EIP712Domain": DOMAIN_TYPE, **named},
            "primaryType": type(value).__name__,
            "domain": {
                "name": "BlockFUL",
                "version": "1",
                "chainId": 1337,
                "verifyingContract": "0x" + "cc" * 20,
            },
            "message": message,
        }
    )
    assert DOMAIN.separator() == signable.header
    assert eip712.hash_struct(value) == signable.body
    assert eip712.digest(DOMAIN, value) == keccak(b"\x19\x01" + signable.header + signable.body)


@pytest.mark.parametrize("name", SAMPLES)
def test_wallets_are_shown_what_is_signed(name: str) -> None:
    value = SAMPLES[name][0]
    shown = json.loads(json.dumps(eip712.typed_data(DOMAIN, value)))
    signable = encode_typed_data(full_message=shown)
    assert eip712.digest(DOMAIN, value) == keccak(b"\x19\x01" + signable.header + signable.body)


def test_numbers_that_wallets_may_round_are_shown_as_text() -> None:
    shown = eip712.typed_data(DOMAIN, Decision(2**60, bytes(32), bytes(32)))
    assert shown["message"]["epoch"] == str(2**60)
    assert eip712.typed_data(DOMAIN, Decision(7, bytes(32), bytes(32)))["message"]["epoch"] == 7


def test_type_of_a_decision() -> None:
    assert eip712.encode_type(Decision) == "Decision(uint64 epoch,bytes32 proposal,bytes32 contentHash)"


def test_used_structs_follow_by_name() -> None:
    encoded = eip712.encode_type(Everything)
    assert encoded.endswith("Asset(int128 balanceChange,bytes4 kind)Wallet(address account,string label)")


def test_decision_digest_binds_every_part() -> None:
    parts = (1, keccak(b"p"), keccak(b"c"))
    digests = {
        eip712.decision_digest(DOMAIN, *parts),
        eip712.decision_digest(DOMAIN, 2, *parts[1:]),
        eip712.decision_digest(DOMAIN, 1, keccak(b"q"), parts[2]),
        eip712.decision_digest(DOMAIN, 1, parts[1], keccak(b"d")),
        eip712.decision_digest(Domain(1338, b"\xcc" * 20), *parts),
        eip712.decision_digest(Domain(1337, b"\xcd" * 20), *parts),
    }
    assert len(digests) == 6


@pytest.mark.parametrize(
    "value",
    [
        Decision(2**64, bytes(32), bytes(32)),
        Decision(-1, bytes(32), bytes(32)),
        Decision(1, bytes(31), bytes(32)),
        Wallet(bytes(19), ""),
        Asset(2**127, b"abcd"),
        Asset(-(2**127) - 1, b"abcd"),
    ],
)
def test_values_out_of_their_type_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is not a"):
        eip712.hash_struct(value)


def test_arrays_of_another_length_and_other_structs_are_refused() -> None:
    asset, wallet = Asset(1, b"abcd"), Wallet(bytes(20), "")
    with pytest.raises(ValueError, match="has 2 items"):
        eip712.hash_struct(Everything(wallet, asset, True, (), (1, 2, 3), (), b""))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected a Wallet"):
        eip712.hash_struct(Everything(asset, asset, True, (), (1, 2), (), b""))  # type: ignore[arg-type]
