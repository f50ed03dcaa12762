# SPDX-License-Identifier: Apache-2.0
"""The explorer's refusals, and the headers of each answer."""

from __future__ import annotations

import subprocess
import sys

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from blockful_py.explorer.guard import HEADERS, Allowances, Guard
from tests.explorer.conftest import HOST

NOWHERE = (
    "9:9",
    "1",
    "1:-1",
    "99999999999:0",
    "4294967295:0",
    "4294967296:0",
    "X",
    "%C3%A9%00%0a",
    "%FF%FE",
    "..%2f..",
    "%25",
    "%3Cimg%20src=x%3E",
    "' OR 1 --",
    "n" * 1000,
)
"""Places at which no model stands, and names that none has, as addresses write them."""


@pytest.mark.parametrize(
    "path", ["/", "/api/models", "/api/nowhere", "/api/models/x", "/static/explorer.js", "/nowhere"]
)
def test_every_answer_has_the_headers_that_bind_the_browser(client: TestClient, path: str) -> None:
    answer = client.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value


def test_no_script_of_a_page_or_from_elsewhere_may_run(client: TestClient) -> None:
    policy = client.get("/").headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == "'self'"
    assert "unsafe" not in policy


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_reading_is_allowed(client: TestClient, method: str) -> None:
    assert client.request(method, "/api/models").status_code == 405


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/api/sign-in", "/api/sign-out"])
def test_signing_in_and_out_is_no_link(client: TestClient, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 405


@pytest.mark.parametrize("host", ["evil.example", f"{HOST}.evil.example", f"{HOST}:1", ""])
def test_other_names_are_not_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/models", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"origin": "https://evil.example"}, "/api/models", 403),
        ({"origin": "null"}, "/api/models", 403),
        ({"sec-fetch-site": "cross-site"}, "/api/models", 403),
        ({"sec-fetch-site": "same-site"}, "/api/models", 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "/api/models", 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "/models/1:0", 200),
        ({"sec-fetch-site": "same-origin", "origin": f"http://{HOST}"}, "/api/models", 200),
        ({}, "/api/models", 200),
    ],
)
def test_pages_of_other_origins_get_no_data(
    client: TestClient, headers: dict[str, str], path: str, status: int
) -> None:
    assert client.get(path, headers=headers).status_code == status


@pytest.mark.parametrize(
    "query",
    [
        "count=0",
        "count=201",
        "count=-1",
        "count=1e3",
        "count=" + "9" * 30,
        "count=\u0661",
        "start=-1",
        "order=nowhere",
        "order=name;DROP TABLE model",
        "direction=sideways",
        "search=" + "x" * 101,
    ],
)
def test_parameters_out_of_bounds_are_refused(client: TestClient, query: str) -> None:
    answer = client.get("/api/models?" + query)
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/requests/0x12",
        "/api/requests/" + "zz" * 32,
        "/api/what-if",
        "/api/compare",
        "/api/compare?model=x",
        "/api/compare?model=x&model=y&model=z",
        "/api/what-if?" + "&".join(["start=1:0"] * 51),
        "/api/blocks?before=0",
    ],
)
def test_malformed_places_are_refused(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        *(f"/api/models/{place}{check}" for place in NOWHERE for check in ("", "/verify", "/proof")),
        *(f"/api/what-if?start={place}" for place in NOWHERE),
        *(f"/api/compare?model=x&model={place}" for place in NOWHERE),
        "/api/requests/" + "00" * 32,
        "/api/requests/" + "00" * 32 + "/certificate",
    ],
)
def test_what_is_not_there_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fapp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/..\\app.py",
    ],
)
def test_files_beside_the_page_are_not_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text
    assert "root:" not in answer.text


def test_an_address_that_is_too_long_is_refused(client: TestClient) -> None:
    assert client.get("/api/models?search=" + "x" * 5000).status_code == 414


def test_an_address_that_asks_too_often_waits_and_others_do_not() -> None:
    allowances = Allowances(rate=2.0, burst=3.0)
    assert [allowances.take("a", 0.0) for _ in range(4)] == [True, True, True, False]
    assert allowances.take("b", 0.0)
    assert [allowances.take("a", 1.0) for _ in range(3)] == [True, True, False]


def test_the_guard_turns_away_whoever_asks_too_often() -> None:
    async def answer(request: object) -> PlainTextResponse:
        return PlainTextResponse("here")

    guard = Guard(Starlette(routes=[Route("/", answer)]), Allowances(rate=0.0, burst=2.0))
    guard.allow([HOST])
    with TestClient(guard, base_url=f"http://{HOST}") as asker:
        assert [asker.get("/").status_code for _ in range(3)] == [200, 200, 429]


def test_no_answer_has_a_secret(client: TestClient) -> None:
    """Sealed weights are named by CID; keys, plain weights and paths of the machine are nowhere."""
    listed = client.get("/api/models").json()["models"]
    texts = [client.get(f"/api/models/{each['position']}").text for each in listed]
    texts += [client.get(path).text for path in ("/api/federation", "/api/committee", "/api/jobs")]
    for text in texts:
        for word in ("secret", "data_key", "datakey", "private", "mnemonic", "passphrase", "/home/"):
            assert word not in text.lower()


def test_the_explorer_holds_no_torch() -> None:
    """It may run on machines without training, where memory is scarce."""
    loaded = "import sys, blockful_py.explorer.explorer, blockful_py.explorer.watched; print(*sys.modules)"
    outcome = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn", "matplotlib", "scipy"} & set(outcome.stdout.split())
