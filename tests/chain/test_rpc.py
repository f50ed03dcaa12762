# SPDX-License-Identifier: Apache-2.0
"""Nodes that close connections during their use."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from blockful_py.chain.rpc import JsonRpc
from blockful_py.errors import NodeError


@contextmanager
def node(drops: int) -> Iterator[tuple[str, list[str]]]:
    """A node that closes the connections of its first requests: its URL and the requested methods."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(request["method"])
            if len(asked) <= drops:
                self.close_connection = True
                return
            answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": "0x5"}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_what_a_dropped_connection_loses_is_sent_anew() -> None:
    with node(drops=2) as (url, asked):
        rpc = JsonRpc(url)
        assert rpc.call("eth_blockNumber") == "0x5"
        assert asked == ["eth_blockNumber"] * 3
        rpc.close()


def test_a_node_that_drops_every_connection_is_none() -> None:
    with node(drops=9) as (url, asked):
        rpc = JsonRpc(url)
        with pytest.raises(NodeError, match=f"no node answers at {url}"):
            rpc.call("eth_blockNumber")
        assert len(asked) == 3
        rpc.close()
