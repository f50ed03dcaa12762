# SPDX-License-Identifier: Apache-2.0
"""The worked example of a threshold collision: 3 of 4, signers 1, 2 and 4."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.threshold import dkg, nonces, signing
from blockful_py.crypto.threshold.keys import KeyShare, evaluate_public, evaluate_secret, lagrange
from blockful_py.crypto.threshold.messages import NonceCommitments, SignatureShares, Task
from blockful_py.crypto.threshold.signing import ThresholdSigner, aggregate, combine
from blockful_py.errors import CheaterError
from blockful_py.types import Opening
from tests.crypto.vectors import VECTORS, data, number

GIVEN = VECTORS["threshold"][0]
ITEM = GIVEN["items"][0]
SIGNERS: list[int] = GIVEN["S"]
VERIFICATION = tuple(curve.decompress(data(GIVEN["Yi"][str(i)])) for i in range(1, GIVEN["n"] + 1))
SHARES = {
    i: KeyShare(
        i,
        GIVEN["t"],
        GIVEN["n"],
        number(GIVEN["shares"][str(i)]),
        curve.decode(data(GIVEN["Y"])),
        VERIFICATION,
    )
    for i in range(1, GIVEN["n"] + 1)
}
KEY = SHARES[1].public
TASK = Task(data(ITEM["label"]), data(ITEM["m"]), number(ITEM["h"]))
OPENING = Opening(number(ITEM["px"]), number(ITEM["s"]))


def commitments() -> list[NonceCommitments]:
    given = ((i, ITEM["nonces"][str(i)]) for i in SIGNERS)
    points = ((i, curve.decompress(data(n["D"])), curve.decompress(data(n["E"]))) for i, n in given)
    return [NonceCommitments(i, b"s", ((d, e),)) for i, d, e in points]


def signature_shares() -> list[SignatureShares]:
    """Each signer answers with the nonces of the example."""
    asked = aggregate(KEY, commitments())
    found = []
    for i in SIGNERS:
        signer, pair = ThresholdSigner(SHARES[i]), ITEM["nonces"][str(i)]
        signer.nonces.put(nonces.OWN_PROCESS, (b"s", 0), [(number(pair["d"]), number(pair["e"]))])
        found.append(signer.sign([TASK], asked))
    return found


def test_domain_separation_tags() -> None:
    tags = VECTORS["dst"]
    assert data(tags["DST_RHO"]) == signing.DST_RHO
    assert data(tags["DST_NON"]) == nonces.DST_NONCE
    assert data(tags["DST_POP"]) == dkg.DST_POSSESSION


def test_shares_of_the_polynomial() -> None:
    coefficients = [number(value) for value in GIVEN["coeffs"]]
    committed = [curve.multiply_base(value) for value in coefficients]
    assert KEY.key_id == data(GIVEN["keyId"])
    for i, share in SHARES.items():
        assert evaluate_secret(coefficients, i) == share.secret
        assert evaluate_public(committed, i) == VERIFICATION[i - 1]


def test_weights() -> None:
    assert {i: lagrange(SIGNERS, i) for i in SIGNERS} == {
        int(i): number(value) for i, value in GIVEN["lambda"].items()
    }
    assert keccak(b"".join(i.to_bytes(4, "big") for i in SIGNERS)) == data(GIVEN["set_hash"])


def test_aggregated_nonces() -> None:
    ((d, e),) = aggregate(KEY, commitments()).pairs
    assert (curve.compress(d), curve.compress(e)) == (data(ITEM["D"]), data(ITEM["E"]))


def test_signature_shares_and_opening() -> None:
    shares = signature_shares()
    assert {one.signer: one.values[0] for one in shares} == {int(i): number(z) for i, z in ITEM["z"].items()}
    asked = aggregate(KEY, commitments())
    assert combine(KEY, [TASK], commitments(), asked, shares) == (OPENING,)
    assert chameleon.verify(KEY.group_key, TASK.label, TASK.message, TASK.h, OPENING)


def test_the_cheater_of_the_example_is_named() -> None:
    case = GIVEN["blame_test"]
    shares = [
        replace(one, values=(number(case["z"]),)) if one.signer == case["signer"] else one
        for one in signature_shares()
    ]
    with pytest.raises(CheaterError) as caught:
        combine(KEY, [TASK], commitments(), aggregate(KEY, commitments()), shares)
    assert list(caught.value.members) == case["blamed"]
