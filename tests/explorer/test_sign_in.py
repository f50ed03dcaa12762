# SPDX-License-Identifier: Apache-2.0
"""Archived contents of replaced versions are only for auditors who sign in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from blockful_py.crypto import signature
from blockful_py.crypto.randomness import SeededRng
from blockful_py.explorer.guard import Guard
from blockful_py.explorer.sign_in_message import SignInMessage
from blockful_py.explorer.sign_in_routes import COOKIE, MAX_BODY, SESSION_SECONDS
from blockful_py.explorer.watched import Watched
from blockful_py.keys.reader_keys import ReaderKeys
from tests.explorer.conftest import AUDITOR, HOST

STRANGER = ReaderKeys.generate(SeededRng(b"stranger"))
ACCOUNT = AUDITOR.account
PAGE = ("http", HOST)
NO_KEY = (0, 0)


def message_for(client: TestClient, keys: ReaderKeys) -> dict[str, Any]:
    answer = client.get(f"/api/sign-in/message?address=0x{keys.account.hex()}")
    assert answer.status_code == 200
    made: dict[str, Any] = answer.json()
    return made


def signed(made: dict[str, Any], keys: ReaderKeys, account: bytes | None = None) -> dict[str, Any]:
    """A page's sign-in for a message signed by `keys`."""
    whole = SignInMessage(
        *PAGE, keys.account, made["chain"], bytes.fromhex(made["registry"][2:]), made["nonce"], made["issued"]
    )
    assert whole.text == made["text"]
    return {
        "address": "0x" + (account or keys.account).hex(),
        "issued": made["issued"],
        "nonce": made["nonce"],
        "signature": "0x" + signature.sign(keys.account_secret, whole.digest).hex(),
    }


@pytest.fixture
def visitor(guard: Guard) -> Iterator[TestClient]:
    """A browser that nobody is signed in with."""
    with TestClient(guard, base_url=f"http://{HOST}") as opened:
        yield opened


@pytest.fixture
def auditor(visitor: TestClient) -> TestClient:
    answer = visitor.post("/api/sign-in", json=signed(message_for(visitor, AUDITOR), AUDITOR))
    assert answer.status_code == 204
    return visitor


def place(client: TestClient, name: str) -> str:
    (found,) = [m for m in client.get("/api/models?count=200").json()["models"] if m["name"] == name]
    position: str = found["position"]
    return position


def versions(client: TestClient, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/models/{place(client, name)}").json()["versions"]
    return found


def test_without_a_session_a_replaced_version_is_only_what_both_chains_say(visitor: TestClient) -> None:
    old, new = versions(visitor, "x")
    assert old["reserved"]
    assert not new["reserved"]
    assert {"statement", "weights", "ad_f", "ad_r", "request", "problem"} & old.keys() == set()
    assert old["opening"]["opens"]
    assert old["archived"]
    assert new["statement"]["accuracy"] > 0
    assert visitor.get("/api/session").json() == {"auditor": None, "until": None}


def test_an_auditor_reads_what_the_archive_keeps_and_others_still_do_not(
    auditor: TestClient, client: TestClient
) -> None:
    old, new = versions(auditor, "x")
    assert not old["reserved"]
    assert old["statement"]["accuracy"] == new["statement"]["accuracy"]
    assert old["weights"]["archive"]
    assert old["weights"]["cid"] != new["weights"]["cid"]
    assert versions(client, "x")[0]["reserved"]
    assert auditor.get("/api/session").json()["auditor"] == "0x" + ACCOUNT.hex()


def test_an_auditor_reads_what_the_record_claims_of_versions_before_a_request(
    auditor: TestClient, client: TestClient
) -> None:
    (heading,) = auditor.get("/api/requests").json()
    told = auditor.get(f"/api/requests/{heading['key']}").json()["models"]
    assert told
    for each in told:
        first, last = versions(auditor, each["name"])
        assert each["before"]["accuracy"] == first["statement"]["accuracy"]
        assert last["request"]["before"] == each["before"]
        new = versions(client, each["name"])[-1]["request"]["before"]
        assert new == {**each["before"], "accuracy": None}, "the new node says it"
    for each in client.get(f"/api/requests/{heading['key']}").json()["models"]:
        assert each["before"] == versions(client, each["name"])[-1]["request"]["before"]
        assert each["after"]["ad_f"] is not None


def test_a_session_is_in_a_cookie_that_no_script_and_no_other_site_gets(visitor: TestClient) -> None:
    answer = visitor.post("/api/sign-in", json=signed(message_for(visitor, AUDITOR), AUDITOR))
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "SameSite=strict", f"Max-Age={SESSION_SECONDS}", "Path=/"} <= set(cookie.split("; "))


def test_signing_out_ends_the_session(auditor: TestClient) -> None:
    token = auditor.cookies[COOKIE]
    assert auditor.post("/api/sign-out").status_code == 204
    assert versions(auditor, "x")[0]["reserved"]
    auditor.cookies.set(COOKIE, token)
    assert versions(auditor, "x")[0]["reserved"]


def test_an_auditor_that_was_removed_reads_nothing_more(
    auditor: TestClient, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = watched.contracts.archive
    monkeypatch.setattr(type(archive), "auditor_key", lambda self, account: NO_KEY)
    assert versions(auditor, "x")[0]["reserved"]
    assert auditor.get("/api/session").json()["auditor"] is None


def test_an_account_that_is_no_auditor_is_refused(visitor: TestClient) -> None:
    answer = visitor.post("/api/sign-in", json=signed(message_for(visitor, STRANGER), STRANGER))
    assert answer.status_code == 403
    assert "not an auditor" in answer.json()["error"]
    assert COOKIE not in visitor.cookies


def test_a_strangers_signature_for_an_auditor_is_refused(visitor: TestClient) -> None:
    made = message_for(visitor, AUDITOR)
    forged = {
        **signed(made, AUDITOR),
        "signature": "0x" + signature.sign(STRANGER.account_secret, bytes(32)).hex(),
    }
    assert visitor.post("/api/sign-in", json=forged).status_code == 403
    stolen = signed(message_for(visitor, STRANGER), STRANGER, account=ACCOUNT)
    assert visitor.post("/api/sign-in", json=stolen).status_code == 403


def test_a_message_counts_once(visitor: TestClient) -> None:
    sent = signed(message_for(visitor, AUDITOR), AUDITOR)
    assert visitor.post("/api/sign-in", json=sent).status_code == 204
    again = visitor.post("/api/sign-in", json=sent)
    assert again.status_code == 403
    assert "used already" in again.json()["error"]


def test_another_origin_cannot_sign_anybody_in(visitor: TestClient) -> None:
    sent = signed(message_for(visitor, AUDITOR), AUDITOR)
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
        assert visitor.post("/api/sign-in", json=sent, headers=headers).status_code == 403
    assert COOKIE not in visitor.cookies


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "0" * 47},
        {"nonce": "Z" * 48},
        {"issued": "1"},
        {"issued": -1},
        {"issued": 2**40},
        {"issued": True},
        {"address": "0x12"},
        {"address": "0x" + "\u0661" * 40},
        {"signature": "0x" + "00" * 63},
        {"signature": "0x" + "00" * 66},
        {"signature": None},
        {"more": 1},
    ],
)
def test_a_malformed_answer_is_refused(visitor: TestClient, change: dict[str, Any]) -> None:
    sent = {**signed(message_for(visitor, AUDITOR), AUDITOR), **change}
    assert visitor.post("/api/sign-in", json=sent).status_code == 400


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"\xff", b"[" * 900, b'{"a":' * 150, b"1" * (MAX_BODY + 1)]
)
def test_a_body_that_is_no_answer_is_refused(visitor: TestClient, body: bytes) -> None:
    assert visitor.post("/api/sign-in", content=body).status_code == 400


@pytest.mark.parametrize("address", ["", "0x", "0x12", "x" * 42, "0x" + "g" * 40, "0x" + "0" * 39 + "%0A"])
def test_a_message_is_for_an_address(visitor: TestClient, address: str) -> None:
    assert visitor.get(f"/api/sign-in/message?address={address}").status_code == 400
