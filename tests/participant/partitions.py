# SPDX-License-Identifier: Apache-2.0
"""A federation on several hosts that are cut off from each other at every step.

    python -m tests.participant.partitions --seconds 60

Needs root and network namespaces.  Chains are on one host, members and participants on two others.  A party
stops at a step, and goes on while its side is cut off from all, or both sides from each other; then the line
is mended.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path

from tests.confinement import within
from tests.member.leaders import until
from tests.participant import steps
from tests.participant.processes import ProcessFederation, Seat, process_federation
from tests.participant.steps import Stop
from tests.participant.wire import Host, Wire, joined

DELAY_SECONDS = 0.002
FELT = 5
"""Packets that are lost before a line is mended, at least."""


@dataclass
class Hosts:
    """Two sides, and the federation that lives on both."""

    wire: Wire
    left: Host
    right: Host
    federation: ProcessFederation

    @property
    def sides(self) -> Mapping[str, Host]:
        """Where each party is."""
        return _sides(self.left, self.right)

    def alone(self, party: str) -> AbstractContextManager[None]:
        """The side of a party is cut off from the other one and from the chains."""
        return self.wire.cut(self.sides[party])

    def apart(self, party: str) -> AbstractContextManager[None]:
        """Both sides see the chains, and not each other."""
        return self.wire.cut(self.left, self.right)


@contextmanager
def on_hosts() -> Iterator[Hosts]:
    forkserver.ensure_running()  # here, so that no other process begins on a host
    with joined(3, DELAY_SECONDS) as (wire, (middle, left, right)), within(middle.namespace):
        places = {**dict.fromkeys(("live", "archive"), middle), **_sides(left, right)}
        seats = {name: Seat(host.address, host.namespace) for name, host in places.items()}
        with process_federation(seats) as federation:
            yield Hosts(wire, left, right, federation)


def publish_in_pieces(hosts: Hosts, seconds: float) -> None:
    """Each participant publishes its model, cut off at another step of it."""
    federation = hosts.federation
    for name, step, line in (
        ("a", steps.DRAFTED, hosts.alone),
        ("s", steps.VOTED, hosts.apart),
        ("y", steps.ARCHIVED, hosts.alone),
    ):
        participant = federation.participants[name]
        stop = participant.stop_at(step)
        participant.start("in steps")
        _cut(hosts, line, name, stop, seconds)
        federation.until_published(name)
    assert federation.versions() == {"a": 0, "s": 0, "y": 0}
    assert federation.contracts.archive.length() == 3


def unlearn_at_once(hosts: Hosts, seconds: float) -> None:
    """A parallel request: its start is cut off once it has handed in, its leader between the chains."""
    federation = hosts.federation
    start, before = federation.participants["s"], federation.versions()
    stop = start.stop_at(steps.HANDED_IN)
    leading = {member.folder: Stop(member.folder, steps.ARCHIVED) for member in federation.members}
    start.run("request", "--start", "s", "--class", "3")
    _cut(hosts, hosts.alone, "s", stop, seconds)
    folder = _first(leading)
    _cut(hosts, hosts.alone, folder.name, leading[folder], seconds)
    federation.until_replaced(before, "s", "y")
    assert len(federation.contracts.participants.hand_ins(1)) == 1
    assert federation.certified("s", 1) == {"s", "y"}


def unlearn_in_turn(hosts: Hosts, seconds: float) -> None:
    """A sequential request: each owner is cut off at another step of its part."""
    federation, before = hosts.federation, hosts.federation.versions()
    first = federation.participants["s"].stop_at(steps.CERTIFIED)
    second = federation.participants["y"].stop_at(steps.VOTED)
    federation.participants["s"].run("request", "--start", "s", "--class", "5", "--paradigm", "sequential")
    _cut(hosts, hosts.alone, "s", first, seconds)
    _cut(hosts, hosts.apart, "y", second, seconds)
    federation.until_replaced(before, "s", "y")
    assert federation.certified("s", 2) == {"s", "y"}


def require_whole(hosts: Hosts) -> None:
    """Everything was done, once, and the record verifies."""
    federation = hosts.federation
    assert federation.versions() == {"a": 0, "s": 2, "y": 2}
    assert federation.contracts.archive.length() == 7
    federation.verifies()


def _sides(left: Host, right: Host) -> dict[str, Host]:
    return {
        **dict.fromkeys(("member-1", "member-2", "participant-a", "participant-y", "a", "y"), left),
        **dict.fromkeys(("member-3", "member-4", "participant-s", "s"), right),
    }


def _first(stops: Mapping[Path, Stop]) -> Path:
    """The folder of the party that stops first; the others will not."""
    until(lambda: any(stop.is_reached() for stop in stops.values()))
    folder = next(folder for folder, stop in stops.items() if stop.is_reached())
    for stop in stops.values():
        stop.withdraw()
    return folder


def _cut(
    hosts: Hosts,
    line: Callable[[str], AbstractContextManager[None]],
    party: str,
    stop: Stop,
    seconds: float,
) -> None:
    """Has a party go on, from where it stopped, while a line is cut for `seconds`, and until that is felt."""
    stop.reached()
    with line(party):
        lost = hosts.wire.lost
        stop.go_on()
        time.sleep(seconds)
        until(lambda: hosts.wire.lost >= lost + FELT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each line is cut")
    seconds = parser.parse_args().seconds
    with on_hosts() as hosts:
        for part in (publish_in_pieces, unlearn_at_once, unlearn_in_turn):
            begun = time.monotonic()
            part(hosts, seconds)
            sys.stdout.write(f"{part.__name__}: {time.monotonic() - begun:.0f} s\n")
        require_whole(hosts)
        sys.stdout.write(f"whole; {hosts.wire.lost} packets lost of {hosts.wire.carried + hosts.wire.lost}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
