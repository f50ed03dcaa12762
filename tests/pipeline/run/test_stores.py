# SPDX-License-Identifier: Apache-2.0
"""Which machines a party asks for a block, in which order, and where they may be."""

from __future__ import annotations

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.pipeline.run.stores import in_order
from blockful_py.storage.fetch import Machine

KEY, OTHER = b"\1" * 20, b"\2" * 20
LISTED, SECOND = "https://10.0.0.1:7001", "https://10.0.0.2:7001"
LOOPBACK, STRANGE = "http://127.0.0.1:8545", "https://192.168.0.1:7001"


def test_members_of_the_file_come_first_and_may_be_on_a_private_network() -> None:
    announced = [Endpoint(OTHER, STRANGE), Endpoint(KEY, SECOND), Endpoint(KEY, LISTED)]
    assert in_order(announced, [], (LISTED, SECOND), False) == (
        Machine(LISTED, KEY, True),
        Machine(SECOND, KEY, True),
        Machine(STRANGE, OTHER, False),
    )


def test_before_anybody_has_announced_the_file_says_whom_to_ask() -> None:
    assert in_order([], [], (LISTED,), False) == (Machine(LISTED, None, True),)


def test_who_announces_anothers_url_takes_it_from_nobody() -> None:
    strangers = [Endpoint(OTHER, LISTED), Endpoint(OTHER, LISTED)]
    assert in_order([Endpoint(KEY, LISTED)], strangers, (LISTED,), False) == (
        Machine(LISTED, KEY, True),
        Machine(LISTED, OTHER, False),
    )
    assert in_order([], strangers, (LISTED,), False)[0] == Machine(LISTED, None, True)


def test_only_development_chains_let_strangers_name_this_host() -> None:
    (outside,) = in_order([], [Endpoint(KEY, LOOPBACK)], (), False)
    (inside,) = in_order([], [Endpoint(KEY, LOOPBACK)], (), True)
    assert (outside.inside, inside.inside) == (False, True)
