# SPDX-License-Identifier: Apache-2.0
"""The command `blockful auditor sign-in` signs for the named explorer and no other."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from blockful_py.crypto import signature
from blockful_py.crypto.passphrase import KdfCost
from blockful_py.crypto.randomness import SeededRng
from blockful_py.explorer.sign_in_message import SignInMessage
from blockful_py.keys.reader_keys import ReaderKeys
from tests.cli.commands import Outcome, blockful

KEYS = ReaderKeys.generate(SeededRng(b"auditor"))
REGISTRY = bytes(range(20))
MADE: dict[str, Any] = {
    "text": "bank.example wants you to sign in with your Ethereum account:\n...",
    "chain": 1338,
    "registry": "0x" + REGISTRY.hex(),
    "nonce": "0f" * 24,
    "issued": 1_800_000_000,
}


class Explorer(ThreadingHTTPServer):
    """Answers every question with `answer`."""

    answer = b""
    status = 200


class Answers(BaseHTTPRequestHandler):
    server: Explorer

    def do_GET(self) -> None:
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("location", "/elsewhere")
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("auditor")
    KEYS.save(made / "auditor.json", "five words are better yet", KdfCost(1 << 15))
    (made / "words").write_text("five words are better yet\n")
    return made


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    server = Explorer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def sign_in(folder: Path, url: str) -> Outcome:
    return blockful(folder, "auditor", "sign-in", "auditor.json", url, "--passphrase-file", "words", "--json")


def test_the_signature_is_of_a_message_for_the_address_that_was_given(
    folder: Path, explorer: Explorer
) -> None:
    explorer.answer = json.dumps(MADE).encode()
    domain = f"127.0.0.1:{explorer.server_port}"
    outcome = sign_in(folder, f"http://{domain}/")
    assert outcome.status == 0, outcome.err
    page, _, fragment = outcome.document["link"].partition("#")
    assert page == f"http://{domain}/sign-in"
    account, issued, nonce, signed = fragment.split(".")
    message = SignInMessage("http", domain, KEYS.account, 1338, REGISTRY, nonce, int(issued))
    assert (account, nonce) == ("0x" + KEYS.account.hex(), MADE["nonce"])
    assert signature.recover(message.digest, bytes.fromhex(signed[2:])) == KEYS.account


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b"[" * 4000,
        b"x" * 100_000,
        *(
            json.dumps({**MADE, **lie}).encode()
            for lie in (
                {"nonce": "short"},
                {"nonce": "0f" * 23 + "\n1"},
                {"nonce": 7},
                {"issued": "1"},
                {"issued": -1},
                {"issued": 2**60},
                {"chain": None},
                {"registry": "0x12"},
            )
        ),
    ],
)
def test_an_answer_that_is_no_message_is_not_signed(folder: Path, explorer: Explorer, answer: bytes) -> None:
    explorer.answer = answer
    outcome = sign_in(folder, f"http://127.0.0.1:{explorer.server_port}")
    assert outcome.status == 6
    assert "gives no message to sign" in outcome.document["error"]["message"]


@pytest.mark.parametrize("status", [302, 403, 404, 500])
def test_a_refusal_and_a_way_elsewhere_are_told(folder: Path, explorer: Explorer, status: int) -> None:
    explorer.status, explorer.answer = status, json.dumps(MADE).encode()
    outcome = sign_in(folder, f"http://127.0.0.1:{explorer.server_port}")
    assert outcome.status == 6
    assert str(status) in outcome.document["error"]["message"]


def test_an_explorer_that_is_not_there_is_told(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    outcome = sign_in(folder, f"http://127.0.0.1:{port}")
    assert outcome.status == 6
    assert "gives no message to sign" in outcome.document["error"]["message"]


@pytest.mark.parametrize(
    "url",
    ["explorer", "ftp://a.example", "http://", "http://a.example/page", "http://u@a.example", "http://a:0"],
)
def test_an_address_that_is_none_is_refused(folder: Path, url: str) -> None:
    outcome = sign_in(folder, url)
    assert outcome.status == 2
    assert "is not an address such as" in outcome.document["error"]["message"]
