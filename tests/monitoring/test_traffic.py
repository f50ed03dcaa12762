# SPDX-License-Identifier: Apache-2.0
"""Requests are counted by resource and status; strangers cannot create further labels."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from blockful_py.committee.service.server import Server, counted
from blockful_py.errors import BlockNotFoundError
from blockful_py.monitoring.health import Health
from blockful_py.storage.cid import cid_string
from blockful_py.storage.gateway import gateway
from blockful_py.types import Codec, Uri
from tests.committee.service.desks import Desk, raw, request
from tests.member.leaders import until

HELD = Uri(bytes(32), Codec.RAW)


class OneBlock:
    """Keeps one block, of 5 bytes."""

    def kept_block(self, uri: Uri) -> bytes:
        if uri != HELD:
            raise BlockNotFoundError("it is not kept")
        return b"block"


def fetched(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def count(registry: CollectorRegistry) -> Callable[[str, str], float]:
    def of(resource: str, status: str) -> float:
        labels = {"resource": resource, "status": status}
        return registry.get_sample_value("blockful_http_requests_total", labels) or 0.0

    return of


def test_requests_are_counted_by_resource_and_status(
    registry: CollectorRegistry, count: Callable[[str, str], float]
) -> None:
    state = Health({"store": lambda: "it is full"})
    around = counted(registry)
    with Server(Desk(), gateway=gateway(OneBlock()), state=state, around=around) as server:
        raw(server, request(b"a\nx"))
        raw(server, request(b"nobody\n"))
        raw(server, fetched(f"/ipfs/{cid_string(HELD)}?format=raw"))
        raw(server, fetched(f"/ipfs/{cid_string(Uri(b'x' * 32, Codec.RAW))}?format=raw"))
        assert b'{"ready":false}' in raw(server, fetched("/healthz"))
        for number in range(3):
            raw(server, fetched(f"/{number}"))
        until(lambda: count("other", "404") == 3)
    assert count("messages", "200") == count("messages", "400") == 1
    assert count("blocks", "200") == count("blocks", "404") == 1
    assert count("health", "503") == 1
    sent = registry.get_sample_value("blockful_http_sent_bytes_total", {"resource": "blocks"})
    assert sent is not None and sent >= len(b"block")


def test_a_stranger_who_goes_away_is_counted(
    registry: CollectorRegistry, count: Callable[[str, str], float]
) -> None:
    with Server(Desk(), around=counted(registry)) as server:
        host, port = server.url.rpartition("/")[2].split(":")
        with socket.create_connection((host, int(port))) as opened:
            opened.sendall(request(b"a\nhalf", 100))
        until(lambda: count("messages", "400") == 1)
