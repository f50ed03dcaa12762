# SPDX-License-Identifier: Apache-2.0
"""The detector finds secrets in traffic: across packets, in any order, in hexadecimal and in base64."""

from __future__ import annotations

import base64
import os
import socket
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.confinement import namespace, require_namespaces, within
from tests.member.leaders import until
from tests.participant.capture import Capture, Direction, finds, forms

SECRET = bytes(range(48, 96))


def test_what_is_sent_in_pieces_is_found_in_one() -> None:
    require_namespaces()
    with namespace(f"blockful-{os.getpid()}-capture") as name, Capture(name) as capture:
        with within(name), socket.create_server(("127.0.0.1", 0)) as server:
            sender = socket.create_connection(server.getsockname())
            receiver, _ = server.accept()
        with sender, receiver:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in b"before" + SECRET:
                sender.send(bytes([byte]))
                receiver.recv(1)
            ends = (*sender.getsockname(), *receiver.getsockname())
            until(lambda: any(len(each.segments) == 54 for each in capture.streams().get(ends, [])))
        (direction,) = capture.streams()[ends]
    assert direction.whole() == (b"before" + SECRET, 0)
    assert all(len(piece) == 1 for piece in direction.segments.values())
    assert not any(SECRET in piece for piece in direction.segments.values())


@given(
    content=st.binary(min_size=1, max_size=200),
    cuts=st.sets(st.integers(0, 200)),
    first=st.integers(0, 2**32 - 1),
    order=st.randoms(use_true_random=False),
)
def test_pieces_in_any_order_and_twice_make_the_stream(
    content: bytes, cuts: set[int], first: int, order: Random
) -> None:
    bounds = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    pieces = [(start, content[start:end]) for start, end in pairwise(bounds)]
    pieces += [(start, content[start:]) for start in bounds[:-1]]  # as retransmissions overlap
    order.shuffle(pieces)
    direction = Direction(first)
    for start, piece in pieces:
        direction.add((first + start) % 2**32, piece)
    assert direction.whole() == (content, 0)


def test_a_hole_is_counted() -> None:
    direction = Direction(10)
    direction.add(10, b"ab")
    direction.add(15, b"fg")
    assert direction.whole() == (b"ab\0\0\0fg", 3)


@pytest.mark.parametrize("before", [b"", b"1", b"22", b"333"])
def test_a_secret_is_found_in_every_form(before: bytes) -> None:
    text = before + SECRET + b"after"
    for content in (text, text.hex().encode(), text.hex().upper().encode(), base64.b64encode(text)):
        assert list(finds(content, {"secret": SECRET})) == ["secret"]
        assert list(finds(content, {"other": SECRET[::-1]})) == []


def test_every_form_is_long_enough_to_say_something() -> None:
    assert min(map(len, forms(SECRET))) >= 40
