# SPDX-License-Identifier: Apache-2.0
"""Calamities that strike a party of a federation on hosts: kills, full disks, wrong clocks, cut lines."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.member.processes import MemberProcess
from tests.participant import clocks, steps
from tests.participant.partitions import Hosts
from tests.participant.processes import CHAINS, ParticipantProcess, ProcessFederation

Party = MemberProcess | ParticipantProcess
LEADER = "leader"
HOUR = 3600.0
SHORTEST, LONGEST = 3.0, 20.0
"""Minimum and maximum seconds of a calamity."""
AT_A_STEP = 0.5
"""Share of the trials whose first calamity strikes at a chosen step of somebody's work."""
_LED = (steps.DRAFTED, steps.VOTED, steps.CERTIFIED, steps.ARCHIVED, steps.LIVE)
STEPS: Mapping[str, Sequence[str]] = {
    "publication": (steps.TRAINING, *_LED),
    "parallel": (steps.HANDING_IN, steps.HANDED_IN, *_LED),
    "sequential": _LED,
}
"""Steps of each kind of work at which a calamity may strike."""


@dataclass(frozen=True)
class Calamity:
    """A calamity and the party that it strikes.

    Attributes:
        party: the stricken one; LEADER for the party that works at the start.
        step: the step at which somebody's work stops for the start; None if it starts at a time.
        moment: that time, as a share of the usual duration of such work.
        seconds: its duration.
    """

    kind: str
    party: str
    step: str | None
    moment: float
    seconds: float


def draw(rng: random.Random, kind: str, work: str, federation: ProcessFederation) -> tuple[Calamity, ...]:
    """A calamity of a kind and up to two others, for different parties, with at most one stop at a step."""
    drawn: list[Calamity] = []
    for each in (kind, *rng.choices([*KINDS], k=rng.choice((0, 0, 1, 2)))):
        who = _MAY_STRIKE.get(each, _anybody)(federation)
        left = [name for name in who if name not in [other.party for other in drawn]]
        if left:
            step = rng.choice(STEPS[work]) if not drawn and rng.random() < AT_A_STEP else None
            seconds = rng.uniform(SHORTEST, LONGEST)
            drawn.append(Calamity(each, rng.choice(left), step, rng.random(), seconds))
    return tuple(drawn)


def strike(hosts: Hosts, calamity: Calamity, lasting: ExitStack) -> str:
    """Strikes until `lasting` is closed; returns the stricken party."""
    party = calamity.party
    if party == LEADER:
        party = next(iter((*_at_work(hosts.federation), *_members(hosts.federation))))
    lasting.enter_context(KINDS[calamity.kind](hosts, party))
    return party


def services(federation: ProcessFederation) -> dict[str, Party]:
    """Members and participants by name."""
    return {**{member.folder.name: member for member in federation.members}, **federation.participants}


def _anybody(federation: ProcessFederation) -> list[str]:
    return [*services(federation)]


def _members(federation: ProcessFederation) -> list[str]:
    return [member.folder.name for member in federation.members]


def _at_work(federation: ProcessFederation) -> list[str]:
    """Parties that lead or do a part, and so have a process for it."""
    return [name for name, service in services(federation).items() if service.process and _work(service.pid)]


_MAY_STRIKE: Mapping[str, Callable[[ProcessFederation], list[str]]] = {
    "chain killed": lambda federation: [*CHAINS],
    "member killed": _members,
    "leader killed": lambda federation: [LEADER],
    "participant killed": lambda federation: [*federation.participants],
}


@contextmanager
def _chain_killed(hosts: Hosts, party: str) -> Iterator[None]:
    chain = hosts.federation.chains[party]
    chain.kill()
    try:
        yield
    finally:
        chain.begin()


@contextmanager
def _killed(hosts: Hosts, party: str) -> Iterator[None]:
    """Kills the party's service and its work, like a power cut."""
    service = services(hosts.federation)[party]
    if service.process is None:  # a leader that was killed already
        yield
        return
    work = _work(service.pid)
    service.kill()
    for process in work:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    try:
        yield
    finally:
        service.begin("in steps")


def _disk_full(hosts: Hosts, party: str) -> AbstractContextManager[None]:
    return hosts.federation.disks[services(hosts.federation)[party].folder].full()


def _ahead(hosts: Hosts, party: str) -> AbstractContextManager[None]:
    return clocks.ahead(services(hosts.federation)[party].folder, HOUR)


def _behind(hosts: Hosts, party: str) -> AbstractContextManager[None]:
    return clocks.ahead(services(hosts.federation)[party].folder, -HOUR)


KINDS: Mapping[str, Callable[[Hosts, str], AbstractContextManager[None]]] = {
    "chain killed": _chain_killed,
    "member killed": _killed,
    "leader killed": _killed,
    "participant killed": _killed,
    "disk full": _disk_full,
    "clock an hour ahead": _ahead,
    "clock an hour behind": _behind,
    "side cut off": Hosts.alone,
    "sides apart": Hosts.apart,
}


def _work(service: int) -> list[int]:
    """Processes started by a service."""
    found: list[int] = []
    for children in Path(f"/proc/{service}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(each) for each in children.read_text().split()]
    return found
