# SPDX-License-Identifier: Apache-2.0
"""An endpoint answers when a holder of its voting key speaks HTTP there."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from blockful_py.crypto import curve, tls
from blockful_py.explorer import committee_page
from blockful_py.explorer.committee_page import EndpointProbe
from blockful_py.storage.fetch import Machine

SECRET, OTHER = 1234567, 7654321


class NotFound(BaseHTTPRequestHandler):
    """Knows no page, as a member that is asked for one."""

    def do_HEAD(self) -> None:
        self.server.asked += 1  # type: ignore[attr-defined]
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def voter(secret: int) -> bytes:
    return curve.address(curve.multiply_base(secret))


@contextmanager
def serving(secret: int | None = None) -> Iterator[ThreadingHTTPServer]:
    """A server; of TLS under a voting key, where one is given."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), NotFound)
    server.asked = 0  # type: ignore[attr-defined]
    if secret is not None:
        server.socket = tls.server_context(secret).wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def alive(url: str, address: bytes | None, *, inside: bool = True) -> bool:
    return EndpointProbe().alive([Machine(url, address, inside)])[url]


def test_a_server_that_answers_is_alive_whatever_it_answers() -> None:
    with serving() as server:
        assert alive(f"http://127.0.0.1:{server.server_port}", None)


def test_a_server_of_tls_is_alive_under_its_own_key_alone() -> None:
    with serving(SECRET) as server:
        url = f"https://127.0.0.1:{server.server_port}"
        assert alive(url, voter(SECRET))
        assert alive(url, None)
        assert not alive(url, voter(OTHER))


def test_a_port_where_nobody_listens_is_not_alive() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert not alive(f"http://127.0.0.1:{port}", None)


def test_a_port_that_only_accepts_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committee_page, "PROBE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not alive(f"http://127.0.0.1:{silent.getsockname()[1]}", None)


def test_strangers_urls_do_not_lead_to_this_machine() -> None:
    with serving() as server:
        assert not alive(f"http://127.0.0.1:{server.server_port}", None, inside=False)
        assert server.asked == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "url", ["", "nonsense", "file:///etc/passwd", "http://example.org:80", "https://[::1"]
)
def test_what_is_no_url_of_a_member_is_not_alive(url: str) -> None:
    assert not alive(url, None)


def test_an_endpoint_is_not_asked_again_at_once() -> None:
    with serving() as server:
        machine = Machine(f"http://127.0.0.1:{server.server_port}", None)
        probe = EndpointProbe()
        assert probe.alive([machine]) == probe.alive([machine]) == {machine.url: True}
        assert server.asked == 1  # type: ignore[attr-defined]
