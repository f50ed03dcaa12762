# SPDX-License-Identifier: Apache-2.0
"""A URL that a stranger chose leads to no service of the asker's own host or network."""

from __future__ import annotations

import asyncio
import socket
from contextlib import closing
from typing import Any

import pytest

from blockful_py import pinned_http
from blockful_py.errors import UnreachableError

INSIDE = [
    "https://127.0.0.1:7001",
    "http://127.0.0.1:8545",
    "http://localhost:8545",
    "https://10.1.2.3:7001",
    "https://172.16.0.1:7001",
    "https://192.168.1.1:7001",
    "https://169.254.169.254:443",
    "https://100.64.0.1:7001",
    "https://0.0.0.0:7001",
    "https://224.0.0.1:7001",
    "https://[::1]:7001",
    "https://[fe80::1]:7001",
    "https://[fd00::1]:7001",
    "https://[::ffff:127.0.0.1]:7001",
    "https://[::ffff:10.0.0.1]:7001",
]


def ask(url: str) -> None:
    async def exchange() -> None:
        async with pinned_http.stream("GET", url, "/ipfs/x", None, {}, inside=False):
            raise AssertionError("it was answered")

    asyncio.run(exchange())


@pytest.mark.parametrize("url", INSIDE)
def test_an_address_of_this_host_or_network_is_not_asked(url: str) -> None:
    with pytest.raises(UnreachableError, match="only the federation file may name machines there"):
        ask(url)


def test_nothing_connects_to_a_service_of_this_host() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as service:
        service.setblocking(False)
        with pytest.raises(UnreachableError, match="leads to this host"):
            ask(f"http://127.0.0.1:{service.getsockname()[1]}")
        with pytest.raises(BlockingIOError):
            service.accept()


@pytest.mark.parametrize("name", ["rebound.example", "2130706433", "0x7f000001"])
def test_a_name_that_resolves_to_this_host_is_sent_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo

    def resolve(host: Any, *more: Any, **options: Any) -> Any:
        return real("127.0.0.1" if host in (name, name.encode()) else host, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with closing(socket.create_server(("127.0.0.1", 0))) as service:
        with pytest.raises(UnreachableError, match="leads to this host"):
            ask(f"https://{name}:{service.getsockname()[1]}")
        connected, _ = service.accept()
        with connected:
            assert connected.recv(1) == b""
