# SPDX-License-Identifier: Apache-2.0
"""A member with a seat has nonces ready before anybody asks."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from blockful_py.committee.service.folder import MemberFolder
from blockful_py.member.duties import NonceDuty
from blockful_py.member.office import MemberOffice, Urls
from blockful_py.pipeline.run.nodes import Nodes
from tests.member.conftest import Crew
from tests.member.processes import WORDS

AHEAD = 5


def test_nonces_are_ready_once_there_is_a_seat(crew: Crew, chains: Nodes, tmp_path: Path) -> None:
    federation, member = crew.federation, crew.members[0]
    urls = Urls(chains.live.url, chains.archive.url)
    member.kill()
    with closing(MemberFolder.open(member.folder, WORDS)) as folder:
        nowhere = MemberOffice(tmp_path / "run", folder, urls, frozenset())
        NonceDuty(nowhere, AHEAD).step()
        office = MemberOffice(federation.run.path, folder, urls, frozenset())
        duty = NonceDuty(office, AHEAD)
        duty.step()
        seat = office.seat(federation.contracts.committee.current_epoch())
        assert seat.member.prepare(AHEAD) == 0
        assert seat.member.prepare(AHEAD + 2) == 2
        duty.step()
        office.close()
    member.start()
