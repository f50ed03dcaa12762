# SPDX-License-Identifier: Apache-2.0
"""A recipient proves what is in one box, and can be made to open no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.crypto import curve, ecies, provable_box
from blockful_py.crypto.curve import N
from blockful_py.crypto.provable_box import BoxProof
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import CryptoError
from blockful_py.types import Point

SECRET = curve.random_scalar(SeededRng(b"recipient"))
KEY = curve.multiply_base(SECRET)
OTHER = curve.random_scalar(SeededRng(b"other"))
PLAIN = b"a share"
BOX = provable_box.seal(KEY, b"context", PLAIN, SeededRng(b"ephemeral"))
PROOF = provable_box.prove(SECRET, b"context", BOX)
SIGNED_BYTES = len(BOX) - len(PLAIN) - ecies.OVERHEAD


def test_everybody_opens_a_box_by_its_proof() -> None:
    assert provable_box.unseal(SECRET, b"context", BOX) == PLAIN
    assert provable_box.is_proof(KEY, b"context", BOX, PROOF)
    assert provable_box.unseal_proven(KEY, b"context", BOX, PROOF) == PLAIN


def test_a_proof_holds_for_its_box_alone() -> None:
    for context, box, key in (
        (b"others", provable_box.seal(KEY, b"others", PLAIN, SeededRng(b"ephemeral")), KEY),
        (b"context", provable_box.seal(KEY, b"context", PLAIN), KEY),
        (b"context", provable_box.seal(KEY, b"context", b"?", SeededRng(b"ephemeral")), KEY),
        (b"context", BOX, curve.multiply_base(OTHER)),
    ):
        assert provable_box.is_proof(key, context, box, PROOF) is False


@pytest.mark.parametrize(
    "proof",
    [
        replace(PROOF, c=PROOF.c + 1),
        replace(PROOF, s=PROOF.s + 1),
        replace(PROOF, c=PROOF.c + N),
        replace(PROOF, s=0),
        replace(PROOF, point=curve.negate(PROOF.point)),
        replace(PROOF, point=Point(KEY.x, 1)),
    ],
    ids=["challenge", "response", "beyond", "zero", "negated", "off the curve"],
)
def test_a_changed_proof_does_not_hold(proof: BoxProof) -> None:
    assert not provable_box.is_proof(KEY, b"context", BOX, proof)


def test_a_recipient_cannot_prove_another_content_than_the_senders() -> None:
    """Its Diffie-Hellman point is determined: a point of another secret has no proof."""
    other = provable_box.prove(
        OTHER, b"context", provable_box.seal(curve.multiply_base(OTHER), b"context", b"")
    )
    assert not provable_box.is_proof(KEY, b"context", BOX, other)


def test_a_sender_that_borrows_anothers_ephemeral_key_learns_nothing() -> None:
    """Else the proof of its own broken box would open the box that it took the key from."""
    signed = provable_box.seal(KEY, b"theirs", b"")[:SIGNED_BYTES]
    key = BOX[SIGNED_BYTES : SIGNED_BYTES + 33]
    for broken in (BOX, BOX[:SIGNED_BYTES] + key + bytes(40), signed + key + bytes(40)):
        assert not provable_box.is_signed(KEY, b"theirs", broken)
        with pytest.raises(CryptoError, match="made for another"):
            provable_box.prove(SECRET, b"theirs", broken)


def test_a_box_that_cannot_be_decrypted_is_proven_to_be_broken() -> None:
    """Its sender signed it, and so it, not the recipient, is to blame."""
    ephemeral = curve.random_scalar(SeededRng(b"ephemeral"))
    inner = ecies.seal_under(ephemeral, KEY, b"another context", PLAIN)
    signed = provable_box.multisignature.sign(ephemeral, provable_box._digest(KEY, b"context", inner))
    box = signed.nonce + signed.s.to_bytes(32, "big") + inner
    proof = provable_box.prove(SECRET, b"context", box)
    assert provable_box.is_proof(KEY, b"context", box, proof)
    with pytest.raises(CryptoError, match="another context"):
        provable_box.unseal_proven(KEY, b"context", box, proof)


@pytest.mark.parametrize("place", [0, 25, SIGNED_BYTES, SIGNED_BYTES + 40, len(BOX) - 1])
def test_a_changed_box_is_not_its_senders(place: int) -> None:
    changed = BOX[:place] + bytes([BOX[place] ^ 1]) + BOX[place + 1 :]
    assert not provable_box.is_signed(KEY, b"context", changed)
    assert not provable_box.is_signed(KEY, b"context", BOX[:place])
