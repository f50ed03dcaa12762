# SPDX-License-Identifier: Apache-2.0
"""Several protocols in the same rounds, and their messages as bytes."""

from __future__ import annotations

import pytest

from blockful_py.crypto.sharing.encoding import decoded, encoded
from blockful_py.crypto.sharing.rounds import Inbox, Protocol, Sent, Traffic, side_by_side, together
from blockful_py.errors import CheaterError, MessageError


def counting(member: int, rounds: int) -> Protocol[list[tuple[int, int]]]:
    """In each round tells everybody the round, and its successor of three the number of both."""
    heard = []
    for i in range(rounds):
        got = yield Sent((i,), {member % 3 + 1: (member, i)})
        assert {each for (each,) in got.public.values()} == {i}
        (private,) = got.private.values()
        heard.append(private)
    return heard


def test_protocols_side_by_side_end_as_alone_in_the_rounds_of_the_longest() -> None:
    lengths, traffic = (2, 0, 5, 1), Traffic()
    found = together({j: side_by_side([counting(j, n) for n in lengths]) for j in (1, 2, 3)}, traffic)
    assert traffic.rounds == 5
    for j, results in found.items():
        before = (j - 2) % 3 + 1
        assert results == [[(before, i) for i in range(n)] for n in lengths]


def test_a_member_with_another_number_of_messages_is_named() -> None:
    protocol = side_by_side([counting(1, 1), counting(1, 1)])
    sent = next(protocol)
    with pytest.raises(CheaterError) as told:
        protocol.send(Inbox({1: sent.public, 2: [(0,)], 3: (0,)}, {}))
    assert told.value.members == (2, 3)


def test_an_error_of_one_protocol_closes_the_others() -> None:
    closed = []

    def patient() -> Protocol[None]:
        try:
            yield Sent()
            yield Sent()
        finally:
            closed.append(True)

    def failing() -> Protocol[None]:
        yield Sent()
        raise MessageError("fails")

    protocol = side_by_side([patient(), failing(), patient()])
    sent = next(protocol)
    with pytest.raises(MessageError, match="fails"):
        protocol.send(Inbox({1: sent.public}, {}))
    assert len(closed) == 2


def test_a_list_of_messages_is_encoded_once_and_not_nested() -> None:
    messages = [None, (1, 2), ()]
    assert decoded(encoded(messages)) == messages
    with pytest.raises(MessageError, match="unknown kind b'L'"):
        decoded(encoded([messages]))
    with pytest.raises(MessageError, match="ends too early"):
        decoded(encoded(messages)[:-1])
