# SPDX-License-Identifier: Apache-2.0
"""An elected committee of real processes, from joining until a second committee replaces the first."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.chain.deployments import deploy_archive, deployments_path, load
from blockful_py.committee.outbox_store import NOTES, OutboxStore
from blockful_py.committee.service.outbox import TOPICS
from blockful_py.crypto import curve
from blockful_py.errors import ContractError, DeploymentError, QuorumError, RunError
from blockful_py.pipeline.coordination import rotation
from blockful_py.pipeline.run.contracts import open_contracts
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.types import Position
from tests.federations import AFFECTED, forgets, put_back, transactions
from tests.member.electorate import Electorate, electorate
from tests.member.leaders import until
from tests.member.outgoing import EpochCommittee
from tests.member.processes import MemberProcess


@pytest.fixture(scope="module")
def town(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Electorate]:
    with electorate(5, tmp_path_factory.mktemp("town"), chains) as found:
        yield found


def test_nothing_is_trained_before_the_first_election(town: Electorate) -> None:
    with pytest.raises(RunError, match=r"no epoch yet: let members join .* `blockful committee rotate`"):
        town.federation.train()


def test_the_first_election_may_break_off_before_the_archive_side_is_there(town: Electorate) -> None:
    def broken(*arguments: object) -> None:
        raise InterruptedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rotation, "found_followers", broken)
        with pytest.raises(InterruptedError):
            town.federation.epochs.rotate(town.pause)
    assert town.committee.current_epoch() == 1
    with pytest.raises(RunError, match="no epoch yet"):
        town.federation.train()
    (town.federation.run.path / "rotation.json").unlink()  # as in another caller's copy of the run


def test_a_committee_is_elected_publishes_and_redacts(town: Electorate) -> None:
    federation = town.federation
    rotated = federation.epochs.rotate(town.pause)
    assert (rotated.epoch, len(rotated.members), rotated.threshold, rotated.excluded) == (1, 4, 3, ())
    committee, mirror = federation.contracts.committee, federation.contracts.mirror
    assert mirror.current_epoch() == committee.current_epoch() == 1
    assert mirror.roster(1) == committee.roster(1)
    federation.train()
    assert {each.epoch for each in transactions(federation).values()} == {1}
    forgets(town.federation, 3)


def test_the_next_election_waits_for_the_least_length_of_the_epoch(town: Electorate) -> None:
    with pytest.raises(QuorumError, match="the next election opens at"):
        town.federation.epochs.rotate(town.pause)


def noted(member: MemberProcess) -> set[int]:
    """Epochs in a member's notes."""
    with OutboxStore(member.folder / NOTES) as store:
        return {note.ballot.epoch for topic in TOPICS for note in store.read(topic)}


def test_another_committee_takes_over(town: Electorate) -> None:
    """Its members also remove their notes of the previous epoch."""
    before = town.federation.contracts.committee.key_id(1)
    assert any(1 in noted(member) for member in town.members)
    rotated = town.rotate()
    until(lambda: not any(1 in noted(member) for member in town.members))
    assert rotated.epoch == 2
    assert rotated.key_id != before
    assert town.federation.contracts.mirror.current_epoch() == 2
    assert town.committee.acknowledged() == 2
    forgets(town.federation, 4)
    assert {transactions(town.federation)[name].epoch for name in AFFECTED} == {2}


def test_the_old_committee_has_no_power_left(town: Electorate) -> None:
    """Its collision and its certificate are each refused; with the new committee's, all is valid."""
    contracts = town.federation.contracts
    position = town.federation.catalogue()["y"].position
    old, new = (EpochCommittee(contracts, epoch, town.seated(epoch)) for epoch in (1, 2))

    def redact(decryptor: EpochCommittee, voter: EpochCommittee) -> None:
        updates, headers = decryptor.redaction(position)
        contracts.live.send(
            contracts.live.redact_data(
                updates,
                headers,
                voter.certify(contracts.live, contracts.live.redact_leaf(updates, headers, 0, 1)),
            )
        )

    current = transactions(town.federation)
    with pytest.raises(ContractError) as stale:
        redact(decryptor=new, voter=old)
    assert (stale.value.name, stale.value.arguments) == ("StaleEpoch", {"given": 1, "current": 2})
    with pytest.raises(ContractError) as opening:
        redact(decryptor=old, voter=new)
    header = contracts.live.header(position.height)
    expected = {"position": Position.of_header(position.height).packed, "version": header.version + 1}
    assert (opening.value.name, opening.value.arguments) == ("InvalidOpening", expected)
    assert transactions(town.federation) == current
    with put_back(contracts.live.node):
        redact(decryptor=new, voter=new)
        assert contracts.live.transactions([position])[0].version == current["y"].version + 1


def test_the_archive_obeys_the_new_committee_only(town: Electorate) -> None:
    archive = town.federation.contracts.archive
    head, (last,) = archive.head(), archive.records(archive.length() - 1, 1)
    leaf = archive.append_leaf(head, last.timestamp, [last.record], 0, 1)
    old, new = (EpochCommittee(town.federation.contracts, epoch, town.seated(epoch)) for epoch in (1, 2))
    with pytest.raises(ContractError) as stale:
        archive.send(archive.append_data(head, last.timestamp, [last.record], old.certify(archive, leaf)))
    assert stale.value.name == "StaleEpoch"
    with put_back(archive.node):
        archive.send(archive.append_data(head, last.timestamp, [last.record], new.certify(archive, leaf)))
        assert archive.head() != head


def test_followers_that_do_not_follow_are_refused(town: Electorate, tmp_path: Path) -> None:
    """The deployer of the archive side cannot found it on its own roster, or on none."""
    nodes, contracts = town.federation.nodes, town.federation.contracts
    committee = contracts.committee
    roster, _ = committee.roster(1)
    strange = replace(roster, keys=(curve.G, *roster.keys[1:]))
    false = deploy_archive(nodes.archive_sender, committee.chain_id, committee.address, strange)
    elsewhere = deploy_archive(nodes.archive_sender, committee.chain_id, bytes([2]) * 20, roster)
    right = load(deployments_path(town.federation.run.deployments, nodes.archive.chain_id), nodes.archive)
    mixed = replace(
        right, contracts={**right.contracts, "ArchiveRegistry": false.contracts["ArchiveRegistry"]}
    )
    shutil.copytree(town.federation.run.deployments, tmp_path, dirs_exist_ok=True)
    for founded, reason in (
        (false, r"does not follow .* \(epochs that differ: \[1\]\)"),
        (elsewhere, "another committee"),
        (mixed, "asks 0x.*, not the QuorumMirror"),
    ):
        founded.write(tmp_path)
        with pytest.raises(DeploymentError, match=reason):
            open_contracts(nodes, tmp_path)
    right.write(tmp_path)
    assert open_contracts(nodes, tmp_path).archive.address == contracts.archive.address
