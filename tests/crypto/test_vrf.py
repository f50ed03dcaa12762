# SPDX-License-Identifier: Apache-2.0
"""The VRF by itself; tests/contracts/test_vrf.py holds it against the library on chain."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockful_py.crypto import curve, vrf
from blockful_py.crypto.curve import G, N, P
from blockful_py.crypto.randomness import SeededRng
from blockful_py.crypto.vrf import VrfProof
from blockful_py.errors import CryptoError, InvalidKeyError
from blockful_py.types import Point
from tests.crypto import slow_curve

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "vrf.json").read_text(encoding="utf-8")
)
SECRET = 0xC0FFEE
KEY = curve.multiply_base(SECRET)
ALPHA = 2**255 + 7
PROOF = vrf.prove(SECRET, ALPHA)


@pytest.mark.parametrize("given", VECTORS, ids=lambda given: given["alpha"][:10])
def test_vectors(given: dict[str, Any]) -> None:
    secret, alpha = int(given["secret"], 16), int(given["alpha"], 16)
    proof = vrf.prove(secret, alpha)
    flat = [hex(value) for value in (proof.gamma.x, proof.gamma.y, proof.c, proof.s)]
    assert flat == [given[name] for name in ("gammaX", "gammaY", "c", "s")]
    assert hex(vrf.output(proof)) == given["output"]
    assert proof.for_chain(curve.multiply_base(secret), alpha)[5].hex() == given["uWitness"]


def test_a_proof_holds_for_its_key_and_input_only() -> None:
    assert vrf.verify(KEY, ALPHA, PROOF)
    for other in (ALPHA + 1, 0, ALPHA + 2**256, -1):
        assert not vrf.verify(KEY, other, PROOF)
    for key in (
        curve.add(KEY, G),
        curve.negate(KEY),
        Point(0, 0),
        Point(KEY.x, KEY.y + 1),
        Point(-1, 2**256),
    ):
        assert not vrf.verify(key, ALPHA, PROOF)


@pytest.mark.parametrize("alpha", [0, 1, N, P, 2**256 - 1])
@pytest.mark.parametrize("secret", [1, 2, N - 1])
def test_edges_of_keys_and_inputs(secret: int, alpha: int) -> None:
    assert vrf.verify(curve.multiply_base(secret), alpha, vrf.prove(secret, alpha))


FORGERIES: dict[str, Callable[[VrfProof], VrfProof]] = {
    "gamma is another point": lambda p: replace(p, gamma=curve.add(p.gamma, G)),
    "gamma is negated": lambda p: replace(p, gamma=curve.negate(p.gamma)),
    "gamma is off the curve": lambda p: replace(p, gamma=Point(p.gamma.x, p.gamma.y + 1)),
    "gamma is out of range": lambda p: replace(p, gamma=Point(p.gamma.x + P, p.gamma.y)),
    "c is one more": lambda p: replace(p, c=p.c + 1),
    "c is reduced or lifted": lambda p: replace(p, c=p.c + N if p.c + N < 2**256 else p.c % N + N),
    "c is zero": lambda p: replace(p, c=0),
    "c is n": lambda p: replace(p, c=N),
    "c is too large": lambda p: replace(p, c=p.c + 2**256),
    "s is one more": lambda p: replace(p, s=p.s % (N - 1) + 1),
    "s is zero": lambda p: replace(p, s=0),
    "s is not reduced": lambda p: replace(p, s=p.s + N),
    "s is negative": lambda p: replace(p, s=p.s - N),
}


@pytest.mark.parametrize("why", FORGERIES)
def test_forgeries_are_refused_without_raising(why: str) -> None:
    forged = FORGERIES[why](PROOF)
    assert forged != PROOF
    assert vrf.verify(KEY, ALPHA, forged) is False
    with pytest.raises(CryptoError, match="does not hold"):
        forged.for_chain(KEY, ALPHA)


def test_another_gamma_cannot_be_proven_by_the_holder_of_the_key() -> None:
    """Uniqueness: the prover's own equations, run on a gamma of its choice, give no valid proof."""
    point = vrf.hash_to_curve(KEY, ALPHA)
    for shift in range(1, 20):
        gamma = curve.multiply(point, SECRET + shift)
        k = shift + 1
        challenge = vrf._challenge(point, KEY, gamma, curve.multiply(point, k), curve.multiply_base(k))
        forged = VrfProof(gamma, challenge, (k - challenge * SECRET) % N)
        assert not vrf.verify(KEY, ALPHA, forged)


def test_the_output_does_not_depend_on_the_nonce() -> None:
    proofs = [PROOF, *(vrf.prove(SECRET, ALPHA, SeededRng(b"vrf", n)) for n in range(4))]
    assert len({proof.s for proof in proofs}) == len(proofs)
    assert all(vrf.verify(KEY, ALPHA, proof) for proof in proofs)
    assert len({vrf.output(proof) for proof in proofs}) == 1


def test_without_a_generator_the_proof_is_a_function_of_its_arguments() -> None:
    assert vrf.prove(SECRET, ALPHA) == PROOF
    nonces = set()
    for secret, alpha in ((SECRET, ALPHA), (SECRET, ALPHA + 1), (SECRET + 1, ALPHA)):
        proof = vrf.prove(secret, alpha)
        nonces.add((proof.s + proof.c * secret) % N)
    assert len(nonces) == 3


def test_the_nonce_is_not_the_one_of_a_signature_over_the_same_digest() -> None:
    digest = bytes(range(32))
    r, _, _ = curve.sign(SECRET, digest)
    k = curve.nonce(SECRET, digest, vrf.NONCE_PURPOSE, bytes(32))
    assert curve.multiply_base(k).x != r
    assert k != curve.nonce(SECRET, digest, b"another purpose.", bytes(32))
    assert k != curve.nonce(SECRET, digest, vrf.NONCE_PURPOSE, bytes(31) + b"\1")


@pytest.mark.parametrize("lengths", [(31, 16, 32), (32, 15, 32), (32, 16, 0)])
def test_nonces_of_other_lengths_are_an_error(lengths: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        curve.nonce(SECRET, *(bytes(length) for length in lengths))


def test_the_hash_is_on_the_curve_with_an_even_y() -> None:
    points = {vrf.hash_to_curve(KEY, alpha) for alpha in range(40)}
    assert len(points) == 40
    assert all(curve.on_curve(point) and point.y % 2 == 0 for point in points)


def test_the_witnesses_are_the_products() -> None:
    point = vrf.hash_to_curve(KEY, ALPHA)
    pk, gamma, c, s, seed, u, c_gamma, s_hash, z_inverse = PROOF.for_chain(KEY, ALPHA)
    assert (pk, gamma, c, s, seed) == (
        (KEY.x, KEY.y), (PROOF.gamma.x, PROOF.gamma.y), PROOF.c, PROOF.s, ALPHA,
    )  # fmt: skip
    assert c_gamma == slow_curve.multiply(gamma, c % N)
    assert s_hash == slow_curve.multiply((point.x, point.y), s)
    k = (s + c * SECRET) % N
    assert u == curve.address(curve.multiply_base(k))
    assert z_inverse * (s_hash[0] - c_gamma[0]) ** 5 % P == 1


@pytest.mark.parametrize("secret", [0, N, -1])
def test_secrets_out_of_range_are_refused(secret: int) -> None:
    with pytest.raises(InvalidKeyError):
        vrf.prove(secret, 1)
    with pytest.raises(InvalidKeyError):
        curve.multiply_secret(G, secret)


@pytest.mark.parametrize("alpha", [-1, 2**256])
def test_inputs_out_of_range_are_an_error(alpha: int) -> None:
    with pytest.raises(OverflowError):
        vrf.prove(SECRET, alpha)


def test_multiplying_by_a_secret_agrees_with_the_textbook() -> None:
    for scalar in (1, 2, 3, N - 1, SECRET, 2**255):
        point = curve.multiply_secret(KEY, scalar)
        assert (point.x, point.y) == slow_curve.multiply((KEY.x, KEY.y), scalar)
