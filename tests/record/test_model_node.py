# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from blockful_py.crypto import curve
from blockful_py.errors import FormatError, WithdrawnError
from blockful_py.record.model_node import Redaction, parse_node, sign_statement
from blockful_py.record.request import Request, Start
from blockful_py.record.statement import Reference, Statement
from blockful_py.record.statement_parts import Claimed, Increment, Privacy
from blockful_py.storage.cid import cid_string, uri_of
from blockful_py.types import Codec

SECRET = 7
OWNER = curve.address(curve.multiply_base(SECRET))
CONTRACT = bytes(range(20))


PRIVACY = Privacy(epsilon=1.5, delta=1e-5, noise=1.0, clip=1.0, sample_rate=0.4, steps=60)


def _statement(**changes: Any) -> Statement:
    values: dict[str, Any] = {
        "name": "r6",
        "user": 6,
        "round": 0,
        "owner": "0x" + OWNER.hex(),
        "weights": cid_string(uri_of(b"weights", Codec.RAW)),
        "references": (Reference(name="r5", position="1:4", accuracy=0.9375),),
        "accuracy": 0.95,
        "training": {"epochs": 10},
        "created": 1_767_225_600,
    }
    return Statement(**{**values, **changes})


def test_a_node_comes_back_as_it_was() -> None:
    node = sign_statement(_statement(), SECRET, 1337, CONTRACT)
    again = parse_node(node.to_bytes())
    assert again == node
    assert again.to_bytes() == node.to_bytes()
    assert again.signer(1337, CONTRACT) == OWNER


def test_privacy_is_in_the_node_where_there_is_any() -> None:
    private = sign_statement(_statement(privacy=PRIVACY), SECRET, 1337, CONTRACT)
    assert json.loads(private.to_bytes())["statement"]["privacy"]["epsilon"] == 1.5
    again = parse_node(private.to_bytes())
    assert again.statement.privacy == PRIVACY
    assert again.signer(1337, CONTRACT) == OWNER
    without = sign_statement(_statement(), SECRET, 1337, CONTRACT)
    assert "privacy" not in json.loads(without.to_bytes())["statement"]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "r7"},
        {"user": 7},
        {"round": 1},
        {"weights": cid_string(uri_of(b"other", Codec.RAW))},
        {"references": ()},
        {"references": (Reference(name="r5", position="1:3", accuracy=0.9375),)},
        {"references": (Reference(name="r5", position="1:4", accuracy=0.5),)},
        {"accuracy": 0.96},
        {"training": {"epochs": 11}},
        {"privacy": PRIVACY},
        {"created": 1_767_225_601},
    ],
)
def test_every_field_is_signed(change: dict[str, Any]) -> None:
    node = sign_statement(_statement(), SECRET, 1337, CONTRACT)
    forged = node.model_copy(update={"statement": _statement(**change)})
    assert forged.signer(1337, CONTRACT) != OWNER


def test_a_signature_is_bound_to_its_chain_and_contract() -> None:
    node = sign_statement(_statement(), SECRET, 1337, CONTRACT)
    assert node.signer(1338, CONTRACT) != OWNER
    assert node.signer(1337, bytes(20)) != OWNER


def test_every_field_of_a_request_is_signed() -> None:
    request = Request(
        starts=(Start(name="r5", position="1:4"),),
        classes=(3,),
        paradigm="parallel",
        method="gradient_ascent",
        created=1,
    )
    changes: list[dict[str, Any]] = [
        {"starts": (Start(name="r5", position="1:5"),)},
        {"classes": (4,)},
        {"clients": (5,)},
        {"samples": ("5:17",)},
        {"paradigm": "sequential"},
        {"method": "retrain"},
        {"created": 2},
    ]
    digest = request.digest(1337, CONTRACT)
    for change in changes:
        assert request.model_copy(update=change).digest(1337, CONTRACT) != digest


@pytest.mark.parametrize(
    "change", [{"created": -1}, {"created": 1 << 64}, {"classes": (-1,)}, {"clients": (1 << 256,)}]
)
def test_a_request_with_a_number_that_no_signature_can_hold_is_none(change: dict[str, Any]) -> None:
    """Members would fail at it over and over, and decide on no other request."""
    document: dict[str, Any] = {
        "starts": (Start(name="r5", position="1:4"),),
        "paradigm": "parallel",
        "method": "gradient_ascent",
        "created": 1,
        "classes": () if "clients" in change else (3,),
    }
    with pytest.raises(ValidationError, match=r"classes|clients|created"):
        Request(**{**document, **change})


def _damaged(**changes: Any) -> bytes:
    document = json.loads(sign_statement(_statement(), SECRET, 1337, CONTRACT).to_bytes())
    return json.dumps({**document, **changes}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        _damaged(format="blockful-model/2"),
        _damaged(signature="0x00"),
        _damaged(extra=1),
        _damaged(statement={}),
        _damaged(statement={**_statement().model_dump(mode="json"), "created": 1 << 64}),
        b" " * (1 << 20) + b"{}",
    ],
)
def test_bytes_that_are_no_node_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_node(data)


def test_an_accuracy_is_signed_of_its_own_weights_alone() -> None:
    node = sign_statement(_statement(), SECRET, 1337, CONTRACT)
    request = Request(
        starts=(Start(name="r6", position="1:5"),), classes=(3,), paradigm="sequential", method="m", created=1
    )
    made = Redaction(
        version=1,
        weights=cid_string(uri_of(b"other", Codec.RAW)),
        request=request,
        claims=Claimed(ad_f=0.0, ad_r=1.0),
    )
    retrained = made.model_copy(update={"weights": node.statement.weights})
    assert node.signed_accuracy == node.statement.accuracy
    assert node.model_copy(update={"redaction": made}).signed_accuracy is None
    assert node.model_copy(update={"redaction": retrained}).signed_accuracy == node.statement.accuracy


def test_new_weights_have_claims_and_a_withdrawn_model_has_neither() -> None:
    request = Request(
        starts=(Start(name="r6", position="1:5"),), classes=(3,), paradigm="sequential", method="m", created=1
    )
    redaction = Redaction(version=1, weights=None, request=request, claims=None)
    node = sign_statement(_statement(), SECRET, 1337, CONTRACT).model_copy(update={"redaction": redaction})
    again = parse_node(node.to_bytes())
    assert (again.is_withdrawn, again.sealed) == (True, ())
    assert again.signer(1337, CONTRACT) == OWNER
    with pytest.raises(WithdrawnError, match="model r6 is withdrawn"):
        _ = again.weights
    half = json.loads(node.to_bytes())
    half["redaction"]["claims"] = {"ad_f": 0.0, "ad_r": 1.0}
    with pytest.raises(FormatError, match="a withdrawn model has neither"):
        parse_node(json.dumps(half).encode())


def test_a_clean_model_has_the_accuracies_that_were_measured() -> None:
    without = Increment(label=3, weights="b", base="00" * 32)
    assert (str(without), "claims" in without.model_dump()) == ("without class 3", False)
    measured = without.model_copy(update={"claims": Claimed(ad_f=0.125, ad_r=0.9)})
    assert str(measured) == "without class 3: AD_f 12.5%"
    assert Increment.model_validate(measured.model_dump()) == measured


@pytest.mark.parametrize(
    ("before", "after", "samples", "lost"),
    [
        (0.93, 0.476, 300, True),
        (0.93, 0.91, 300, False),
        (1.0, 0.99, 300, False),
        (0.93, 0.91, 30_000, True),
        (0.5, 0.9, 300, False),
        (0.15, 0.08, 300, False),
        (None, 0.1, None, False),
    ],
)
def test_a_fall_of_ad_r_is_a_loss_where_chance_does_not_explain_it(
    before: float | None, after: float, samples: int | None, lost: bool
) -> None:
    claims = Claimed(ad_f=0.0, ad_r=after, chance=0.16, before=before, samples=samples)
    assert claims.is_loss == lost
    assert Claimed.model_validate_json(claims.model_dump_json()) == claims
    assert ("before" in claims.model_dump()) == (before is not None)
