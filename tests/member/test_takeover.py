# SPDX-License-Identifier: Apache-2.0
"""Leaders that disappear before a certificate exists, and two leaders at once."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals

import pytest

from blockful_py.chain.turn import turn
from blockful_py.committee.certified import CertifiedProposal
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.keystore import MemberKeys
from blockful_py.committee.service.folder import keys_in
from blockful_py.crypto import curve
from blockful_py.engine.jobs import Kind
from blockful_py.engine.journal import Journal
from blockful_py.errors import ContractError, RunError
from blockful_py.member.endpoints import signer_of
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.resume import take_up
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.lease import LOCK, Lease, request_under_way
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.settings import ChainSettings
from tests.federations import AFFECTED, GRAPH, small, trained, versions
from tests.member.conftest import Crew
from tests.member.leaders import request_and_die, unsettled, until
from tests.member.processes import WORDS, MemberProcess, members
from tests.member.test_leaders import pay

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Ganaches with a queue of senders, so that a test can make a member wait."""
    with Nodes(ChainEndpoints.of(ChainSettings(), tmp_path_factory.mktemp("chains"))) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def crew(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """Members that lead soon and can pay."""
    folder: Path = tmp_path_factory.mktemp("takeover")
    with members(4, folder, folder / "run", chains) as processes:
        committee = {
            "roster": "services",
            "members": tuple(member.url for member in processes),
            "size": 4,
            "round_seconds": 60.0,
            "stall_seconds": 3.0,
            "takeover_seconds": 6.0,
        }
        for member in processes:
            pay(chains, keys_in(member.folder, WORDS).account)
        with trained(small(committee=committee), folder / "run", chains) as federation:
            yield Crew(federation, processes)


def is_done(run: RunDirectory) -> bool:
    """Whether the last request is done and its leader has released the lead."""
    return request_under_way(run.journal) is None and Lease.is_free(run.path)


def test_a_member_leads_the_request_of_a_leader_that_died(crew: Crew, chains: Nodes) -> None:
    federation = crew.federation
    live, run = federation.contracts.live, federation.run
    request_and_die(run.path, chains, (1,))
    until(lambda: is_done(run))
    assert versions(federation) == {name: int(name in AFFECTED) for name in GRAPH}
    assert len(live.redactions()) == len(AFFECTED)
    name = "0x" + live.redactions()[-1].transaction_hash.hex()
    sent = live.node.rpc.call("eth_getTransactionByHash", name)
    assert sent["from"] in {"0x" + keys_in(member.folder, WORDS).account.hex() for member in crew.members}
    assert unsettled(run) == 0
    assert federation.verify().passed
    assert federation.audit().passed


def leading(crew: Crew) -> tuple[MemberProcess, Path]:
    """The first member whose leader process has the lead, and that process."""
    members = {member.process.pid: member for member in crew.members if member.process}
    held = str(crew.federation.run.path / LOCK)
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            status = (link.parents[1] / "status").read_text(encoding="utf-8")
            sender = int(status.partition("PPid:")[2].split()[0])
            if sender in members and str(link.readlink()) == held:
                return members[sender], link.parents[1]
    raise AssertionError("no member leads")


def is_over(process: Path) -> bool:
    """Whether a process has ended; `process` is its folder in /proc."""
    try:
        return "\nState:\tZ" in (process / "status").read_text(encoding="utf-8")
    except OSError:
        return True


@pytest.mark.parametrize(("how", "number"), [(SIGTERM, 4), (SIGKILL, 5)], ids=["SIGTERM", "SIGKILL"])
def test_a_member_that_leads_ends_when_it_is_told_and_another_goes_on(
    crew: Crew, chains: Nodes, how: Signals, number: int
) -> None:
    """It has a certificate and waits for its turn to send; it is stopped with both chains unchanged."""
    federation = crew.federation
    run, live, archive = federation.run, federation.contracts.live, federation.contracts.archive
    before, redacted, archived = versions(federation), len(live.redactions()), archive.length()
    with turn(chains.archive), turn(chains.live):
        request_and_die(run.path, chains, (number,))
        until(lambda: unsettled(run) == 1)
        member, process = leading(crew)
        member.signal(how)
        member.wait()
        until(lambda: is_over(process))  # another's may lead by now
        assert (len(live.redactions()), archive.length()) == (redacted, archived)
    until(lambda: len(live.redactions()) == redacted + len(AFFECTED))
    assert archive.length() == archived + len(AFFECTED)
    member.start()
    until(lambda: is_done(run))
    assert unsettled(run) == 0
    assert versions(federation) == {name: before[name] + (name in AFFECTED) for name in GRAPH}


def seated(crew: Crew) -> MemberKeys:
    """Keys of a committee member; members that answered late at the founding are not in the committee."""
    committee = crew.federation.contracts.committee
    roster = committee.roster(committee.current_epoch())[0].members
    keys = (keys_in(member.folder, WORDS) for member in crew.members)
    return next(each for each in keys if curve.address(curve.multiply_base(each.voting_secret)) in roster)


def test_nobody_takes_over_from_a_leader_that_lives(crew: Crew) -> None:
    with Lease(crew.federation.run.path), pytest.raises(RunError, match="a job is being led"):
        crew.federation.unlearn(classes=[2])


def test_two_leaders_at_once_change_the_chain_once(
    crew: Crew, chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one has another run directory, with the same stores, and a member's key."""
    first = Federation.open(crew.federation.run.path, nodes=chains)
    before, redacted = versions(first), len(first.contracts.live.redactions())
    hand_over = Coordinator.hand_over

    def overtaken(self: Coordinator, certified: CertifiedProposal) -> int:
        monkeypatch.setattr(Coordinator, "hand_over", lambda self, certified: 0)
        other = tmp_path / "run"
        shutil.copytree(
            first.run.path, other, ignore=shutil.ignore_patterns("journal.sqlite*", "live", "archive")
        )
        for store in ("live", "archive"):
            (other / store).symlink_to(first.run.path / store)
        request = request_under_way(first.run.journal)
        assert request is not None
        with Journal(other / "journal.sqlite") as journal:
            journal.begin(Kind.PARALLEL, request.model_dump_json())
        keys = seated(crew)
        place = ChainEndpoints(1337, 1338, chains.live.url, chains.archive.url)
        with (
            Nodes(place, signer_of(keys)) as nodes,
            Federation.open(other, nodes=nodes, secret=keys.voting_secret) as second,
        ):
            assert take_up(second) is not None
        return hand_over(self, certified)

    monkeypatch.setattr(Coordinator, "hand_over", overtaken)
    with pytest.raises(ContractError):
        first.unlearn(classes=[2])
    assert versions(first) == {name: before[name] + (name in AFFECTED) for name in GRAPH}
    assert len(first.contracts.live.redactions()) == redacted + len(AFFECTED)
    assert unsettled(first.run) == 0
    assert Federation.open(first.run.path, nodes=chains).unlearn(classes=[2]).executed == ()
    assert first.verify().passed
    assert first.audit().passed
