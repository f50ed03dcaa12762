# SPDX-License-Identifier: Apache-2.0
"""Python's VRF proofs against the library that verifies them on chain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blockful_py.crypto import curve, vrf
from blockful_py.crypto.curve import N, P
from blockful_py.crypto.randomness import SeededRng
from scripts.toolchain.solc import compile_files
from tests.contracts.node import call

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "vrf.json").read_text())
PROOFS = 50
Case = tuple[int, int, vrf.VrfProof]


@pytest.fixture(scope="module")
def verifier(module_isolation: None) -> Any:
    from brownie import Contract, accounts

    built = compile_files("tests/contracts/solidity/VrfHarness.sol")["VrfHarness"]
    transaction = accounts[0].transfer(data=built["bytecode"], silent=True)
    return Contract.from_abi("VrfHarness", transaction.contract_address, built["abi"])


def cases(count: int) -> list[Case]:
    """(secret, alpha, proof), half of them with a generator."""
    rng = SeededRng(b"vrf on chain")
    made = []
    for n in range(count):
        secret, alpha = curve.random_scalar(rng), int.from_bytes(rng(32), "big")
        made.append((secret, alpha, vrf.prove(secret, alpha, rng if n % 2 else None)))
    return made


def chain_form(case: Case) -> list[Any]:
    secret, alpha, proof = case
    return shown(proof.for_chain(curve.multiply_base(secret), alpha))


def shown(proof: vrf.ChainProof) -> list[Any]:
    return [*proof[:5], "0x" + proof[5].hex(), *proof[6:]]


def refused(verifier: Any, proof: list[Any], alpha: int) -> str:
    """The node's reason for the revert; empty for an accepted proof."""
    from brownie import web3

    request = {"to": verifier.address, "data": verifier.randomValue.encode_input(proof, alpha)}
    answer: Any = call(web3.provider.endpoint_uri, "eth_call", request, "latest")
    return str(answer.get("error", {}).get("message", ""))


def test_proofs_and_outputs_agree(verifier: Any) -> None:
    made = cases(PROOFS)
    for start in range(0, PROOFS, 10):
        part = made[start : start + 10]
        values = verifier.randomValues([chain_form(case) for case in part], [case[1] for case in part])
        assert list(values) == [vrf.output(proof) for _, _, proof in part]


def test_the_vectors_hold_on_chain(verifier: Any) -> None:
    for given in VECTORS:
        secret, alpha = int(given["secret"], 16), int(given["alpha"], 16)
        proof = chain_form((secret, alpha, vrf.prove(secret, alpha)))
        assert verifier.randomValue(proof, alpha) == int(given["output"], 16)


def test_hashes_to_the_curve_agree(verifier: Any) -> None:
    key = curve.multiply_base(5)
    for alpha in (*range(20), N, P, 2**256 - 1):
        point = vrf.hash_to_curve(key, alpha)
        assert tuple(verifier.hashed((key.x, key.y), alpha)) == (point.x, point.y)


def test_every_forged_field_is_refused_but_the_seed(verifier: Any) -> None:
    (case,) = cases(1)
    _, alpha, proof = case
    honest = chain_form(case)
    assert not refused(verifier, honest, alpha)
    assert "revert" in refused(verifier, honest, alpha ^ 1)
    other = chain_form(cases(2)[1])
    for field in (0, 1, 2, 3, 5, 6, 7, 8):
        assert "revert" in refused(verifier, [*honest[:field], other[field], *honest[field + 1 :]], alpha), (
            field
        )
    for field in (2, 3, 8):
        bumped = [*honest[:field], honest[field] + 1, *honest[field + 1 :]]
        assert "revert" in refused(verifier, bumped, alpha), field
    for field in (0, 1, 6, 7):
        x, y = honest[field]
        for point in ((x, P - y), (x, y + 1), (0, 0)):
            forged = [*honest[:field], point, *honest[field + 1 :]]
            assert "revert" in refused(verifier, forged, alpha), (field, point)
    for field in (2, 3):
        zero = [*honest[:field], 0, *honest[field + 1 :]]
        assert "revert" in refused(verifier, zero, alpha), field
    assert "revert" in refused(verifier, [*honest[:5], "0x" + "00" * 20, *honest[6:]], alpha)
    assert not refused(verifier, [*honest[:4], 12345, *honest[5:]], alpha)
    assert verifier.randomValue([*honest[:4], 12345, *honest[5:]], alpha) == vrf.output(proof)


def test_both_sides_refuse_the_same_gamma_of_the_holder_of_the_key(verifier: Any) -> None:
    secret, alpha, _ = cases(1)[0]
    key = curve.multiply_base(secret)
    point = vrf.hash_to_curve(key, alpha)
    gamma, k = curve.multiply(point, secret % (N - 1) + 1), 7
    v, u = curve.multiply(point, k), curve.multiply_base(k)
    c = vrf._challenge(point, key, gamma, v, u)
    s = (k - c * secret) % N
    c_gamma, s_hash = curve.multiply(gamma, c % N), curve.multiply(point, s)
    z_inverse = pow(s_hash.x - c_gamma.x, -5, P)
    pairs = [(each.x, each.y) for each in (key, gamma, c_gamma, s_hash)]
    forged = [pairs[0], pairs[1], c, s, alpha, "0x" + curve.address(u).hex(), pairs[2], pairs[3], z_inverse]
    assert not vrf.verify(key, alpha, vrf.VrfProof(gamma, c, s))
    assert "invalid proof" in refused(verifier, forged, alpha)


def test_gas_of_a_proof(verifier: Any) -> None:
    """The hash to the curve needs two candidates on average (geometric), each with one modular power."""
    spent = [verifier.gasOfProof(chain_form(case), case[1]) for case in cases(PROOFS)]
    assert min(spent) < 25_000
    assert sum(spent) / PROOFS < 35_000
