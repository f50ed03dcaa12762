# SPDX-License-Identifier: Apache-2.0
"""A federation on several hosts that are cut off from each other at every step.

    python -m tests.participant.partitions --seconds 60

Needs root and network namespaces.  Chains are on one host, members and participants on two others.  A party
stops at a step, and continues while its side is cut off from all, or both sides from each other; then the
line is repaired.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path

from tests.confinement import within
from tests.member.leaders import until
from tests.participant import steps
from tests.participant.processes import ProcessFederation, Seat, Terms, process_federation
from tests.participant.steps import Stop
from tests.participant.wire import Host, Wire, joined

DELAY_SECONDS = 0.002
LOSS = 0.01
"""Share of lost packets on lines that are not cut."""
FELT = 5
"""Minimum number of packets that a cut line swallows before it is repaired."""


@dataclass
class Hosts:
    """Two sides, and a federation on both."""

    wire: Wire
    left: Host
    right: Host
    federation: ProcessFederation

    @property
    def sides(self) -> Mapping[str, Host]:
        """The places of members and participants, by name and by folder name."""
        return _sides(self.left, self.right, tuple(self.federation.participants))

    def alone(self, party: str) -> AbstractContextManager[None]:
        """Cuts a party's side off from the other side and from the chains."""
        return self.wire.cut(self.sides[party])

    def apart(self, party: str) -> AbstractContextManager[None]:
        """Cuts the sides off from each other; both see the chains."""
        return self.wire.cut(self.left, self.right)


@contextmanager
def on_hosts(delay: float = DELAY_SECONDS, loss: float = LOSS, terms: Terms | None = None) -> Iterator[Hosts]:
    """Runs a federation on hosts; `delay` is in seconds each way."""
    terms = terms or Terms()
    forkserver.ensure_running()  # here, so that no other process begins on a host
    with joined(3, delay, loss) as (wire, (middle, left, right)), within(middle.namespace):
        places = {**dict.fromkeys(("live", "archive"), middle), **_sides(left, right, terms.names)}
        seats = {name: Seat(host.address, host.namespace) for name, host in places.items()}
        with process_federation(seats, terms=terms) as federation:
            yield Hosts(wire, left, right, federation)


def publish_in_pieces(hosts: Hosts, seconds: float) -> None:
    """Each participant publishes its model, cut off at different steps."""
    federation = hosts.federation
    for name, first, second, line in (
        ("a", steps.TRAINING, steps.DRAFTED, hosts.alone),
        ("s", steps.VOTED, steps.ARCHIVED, hosts.apart),
        ("y", steps.CERTIFIED, steps.LIVE, hosts.alone),
    ):
        participant = federation.participants[name]
        stop = participant.stop_at(first)
        participant.start("in steps")
        _cut(hosts, line, name, stop, seconds, second)
        _cut(hosts, line, name, stop, seconds)
        federation.until_published(name)
    assert federation.versions() == {"a": 0, "s": 0, "y": 0}
    assert federation.contracts.archive.length() == 3


def unlearn_at_once(hosts: Hosts, seconds: float) -> None:
    """A parallel request: its start is cut off during its hand-in, its leader between the chains."""
    federation = hosts.federation
    start, before = federation.participants["s"], federation.versions()
    stop = start.stop_at(steps.HANDING_IN)
    leading = {member.folder: Stop(member.folder, steps.ARCHIVED) for member in federation.members}
    start.run("request", "--start", "s", "--class", "3")
    _cut(hosts, hosts.alone, "s", stop, seconds, steps.HANDED_IN)
    _cut(hosts, hosts.alone, "s", stop, seconds)
    folder = _first(leading)
    _cut(hosts, hosts.alone, folder.name, leading[folder], seconds)
    federation.until_replaced(before, "s", "y")
    assert len(federation.contracts.participants.hand_ins(1)) == 1
    assert federation.certified("s", 1) == {"s", "y"}


def unlearn_in_turn(hosts: Hosts, seconds: float) -> None:
    """A sequential request: each owner is cut off at different steps of its part."""
    federation, before = hosts.federation, hosts.federation.versions()
    first = federation.participants["s"].stop_at(steps.DRAFTED)
    second = federation.participants["y"].stop_at(steps.VOTED)
    federation.participants["s"].run("request", "--start", "s", "--class", "5", "--paradigm", "sequential")
    _cut(hosts, hosts.alone, "s", first, seconds, steps.CERTIFIED)
    _cut(hosts, hosts.alone, "s", first, seconds)
    _cut(hosts, hosts.apart, "y", second, seconds, steps.LIVE)
    _cut(hosts, hosts.apart, "y", second, seconds)
    federation.until_replaced(before, "s", "y")
    assert federation.certified("s", 2) == {"s", "y"}


def require_whole(hosts: Hosts) -> None:
    """Checks that everything was done once, and that the record verifies."""
    federation = hosts.federation
    assert federation.versions() == {"a": 0, "s": 2, "y": 2}
    assert federation.contracts.archive.length() == 7
    federation.verifies()


def _sides(left: Host, right: Host, names: Sequence[str]) -> dict[str, Host]:
    """Assigns participants to the two sides alternately."""
    members = {f"member-{number}": left if number < 3 else right for number in range(1, 5)}
    participants = dict(zip(names, itertools.cycle((left, right))))
    return members | participants | {f"participant-{name}": host for name, host in participants.items()}


def _first(stops: Mapping[Path, Stop]) -> Path:
    """The folder of the party that stops first; removes the others' stops."""
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
    to: str | None = None,
) -> None:
    """Continues a stopped party with a cut line, for `seconds` and until packets were lost.

    The party stops again at the step `to`.
    """
    stop.reached()
    with line(party):
        swallowed = hosts.wire.cut_off
        stop.go_on(to)
        time.sleep(seconds)
        until(lambda: hosts.wire.cut_off >= swallowed + FELT)


def told(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each line is cut")
    parser.add_argument("--delay", type=float, default=DELAY_SECONDS, help="seconds of a packet, each way")
    parser.add_argument("--loss", type=float, default=LOSS, help="share of the packets that are lost")
    options = parser.parse_args()
    with on_hosts(options.delay, options.loss) as hosts:
        for part in (publish_in_pieces, unlearn_at_once, unlearn_in_turn):
            begun = time.monotonic()
            part(hosts, options.seconds)
            told(f"{part.__name__}: {time.monotonic() - begun:.0f} s")
        require_whole(hosts)
        wire = hosts.wire
        told(f"whole; packets carried {wire.carried}, lost {wire.lost}, cut off {wire.cut_off}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
