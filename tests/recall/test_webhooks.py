# SPDX-License-Identifier: Apache-2.0
"""Webhooks: repeated when they are busy, never redirected, and their answers read within bounds."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from blockful_py.crypto import curve
from blockful_py.crypto.eip712 import Domain
from blockful_py.errors import FormatError, UnreachableError
from blockful_py.recall.webhooks import MAX_ANSWER_BYTES, post, webhook_session
from blockful_py.record.fields import of_octets
from blockful_py.record.recall.documents import Did
from blockful_py.record.recall.notice import Notice, parse_notice
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri

SECRET = 77
NOTICE = Notice(
    chain_id=1337,
    contract="0x" + "11" * 20,
    position="3:1",
    version=0,
    recipient=of_octets(bytes(12) + curve.address(curve.multiply_base(SECRET))),
    stands=1,
    replacement=cid_string(file_uri(b"{}")),
    node="{}",
    at=1,
)


class Recipient(BaseHTTPRequestHandler):
    """Answers by path; keeps the notices that it was told."""

    told: list[tuple[str, bytes]]
    busy: int

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        assert self.headers["content-type"] == "application/json"
        type(self).told.append((self.path, body))
        if self.path == "/busy" and type(self).busy:
            type(self).busy -= 1
            self._send(503, b"later", "text/plain")
        elif self.path in ("/answers", "/busy"):
            notice = parse_notice(body)
            domain = Domain(notice.chain_id, bytes.fromhex(notice.contract[2:]))
            self._send(200, notice.answer(Did.REPLACED, 5).signed(domain, SECRET).to_bytes())
        elif self.path == "/quiet":
            self._send(204, b"")
        elif self.path == "/page":
            self._send(200, b"<html>thanks</html>", "text/html")
        elif self.path == "/junk":
            self._send(200, b'{"a": 1}')
        elif self.path == "/endless":
            self._send(200, b" " * (4 * MAX_ANSWER_BYTES))
        elif self.path == "/elsewhere":
            self.send_response(307)
            self.send_header("location", "/answers")
            self.send_header("content-length", "0")
            self.end_headers()
        else:
            self._send(404, b"nobody")

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def recipient() -> Iterator[str]:
    """URL of a recipient that is busy twice at /busy."""
    Recipient.told, Recipient.busy = [], 2
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recipient)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("path", ["/answers", "/busy"])
def test_a_recipient_may_answer_at_once(recipient: str, path: str) -> None:
    with webhook_session() as session:
        answer = post(session, recipient + path, NOTICE)
    assert answer is not None
    assert answer.did is Did.REPLACED
    assert answer.signer(NOTICE.domain) == curve.address(curve.multiply_base(SECRET))
    assert {body for _, body in Recipient.told} == {NOTICE.to_bytes()}
    assert len(Recipient.told) == (3 if path == "/busy" else 1)


@pytest.mark.parametrize("path", ["/quiet", "/page"])
def test_a_recipient_may_take_its_time(recipient: str, path: str) -> None:
    with webhook_session() as session:
        assert post(session, recipient + path, NOTICE) is None


@pytest.mark.parametrize("path, says", [("/nowhere", "status 404"), ("/elsewhere", "status 307")])
def test_a_notice_that_did_not_arrive_is_a_failure(recipient: str, path: str, says: str) -> None:
    with webhook_session() as session, pytest.raises(UnreachableError, match=says):
        post(session, recipient + path, NOTICE)
    assert len(Recipient.told) == 1, "a redirect is not followed"


def test_nobody_answers(recipient: str) -> None:
    with webhook_session() as session, pytest.raises(UnreachableError, match="does not answer"):
        post(session, "http://127.0.0.1:9/", NOTICE)


@pytest.mark.parametrize("path", ["/junk", "/endless"])
def test_an_answer_that_is_none_is_refused(recipient: str, path: str) -> None:
    with webhook_session() as session:
        if path == "/endless":  # blanks alone say nothing, and no more of them are read than allowed
            assert post(session, recipient + path, NOTICE) is None
        else:
            with pytest.raises(FormatError, match="no answer to a recall"):
                post(session, recipient + path, NOTICE)


def test_a_notice_is_one_spelling() -> None:
    assert parse_notice(NOTICE.to_bytes()) == NOTICE
    with pytest.raises(FormatError):
        parse_notice(json.dumps(json.loads(NOTICE.to_bytes())).encode())
