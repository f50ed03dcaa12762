# SPDX-License-Identifier: Apache-2.0
"""A request id travels with the work, to threads and other processes, and only in its own form."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from blockful_py.committee.polling import at_once
from blockful_py.committee.service.member_client import post
from blockful_py.committee.service.server import Server
from blockful_py.monitoring import request_id
from tests.committee.service.desks import SECONDS, Ticket, raw

ID = request_id.of_job("run", 1)


@dataclass
class NotingDesk:
    """Answers with nothing, and notes the ids under which it is asked."""

    admitted: list[str | None] = field(default_factory=list)
    answered: list[str | None] = field(default_factory=list)

    def admit(self, line: bytes, size: int) -> Ticket:
        self.admitted.append(request_id.current())
        return Ticket(b"peer", size)

    def answer(self, admitted: Ticket, body: bytes) -> bytes:
        self.answered.append(request_id.current())
        return b"answer\n"

    def fetcher(self, line: bytes) -> bytes:
        return line


@pytest.fixture
def desk() -> NotingDesk:
    return NotingDesk()


@pytest.fixture
def server(desk: NotingDesk) -> Iterator[Server]:
    with Server(desk) as started:
        yield started


def ask(server: Server) -> bytes:
    return post(server.url, b"line\nbody", SECONDS, lambda line: 1 << 20)


def test_ids_are_of_one_form_and_name_what_they_are_of() -> None:
    assert request_id.of_request(bytes(32)) == "request-" + "00" * 32
    assert request_id.of_job("run", 1) != request_id.of_job("run", 2) != request_id.of_job("other", 2)
    for each in (request_id.of_request(b"\xff" * 32), ID):
        assert request_id.received(each) == each


@pytest.mark.parametrize(
    "header",
    [None, "", "job-", "job-12", f"{ID}\n", f" {ID}", f"{ID} {ID}", "request-" + "0" * 65, "job-" + "g" * 16],
)
def test_what_is_no_id_is_left_out(header: str | None) -> None:
    assert request_id.received(header) is None


def test_an_id_is_bound_within_a_block_alone() -> None:
    assert request_id.current() is None and request_id.sent() == {}
    with request_id.bound(ID):
        assert request_id.sent() == {"x-request-id": ID}
        with request_id.bound(None):
            assert request_id.current() is None
        assert request_id.current() == ID
    assert request_id.current() is None


@dataclass(frozen=True)
class Numbered:
    index: int


def test_members_are_asked_under_the_id_of_who_asks() -> None:
    with request_id.bound(ID):
        asked = at_once([Numbered(1), Numbered(2)], lambda member: request_id.current(), 2)
    assert asked == {1: ID, 2: ID}


def test_a_service_works_under_the_id_that_came_with_the_question(server: Server, desk: NotingDesk) -> None:
    ask(server)
    with request_id.bound(ID):
        ask(server)
    ask(server)
    assert desk.admitted == desk.answered == [None, ID, None]


@pytest.mark.parametrize("headers", [b"X-Request-ID: job-1\r\n", b"X-Request-ID: %s\r\n" % ID.encode() * 2])
def test_a_header_that_is_no_id_does_no_harm(server: Server, desk: NotingDesk, headers: bytes) -> None:
    question = b"POST /message HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n%s\r\nline\nbody" % headers
    assert raw(server, question).startswith(b"HTTP/1.1 200")
    assert desk.answered == [None]


def test_tasks_of_one_loop_have_ids_of_their_own() -> None:
    async def under(name: str | None) -> str | None:
        with request_id.bound(name):
            await asyncio.sleep(0)
            return request_id.current()

    async def both() -> list[str | None]:
        return await asyncio.gather(under(ID), under(None))

    assert asyncio.run(both()) == [ID, None]
