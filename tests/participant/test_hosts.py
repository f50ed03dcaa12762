# SPDX-License-Identifier: Apache-2.0
"""A federation on several hosts with TLS loses nothing while lines between them are cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.confinement import require_namespaces
from tests.member.leaders import until
from tests.participant.partitions import (
    Hosts,
    on_hosts,
    publish_in_pieces,
    require_whole,
    unlearn_at_once,
    unlearn_in_turn,
)

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    require_namespaces()
    with on_hosts() as hosts:
        yield hosts


def test_members_on_hosts_of_their_own_are_reached_by_tls(hosts: Hosts) -> None:
    registry = hosts.federation.contracts.participants
    until(lambda: len(registry.endpoints()) == 4)
    announced = {(each.url, each.key) for each in registry.endpoints().values()}
    assert announced == {(member.url, member.address) for member in hosts.federation.members}
    assert all(url.startswith("https://10.") for url, _ in announced)


def test_each_publication_comes_through_a_cut_line(hosts: Hosts) -> None:
    publish_in_pieces(hosts, 0)


def test_a_parallel_request_comes_through_cut_lines(hosts: Hosts) -> None:
    unlearn_at_once(hosts, 0)


def test_a_sequential_request_comes_through_cut_lines(hosts: Hosts) -> None:
    unlearn_in_turn(hosts, 0)


def test_all_is_there_once_and_verifies(hosts: Hosts) -> None:
    require_whole(hosts)
