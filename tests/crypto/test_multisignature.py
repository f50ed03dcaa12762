# SPDX-License-Identifier: Apache-2.0
"""Signatures of many under the sum of their keys: what holds, who is blamed, and what does not carry over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockful_py.crypto import curve, multisignature
from blockful_py.crypto.multisignature import NoncePoints, SchnorrSignature, SigningRound
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import CheaterError, CryptoError, InvalidKeyError
from blockful_py.types import Point

DIGEST = b"\x11" * 32


class Signers:
    """As many as `size`, with their nonces for one signature."""

    def __init__(self, size: int, seed: bytes = b"signers") -> None:
        rng = SeededRng(seed)
        self.secrets = [curve.random_scalar(rng) for _ in range(size)]
        self.keys = [curve.multiply_base(secret) for secret in self.secrets]
        self.pairs = [(curve.random_scalar(rng), curve.random_scalar(rng)) for _ in range(size)]
        self.nonces: list[NoncePoints] = [
            (curve.multiply_base(d), curve.multiply_base(e)) for d, e in self.pairs
        ]
        self.key = multisignature.total(self.keys)

    def begun(self, digest: bytes = DIGEST) -> SigningRound:
        begun = multisignature.begin(self.key, digest, self.nonces)
        assert begun is not None
        return begun

    def responses(self, digest: bytes = DIGEST) -> list[int]:
        begun = self.begun(digest)
        parts = zip(self.secrets, self.pairs, strict=True)
        return [multisignature.respond(secret, pair, begun) for secret, pair in parts]

    def sign(self, digest: bytes = DIGEST) -> SchnorrSignature:
        return multisignature.combine(self.keys, digest, self.nonces, self.responses(digest))


@pytest.mark.parametrize("size", [1, 2, 4, 67])
def test_all_signers_together_sign_under_the_sum_of_their_keys(size: int) -> None:
    signers = Signers(size)
    signature = signers.sign()
    assert multisignature.verify(signers.key, DIGEST, signature)
    assert not multisignature.verify(signers.key, b"\x12" * 32, signature)
    if size > 1:
        assert not multisignature.verify(multisignature.total(signers.keys[1:]), DIGEST, signature)


@given(s=st.integers(0, 2**256 - 1), nonce=st.binary(min_size=20, max_size=20))
def test_nothing_else_is_a_signature(s: int, nonce: bytes) -> None:
    signers = Signers(3)
    signature = signers.sign()
    assert not multisignature.verify(signers.key, DIGEST, replace(signature, s=s))
    assert not multisignature.verify(signers.key, DIGEST, replace(signature, nonce=nonce))


def test_one_value_has_one_encoding() -> None:
    signers = Signers(3)
    signature = signers.sign()
    for s in (0, curve.N, signature.s + curve.N, curve.N - signature.s):
        assert not multisignature.verify(signers.key, DIGEST, replace(signature, s=s))


def test_wrong_responses_are_traced_to_their_signers() -> None:
    signers = Signers(5)
    responses = signers.responses()
    responses[1], responses[4] = responses[1] ^ 1, 0
    with pytest.raises(CheaterError) as blamed:
        multisignature.combine(signers.keys, DIGEST, signers.nonces, responses)
    assert blamed.value.members == (2, 5)


def test_nonces_that_cancel_each_other_give_no_signature() -> None:
    signers = Signers(2)
    d, e = signers.nonces[0]
    signers.nonces[1] = (curve.negate(d), e)
    assert multisignature.begin(signers.key, DIGEST, signers.nonces) is None
    with pytest.raises(CryptoError, match="take others"):
        multisignature.combine(signers.keys, DIGEST, signers.nonces, [1, 1])
    with pytest.raises(InvalidKeyError):
        multisignature.begin(signers.key, DIGEST, [(Point(1, 1), e)])


def test_a_key_that_cancels_the_others_cannot_prove_that_it_is_possessed() -> None:
    """The rogue key X' = X - sum of the honest keys signs alone for all, but its holder does not know its
    secret.
    """
    honest, rogue = Signers(3), Signers(1, b"rogue")
    cancelling = curve.add(rogue.key, curve.negate(honest.key))
    everybody = multisignature.total([*honest.keys, cancelling])
    assert multisignature.verify(everybody, DIGEST, multisignature.sign(rogue.secrets[0], DIGEST))
    assert not multisignature.verify(cancelling, DIGEST, multisignature.sign(rogue.secrets[0], DIGEST))


def test_a_single_signer_signs_alone() -> None:
    signers = Signers(1)
    signature = multisignature.sign(signers.secrets[0], DIGEST)
    assert multisignature.verify(signers.key, DIGEST, signature)
    assert multisignature.sign(signers.secrets[0], DIGEST) != signature
