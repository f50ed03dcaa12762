# SPDX-License-Identifier: Apache-2.0
"""A mirror that lags: locked stakes, and the members that advance it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee
from blockful_py.pipeline.run.nodes import Nodes
from tests.member.electorate import ETHER, Electorate, electorate
from tests.member.leaders import until
from tests.member.test_leaders import pay

pytestmark = pytest.mark.slow


class CutOffError(Exception):
    """The rotation ends before the archive chain follows, like in a crash."""


@pytest.fixture(scope="module")
def town(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Electorate]:
    """An elected committee whose members wait two seconds before they finish a leader's work."""
    with electorate(5, tmp_path_factory.mktemp("town"), chains, stall_seconds=2.0) as town:
        town.federation.epochs.rotate(town.pause)
        for member in town.members:
            pay(chains, town.account(member))
        yield town


def test_members_bring_a_mirror_up_to_date_and_only_then_the_retired_leave(
    town: Electorate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a retired committee ruled a lagging mirror after it had withdrawn its stake."""
    committee, mirror = town.committee, town.federation.contracts.mirror
    leaving = town.seated(1)[0]
    assert town.candidate(leaving).leave().state == "serving"
    outgoing = town.seated(1)
    town.alive = 4

    def cut(*arguments: object) -> None:
        for member in outgoing:
            member.kill()
        raise CutOffError

    monkeypatch.setattr(RemoteCommittee, "follow", cut)
    with pytest.raises(CutOffError):
        town.rotate()
    assert (committee.current_epoch(), mirror.current_epoch(), committee.acknowledged()) == (2, 1, 0)
    town.pass_time(100_000)
    assert town.candidate(leaving).leave().state == "replaced"
    for member in outgoing:
        member.start()
    until(lambda: committee.acknowledged() == 2)
    assert mirror.current_epoch() == 2
    assert town.candidate(leaving).leave().state == "waiting"
    town.pass_time(town.committee.parameters().unbonding_delay)
    left = town.candidate(leaving).leave()
    assert (left.state, left.stake) == ("left", ETHER)
