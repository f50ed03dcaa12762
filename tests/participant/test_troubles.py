# SPDX-License-Identifier: Apache-2.0
"""No gas, no room, wrong clocks, departures: one clear error, no losses, and work continues later.

The tests build on one another: each party publishes once.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from blockful_py.chain.node import Node
from blockful_py.chain.sortition import CandidateState
from blockful_py.committee.service.folder import VAULT, keys_in
from blockful_py.committee.vault import Vault
from blockful_py.errors import BlockfulError, NodeError, QuorumError
from blockful_py.forget import Forget
from blockful_py.pipeline import party as party_run
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.storage.store import ContentStore
from blockful_py.types import Paradigm, Uri
from tests.cli.commands import blockful
from tests.devnets import set_balance
from tests.disks import small_disk
from tests.member.leaders import until
from tests.member.processes import WORDS, MemberProcess
from tests.participant.conftest import ETHER, Machines

pytestmark = pytest.mark.processes

PASSPHRASE = {"BLOCKFUL_PASSPHRASE": WORDS}
HOUR = 3600
FULL = r"(?i)no (space|room)|make room"


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proposes only once, without a retry after a refusal."""
    monkeypatch.setattr(party_run, "ATTEMPTS", 1)


def publish(machines: Machines, name: str) -> None:
    with machines.participants[name].run() as party:
        party.train_next()


def models(machines: Machines) -> dict[str, int]:
    with machines.participants["a"].run() as party:
        return {name: each.version for name, each in party.federation.catalogue().models.items()}


def broke(node: Node, account: bytes) -> None:
    set_balance(node, account, 0)


def test_a_publication_goes_on_once_its_owner_can_pay(machines: Machines, chains: Nodes) -> None:
    account = machines.participants["a"].keys.account
    broke(chains.archive, account)
    with pytest.raises(NodeError, match=f"0x{account.hex()} has 0 wei on chain {chains.archive.chain_id}"):
        publish(machines, "a")
    set_balance(chains.archive, account, ETHER)
    broke(chains.live, account)
    with pytest.raises(NodeError, match=f"0x{account.hex()} has 0 wei on chain {chains.live.chain_id}"):
        publish(machines, "a")
    assert not machines.contracts.live.height()
    set_balance(chains.live, account, ETHER)
    assert models(machines) == {"a": 0}  # the archived decision is finished without training


def test_a_leader_whose_clock_is_ahead_is_told_and_publishes_later(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: real() + HOUR)
        with pytest.raises(QuorumError, match="set the clock of the machine that leads"):
            publish(machines, "b")
    publish(machines, "b")
    assert models(machines) == {"a": 0, "b": 0}
    with machines.participants["b"].run() as party:
        assert party.federation.alarms() == ()


def test_a_leader_whose_clock_is_behind_publishes(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: real() - HOUR)
        publish(machines, "s")
    archive = machines.contracts.archive
    times = [each.timestamp for each in archive.records(0, archive.length())]
    assert times == sorted(times)
    assert times[-1] >= times[0]


def test_members_whose_clocks_are_wrong_decide(machines: Machines) -> None:
    with (
        machines.members[0].cheating("an hour ahead"),
        machines.members[1].cheating("an hour behind"),
    ):
        publish(machines, "t")
    assert models(machines)["t"] == 0


def test_a_participant_without_room_publishes_once_there_is_some(machines: Machines) -> None:
    with small_disk(machines.participants["z"].folder.run) as disk:
        with disk.full(), pytest.raises(BlockfulError, match=FULL):
            publish(machines, "z")
        publish(machines, "z")
    assert models(machines)["z"] == 0


def stored(member: MemberProcess, uris: list[Uri]) -> bool:
    store = ContentStore(member.folder / "run" / "live")
    return all(store.has(uri) for uri in uris)


def files_of(machines: Machines, name: str) -> list[Uri]:
    with machines.participants["a"].run() as party:
        placed = party.federation.catalogue()[name]
        return [placed.uri, *placed.node.sealed]


def test_a_member_without_room_keeps_the_files_once_there_is_some(machines: Machines) -> None:
    member = machines.members[3]
    member.kill()
    with small_disk(member.folder / "run", 32) as disk:
        member.start()
        with disk.full():
            publish(machines, "x")
            files = files_of(machines, "x")
            until(lambda: all(stored(each, files) for each in machines.members[:3]))
            assert not stored(member, files)
        until(lambda: stored(member, files))
        member.kill()
    member.start()
    assert stored(member, files)


def test_a_part_is_handed_in_once_there_is_room_and_led_once_members_can_pay(
    machines: Machines, chains: Nodes
) -> None:
    with machines.participants["t"].run() as party:
        number = party.request(("t",), Forget.of_classes([3]), Paradigm.PARALLEL, None)
    accounts = [keys_in(member.folder, WORDS).account for member in machines.members]
    for account in accounts:
        broke(chains.live, account)
    with small_disk(machines.participants["t"].folder.run) as disk:
        with (
            disk.full(),
            pytest.raises(BlockfulError, match=FULL),
            machines.participants["t"].run() as party,
        ):
            party.take_part(number)
        account = machines.participants["t"].keys.account
        broke(chains.live, account)
        with (
            pytest.raises(NodeError, match=f"0x{account.hex()} has 0 wei"),
            machines.participants["t"].run() as party,
        ):
            party.take_part(number)
        set_balance(chains.live, account, ETHER)
        with machines.participants["t"].run() as party:
            assert [node.name for node in party.take_part(number)] == ["t"]
    assert models(machines)["t"] == 0
    for account in accounts:
        set_balance(chains.live, account, ETHER)
    until(lambda: models(machines)["t"] == 1)


def test_a_participant_that_leaves_is_told_which_requests_wait_for_it(machines: Machines) -> None:
    with machines.participants["a"].run() as party:
        number = party.request(("a",), Forget.of_classes([5]), Paradigm.SEQUENTIAL, None)
    leaving, registry = machines.participants["x"], machines.contracts.participants
    command = ("participant", "leave", str(leaving.folder.path))
    refused = blockful(machines.folder, *command, environment=PASSPHRASE)
    assert f"(request {number}: x)" in refused.error
    assert registry.participant(leaving.keys.account).since
    left = blockful(machines.folder, *command, "--anyway", "--json", environment=PASSPHRASE)
    assert left.document["open"] == {str(number): ["x"]}
    assert not registry.participant(leaving.keys.account).since
    again = blockful(machines.folder, *command, environment=PASSPHRASE)
    assert "has left this federation already" in again.error


def test_a_member_that_leaves_hands_on_what_it_keeps(machines: Machines) -> None:
    """The others have lost a file and a key, and find them before the member leaves."""
    leaving, others = machines.members[3], machines.members[:3]
    with machines.participants["a"].run() as party:
        version = party.federation.catalogue()["z"].node.weights
    until(lambda: _has_key(leaving, version) and stored(leaving, [version]))
    leaving.kill()
    for member in others:
        member.kill()
        ContentStore(member.folder / "run" / "live").delete(version)
        _vault(member).destroy([version.digest])
    for member in others:
        member.start()
    command = ("committee", "leave", str(leaving.folder), "--run", str(leaving.folder / "run"))
    for member in others[:2]:
        member.kill()
    refused = blockful(machines.folder, *command, environment=PASSPHRASE)
    assert "cannot be handed on" in refused.error
    assert not _stake(machines, leaving).unbonding_since
    for member in others[:2]:
        member.start()
    left = blockful(machines.folder, *command, environment=PASSPHRASE)
    assert "has this member's files and keys" in left.out
    assert _stake(machines, leaving).unbonding_since
    until(lambda: all(stored(each, [version]) and _has_key(each, version) for each in others))


def _vault(member: MemberProcess) -> Vault:
    return Vault(Path(member.folder) / VAULT, keys_in(member.folder, WORDS).voting_secret)


def _has_key(member: MemberProcess, version: Uri) -> bool:
    return version.digest in _vault(member).versions()


def _stake(machines: Machines, member: MemberProcess) -> CandidateState:
    return machines.contracts.elected.candidate(keys_in(member.folder, WORDS).account)
