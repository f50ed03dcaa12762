# SPDX-License-Identifier: Apache-2.0
"""Consequences for a leader that proposes a wrong update, and for a member that votes twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from blockful_py.committee.service.remote import RemoteMember
from blockful_py.errors import QuorumError
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.coordination.status import status_of
from blockful_py.pipeline.jobs.redaction import RedactionOutcome, Redactor
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.operations import Counter
from blockful_py.record.catalogue import Catalogue
from tests.cli.commands import blockful
from tests.federations import transactions
from tests.member.electorate import ETHER, Electorate, electorate
from tests.member.leaders import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def town(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Electorate]:
    """An elected committee that has published the models."""
    with electorate(5, tmp_path_factory.mktemp("town"), chains) as town:
        town.federation.epochs.rotate(town.pause)
        town.federation.train()
        yield town


def with_wrong_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader changes the new weights of one descendant."""
    honest = Redactor.replace

    def replace(
        self: Redactor,
        catalogue: Catalogue,
        new: Mapping[str, Weights],
        *others: Any,
        **named: Any,
    ) -> RedactionOutcome:
        moved = {layer: value + 1 for layer, value in new["x"].items()}
        return honest(self, catalogue, {**new, "x": moved}, *others, **named)

    monkeypatch.setattr(Redactor, "replace", replace)


def test_a_wrong_update_is_refused_and_the_alarms_are_on_the_chain(
    town: Electorate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One member votes without checking; the others are an honest quorum."""
    federation, blind = town.federation, town.seated(1)[0]
    before, archived = transactions(federation), federation.contracts.archive.length()
    with blind.cheating("blind"):
        with_wrong_update(monkeypatch)
        reason = "the new weights of x differ from the result of gradient_ascent"
        with pytest.raises(QuorumError, match=rf"1 of 4 members agree, 3 are needed.*{reason}"):
            federation.unlearn(classes=[1])
        until(lambda: len(federation.alarms()) == 3)
        monkeypatch.undo()
        honest = {member.address for member in town.seated(1)} - {blind.address}
        assert {alarm.member for alarm in federation.alarms()} == honest
        assert {alarm.reason for alarm in federation.alarms()} == {reason}
        assert len({alarm.proposal for alarm in federation.alarms()}) == 1
        for member in town.seated(1):
            member.kill()
            member.start()
        assert transactions(federation) == before
        assert federation.contracts.archive.length() == archived
        federation.unlearn(classes=[1])
    assert len(federation.alarms()) == 3
    shown = [_shown(federation.run.path, *words) for words in (("committee", "status"), ("audit",))]
    assert [len(alarms) for alarms in shown] == [3, 3]
    assert {alarm["reason"] for alarm in shown[0]} == {reason}


def _shown(run: Path, *words: str) -> list[dict[str, Any]]:
    told = blockful(run, *words, "--run", ".", "--json")
    assert told.status == 0, told.err
    assert "ALARM epoch 1" in blockful(run, *words, "--run", ".").out
    found: list[dict[str, Any]] = told.document["alarms"]
    return found


def test_a_member_that_votes_twice_is_slashed_and_its_reporter_rewarded(
    town: Electorate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two leaders make different openings of one draft; an honest member votes for one of them."""
    federation, committee, cheater = town.federation, town.committee, town.seated(1)[1]
    account, stake = town.account(cheater), committee.candidate(town.account(cheater)).stake
    drafts: list[Any] = []
    with cheater.cheating("two votes"):
        collude = RemoteMember.vote_redaction

        def vote(self: RemoteMember, draft: Any, chunks: Any) -> bytes:
            drafts.append(draft)
            return collude(self, draft, chunks)

        monkeypatch.setattr(RemoteMember, "vote_redaction", vote)
        coordinator = federation.context.session(Counter()).coordinator
        hand_over = type(coordinator).hand_over
        second: list[str] = []

        def again(self: Any, certified: Any) -> int:
            told = hand_over(self, certified)
            monkeypatch.setattr(type(coordinator), "hand_over", hand_over)
            with pytest.raises(QuorumError, match="has voted for other content") as refused:
                coordinator.certify_redaction(certified.draft)
            second.append(str(refused.value))
            return told

        monkeypatch.setattr(type(coordinator), "hand_over", again)
        federation.unlearn(classes=[2])
        assert second
        until(lambda: committee.candidate(account).slashed)
    assert committee.trust(account) < 10**6
    accounts = map(town.account, town.members)
    reporters = [each for each in accounts if committee.rewards(each).amount]
    assert len(reporters) == 1
    assert committee.rewards(reporters[0]).amount == stake * committee.parameters().reward // 100
    assert stake == ETHER
    assert account not in reporters
    status = status_of(federation.contracts, federation.epochs.reachable())
    assert [each.address for each in status.members if each.candidacy and each.candidacy.slashed] == [
        cheater.address
    ]
    assert status.ready == 3
    assert not any(each.ready for each in status.members if each.address == cheater.address)
    assert committee.excluded() == 1 << town.seated(1).index(cheater)
    assert federation.verify().passed


def test_who_was_slashed_is_not_elected_again(town: Electorate) -> None:
    punished = {m.address for m in town.members if town.committee.candidate(town.account(m)).slashed}
    assert len(punished) == 1
    town.alive = 4
    town.rotate()
    assert not punished & {member.address for member in town.seated(2)}
