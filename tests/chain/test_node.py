# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from blockful_py.chain.devnet import Devnet
from blockful_py.chain.node import connect
from blockful_py.chain.rpc import BATCH_SIZE, JsonRpc, RpcError
from blockful_py.errors import NodeError
from tests.chain.conftest import KINDS, AnyDevnet


@pytest.mark.parametrize("kind", KINDS)
def test_a_running_node_is_connected_to_by_url(request: pytest.FixtureRequest, kind: str) -> None:
    devnet: AnyDevnet = request.getfixturevalue(kind)
    node = connect(devnet.url)
    assert node.chain_id == devnet.chain_id
    assert node.balance(devnet.signer(0).address) > 0
    assert node.code(devnet.signer(0).address) == b""
    assert node.timestamp() > 0
    node.close()


def test_another_chain_is_refused(ganache: Devnet) -> None:
    with pytest.raises(NodeError, match="is on chain 1337, but chain 4242 was expected: use the URL"):
        connect(ganache.url, 4242)


def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(NodeError, match=r"no node answers at .*: start it, or check the URL"):
        connect(f"http://127.0.0.1:{port}")


def test_a_node_that_is_silent() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(NodeError, match=r"did not answer within 0.2 s"):
            connect(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)


@pytest.mark.parametrize("url", ["127.0.0.1:8545", "ftp://127.0.0.1", "http://", "", "http://[:8545"])
def test_what_is_not_a_url(url: str) -> None:
    with pytest.raises(NodeError, match=r"not a URL|no node answers"):
        connect(url)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>hello</html>",
        b"",
        b"[]",
        b"{}",
        b"null",
        b"\xff\xfe",
        b'[{"jsonrpc":"2.0","id":0,"result":"0x1"}]',
        b'{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"no batches"}}',
        b'[{"jsonrpc":"2.0","id":0,"result":"one"},{"jsonrpc":"2.0","id":1,"result":null}]',
    ],
)
def test_a_server_that_is_no_node(body: bytes) -> None:
    with _server(200, body) as url, pytest.raises(NodeError, match=url):
        connect(url)


def test_an_http_error_is_a_node_error() -> None:
    with _server(404, b"not found") as url, pytest.raises(NodeError, match="HTTP status 404"):
        connect(url)


def test_the_environments_proxy_and_credentials_are_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine node.example login somebody password secret\n", encoding="utf-8")
    netrc.chmod(0o600)
    seen: list[tuple[str, str | None]] = []
    with _server(200, b'{"jsonrpc":"2.0","id":0,"result":"0x539"}', seen) as proxy:
        monkeypatch.setenv("NETRC", str(netrc))
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        for url in ("http://node.example:8545/", proxy + "/"):
            rpc = JsonRpc(url)
            assert rpc.call("eth_chainId") == "0x539"
            rpc.close()
    credentials = "Basic " + b64encode(b"somebody:secret").decode()
    assert seen == [("http://node.example:8545/", credentials), ("/", None)]


def test_refused_calls_are_results_of_a_batch(ganache: Devnet) -> None:
    number, refused = ganache.node.rpc.batch([("eth_blockNumber", ()), ("eth_noSuchThing", ())])
    assert int(number, 16) >= 0
    assert isinstance(refused, RpcError)
    with pytest.raises(NodeError, match="refused eth_noSuchThing"):
        ganache.node.rpc.call("eth_noSuchThing")


def test_batches_of_any_size_keep_their_order(ganache: Devnet) -> None:
    calls = [("web3_sha3", (hex(i + 256),)) for i in range(2 * BATCH_SIZE + 3)]
    results = ganache.node.rpc.batch(calls)
    assert results == [ganache.node.rpc.call(*call[:1], *call[1]) for call in calls]
    assert ganache.node.rpc.batch([]) == []


@contextmanager
def _server(status: int, body: bytes, seen: list[tuple[str, str | None]] | None = None) -> Iterator[str]:
    """Answers all requests with `body`; records paths and credentials in `seen`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if seen is not None:
                seen.append((self.path, self.headers["Authorization"]))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
