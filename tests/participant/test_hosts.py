# SPDX-License-Identifier: Apache-2.0
"""A federation on several hosts, by TLS, that are cut off from each other at every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import forkserver

import pytest

from tests.confinement import require_namespaces, within
from tests.participant.processes import ProcessFederation, Seat, process_federation
from tests.participant.wire import Host, Wire, joined

pytestmark = pytest.mark.slow


@dataclass
class Hosts:
    """Chains on one host; members and participants on two others."""

    wire: Wire
    left: Host
    right: Host
    federation: ProcessFederation


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    require_namespaces()
    forkserver.ensure_running()  # here, so that the processes of other tests do not begin on a host
    with joined(3, delay=0.002) as (wire, (middle, left, right)), within(middle.namespace):
        seats = {
            **dict.fromkeys(("live", "archive"), middle),
            **dict.fromkeys(("member-1", "member-2", "a", "y"), left),
            **dict.fromkeys(("member-3", "member-4", "s"), right),
        }
        places = {name: Seat(host.address, host.namespace) for name, host in seats.items()}
        with process_federation(places) as federation:
            yield Hosts(wire, left, right, federation)


def test_a_federation_on_two_hosts_trains_unlearns_and_verifies(hosts: Hosts) -> None:
    federation = hosts.federation
    for participant in federation.participants.values():
        participant.begin("in steps")
    for participant in federation.participants.values():
        participant.ready()
    federation.until_published("a", "s", "y")
    before = federation.versions()
    federation.participants["s"].run("request", "--start", "s", "--class", "3")
    federation.until_replaced(before, "s", "y")
    assert federation.versions() == {"a": 0, "s": 1, "y": 1}
    federation.verifies()
