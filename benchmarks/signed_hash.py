# SPDX-License-Identifier: Apache-2.0
"""The chameleon hash beside the one that docs/explanation/chameleon-hash.md falls back on: gas and time.

    python -m benchmarks.signed_hash [--samples 100]

The fallback commits to the first message by keccak256 and signs every later one.  Gas is of the function
alone, and of `eth_estimateGas` for a call, on a Ganache of its own; microseconds are CPU time of one process,
medians.  Each opening is checked in Python and on the chain, and refused for another message.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from web3 import HTTPProvider, Web3

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.curve import N
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.randomness import SeededRng
from blockful_py.types import Opening, Point, Rng
from scripts.toolchain.solc import compile_files
from tests.contracts.node import ganache

DST_COMMIT = keccak(b"BlockFUL/signed hash/v1/commit")
DST_SIGN = keccak(b"BlockFUL/signed hash/v1/sign")


def committed(label: bytes, message: bytes, salt: bytes) -> bytes:
    """h = H(DST_commit || L || m || salt)."""
    return keccak(DST_COMMIT + label + message + salt)


def challenge(key_id: bytes, label: bytes, message: bytes, h: bytes, px: int) -> int:
    """c = H(DST_sign || keyId || L || m || h || P.x) mod n."""
    return int.from_bytes(keccak(DST_SIGN + key_id + label + message + h + px.to_bytes(32, "big")), "big") % N


def sign(secret: int, key_id: bytes, label: bytes, message: bytes, h: bytes, rng: Rng) -> Opening:
    """sG = cP + Y: Schnorr's signature (P, s/c) with the challenge 1/c."""
    while True:
        k = curve.random_scalar(rng)
        point = curve.multiply_base(k)
        c = challenge(key_id, label, message, h, point.x)
        if point.x < N and c != 0:
            return Opening(point.x, curve.multiply_add(k, N - c if point.y & 1 else c, secret))


def signed(key: Point, label: bytes, message: bytes, h: bytes, opening: Opening) -> bool:
    """Whether t members opened h to the message."""
    c = challenge(curve.key_id(key), label, message, h, opening.px)
    return curve.recover(opening.px, N - c * opening.px % N, N - opening.s * opening.px % N) == key


def microseconds(operation: Callable[[], object], count: int = 300, repeats: int = 9) -> float:
    found = []
    for _ in range(repeats):
        start = process_time()
        for _ in range(count):
            operation()
        found.append(1e6 * (process_time() - start) / count)
    return median(found)


def deploy(w3: Web3, file: str, name: str) -> Any:
    artifact = compile_files(file)[name]
    contract = w3.eth.contract(abi=artifact["abi"], bytecode=artifact["bytecode"])
    hashed = contract.constructor().transact({"from": w3.eth.accounts[0], "gas": 10_000_000})
    address = w3.eth.wait_for_transaction_receipt(hashed)["contractAddress"]
    return w3.eth.contract(address=address, abi=artifact["abi"])


def gas(samples: int) -> dict[str, dict[str, int]]:
    """Largest figures over random openings."""
    rng = SeededRng(b"signed hash")
    secret, key = chameleon.keygen(rng)
    key_id = curve.key_id(key)
    found: dict[str, dict[str, list[int]]] = {}

    def note(name: str, alone: Any, whole: Any, *given: Any) -> None:
        kept = found.setdefault(name, {"function": [], "estimate": []})
        kept["function"].append(alone(*given).call())
        kept["estimate"].append(whole(*given).estimate_gas())

    with ganache() as url:
        w3 = Web3(HTTPProvider(url))
        ours = deploy(w3, "tests/contracts/solidity/Harness.sol", "Harness").functions
        other = deploy(w3, "benchmarks/contracts/SignedHash.sol", "SignedHash").functions
        for _ in range(samples):
            label, message, later, salt = (rng(32) for _ in range(4))
            h, first = chameleon.hash_message(key, label, message)
            second = chameleon.collide(secret, label, later, h, rng)
            for to, opening in ((message, first), (later, second)):
                note("chameleon hash", ours.gasOfVerify, ours.verify, (key_id, label, to, h, *_two(opening)))
            digest = committed(label, message, salt)
            opening = sign(secret, key_id, label, later, digest, rng)
            assert signed(key, label, later, digest, opening)
            assert not signed(key, label, message, digest, opening)
            given = (key_id, label, later, digest, *_two(opening))
            assert not other.signed(key_id, label, message, digest, *_two(opening)).call()
            assert not other.committed(label, later, digest, salt).call()
            note("fallback, committed", other.gasOfCommitted, other.committed, label, message, digest, salt)
            note("fallback, signed", other.gasOfSigned, other.signed, *given)
    return {name: {what: max(each) for what, each in kept.items()} for name, kept in found.items()}


def _two(opening: Opening) -> tuple[int, int]:
    return opening.px, opening.s


def times() -> dict[str, dict[str, float]]:
    """CPU microseconds of one holder of the key: the first opening, a later one, and checking that."""
    rng = SeededRng(b"signed hash times")
    secret, key = chameleon.keygen(rng)
    key_id = curve.key_id(key)
    label, message, later, salt = (rng(32) for _ in range(4))
    h, _ = chameleon.hash_message(key, label, message)
    collision = chameleon.collide(secret, label, later, h, rng)
    digest = committed(label, message, salt)
    opening = sign(secret, key_id, label, later, digest, rng)
    return {
        "chameleon hash": {
            "hash": microseconds(lambda: chameleon.hash_message(key, label, message)),
            "later opening": microseconds(
                lambda: chameleon.collide_with(secret, key_id, label, later, h, rng)
            ),
            "check": microseconds(lambda: chameleon.verify(key, label, later, h, collision)),
        },
        "fallback": {
            "hash": microseconds(lambda: committed(label, message, rng(32))),
            "later opening": microseconds(lambda: sign(secret, key_id, label, later, digest, rng)),
            "check": microseconds(lambda: signed(key, label, later, digest, opening)),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=100, help="openings of each kind (default 100)")
    options = parser.parse_args()
    print(json.dumps({"gas": gas(options.samples), "microseconds": times()}, indent=2))


if __name__ == "__main__":
    main()
