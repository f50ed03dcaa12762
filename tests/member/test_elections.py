# SPDX-License-Identifier: Apache-2.0
"""Elections with dying members and interrupted rotations, compared with the chain afterwards."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.signer import DEV_MNEMONIC, Signer
from blockful_py.chain.sortition import ElectionState, Parameters, Phase
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.errors import RefusedError, RunError
from blockful_py.pipeline.coordination.remote_committee import ReachableMember, RemoteCommittee
from blockful_py.pipeline.coordination.rotation import Rotated
from blockful_py.pipeline.coordination.status import status_of
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import forgets
from tests.member.electorate import ETHER, Electorate, electorate
from tests.member.leaders import until
from tests.member.processes import MemberProcess

pytestmark = pytest.mark.slow


class BrokenOffError(Exception):
    """The rotation ends here, like in a crash."""


@pytest.fixture(scope="module")
def town(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Electorate]:
    with electorate(5, tmp_path_factory.mktemp("town"), chains) as found:
        yield found


def test_a_member_killed_between_commit_and_reveal_pays_and_the_others_draw_again(town: Electorate) -> None:
    victim = town.members[2]

    def pause(election: ElectionState) -> None:
        if victim.process is not None and election.phase is Phase.COMMIT and election.committed == 5:
            victim.kill()
            town.alive = 4
        town.pause(election)

    rotated = town.federation.epochs.rotate(pause)
    assert (rotated.epoch, town.committee.election().draw) == (1, 2)
    assert victim.address not in rotated.members
    state = town.candidate(victim).state()
    assert state.stake == ETHER - Parameters().forfeit
    assert (state.good, state.bad) == (0, Parameters().withholding)
    assert town.committee.trust(town.account(victim)) == 250_000
    town.federation.train()
    victim.start()
    town.join(victim)
    assert town.candidate(victim).state().stake == ETHER
    town.alive = 5


def test_a_member_that_restarts_reveals_what_it_committed_to(town: Electorate) -> None:
    """Its secret follows from the keystore, so nobody withholds and the first draw elects."""
    restarted: list[int] = []

    def pause(election: ElectionState) -> None:
        if not restarted and election.phase is Phase.COMMIT and election.committed == 5:
            for member in town.members[:2]:
                member.kill()
                member.start()
            restarted.append(election.draw)
        town.pause(election)

    town.pass_time(1_000)
    rotated = town.federation.epochs.rotate(pause)
    assert rotated.epoch == 2
    assert restarted == [town.committee.election().draw]


def test_a_member_dead_at_key_generation_keeps_its_seat_and_has_no_share(town: Electorate) -> None:
    dead: list[MemberProcess] = []

    def pause(election: ElectionState) -> None:
        if not dead and election.phase is Phase.CONFIRM:
            dead.append(town.elected()[1])
            dead[0].kill()
        town.pause(election)

    town.pass_time(1_000)
    rotated = town.federation.epochs.rotate(pause)
    victim = dead[0]
    assert (rotated.epoch, len(rotated.members), rotated.members[1]) == (3, 4, victim.address)
    assert rotated.excluded == (f"0x{victim.address.hex()}: answers at none of the URLs",)
    forgets(town.federation, 5)
    victim.start()
    status = status_of(town.federation.contracts, town.federation.epochs.reachable())
    (url,) = (member.url for member in town.members if member is victim)
    assert {member.url: member.ready for member in status.members}[url] is False
    assert (status.ready, status.quorum, status.archive_epoch) == (3, 3, 3)
    forgets(town.federation, 6)


@pytest.mark.parametrize("where", ["reveal", "prove", "settle", "follow"])
def test_a_rotation_that_was_broken_off_is_taken_up_by_another(
    town: Electorate, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Interrupted in a phase, between generation and settlement, or before the archive chain follows."""
    before = town.committee.current_epoch()
    town.pass_time(1_000)

    def pause(election: ElectionState) -> None:
        if election.phase.name.lower() == where:
            raise BrokenOffError(where)
        town.pause(election)

    with monkeypatch.context() as patch:
        if where == "settle":
            _settle_breaks_after_generation(patch)
        elif where == "follow":
            patch.setattr(RemoteCommittee, "follow", _broken)
        with pytest.raises(BrokenOffError):
            town.federation.epochs.rotate(pause)
    keys = town.federation.run.group_keys
    shutil.rmtree(keys)  # as in another caller's copy of the run
    with Federation.open(town.federation.run.path, nodes=town.federation.nodes) as another:
        rotated = another.epochs.rotate(town.pause)
    assert rotated.epoch == town.committee.current_epoch() == before + 1
    assert town.federation.contracts.mirror.current_epoch() == before + 1
    assert not (town.federation.run.path / "rotation.json").exists()
    assert town.committee.election().phase is Phase.IDLE


def test_a_second_rotation_in_one_run_says_who_leads(town: Electorate) -> None:
    said: list[str] = []

    def pause(election: ElectionState) -> None:
        if not said:
            with pytest.raises(RunError) as refused:
                town.federation.epochs.rotate(town.pause)
            said.append(str(refused.value))
        town.pause(election)

    town.pass_time(1_000)
    before = town.committee.current_epoch()
    assert town.federation.epochs.rotate(pause).epoch == before + 1
    assert f"is being led in {town.federation.run.path} by process {os.getpid()} on " in said[0]


def test_two_rotations_from_two_copies_of_a_run_bring_one_epoch(
    town: Electorate, chains: Nodes, tmp_path: Path
) -> None:
    """Both lead at the same time; the slower one accepts a step already taken."""
    town.pass_time(1_000)
    before, copy = town.committee.current_epoch(), tmp_path / "run"
    aside = shutil.ignore_patterns("journal.sqlite*", "live", "archive")  # members open and close the journal
    shutil.copytree(town.federation.run.path, copy, ignore=aside)
    place, payer = town.federation.nodes.place, Signer.from_mnemonic(DEV_MNEMONIC, 5)

    def another() -> Rotated:
        with Nodes(place, payer) as nodes, Federation.open(copy, nodes=nodes) as federation:
            return federation.epochs.rotate(lambda election: time.sleep(0.1))

    def pause(election: ElectionState) -> None:
        until(lambda: second.done() or (copy / "rotation.json").exists())
        town.pause(election)

    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(another)
        first, found = town.federation.epochs.rotate(pause), second.result()
    assert first.epoch == found.epoch == before + 1
    assert first.key_id == found.key_id == town.committee.key_id(before + 1)
    assert town.federation.contracts.mirror.current_epoch() == before + 1
    forgets(town.federation, 8)


def _settle_breaks_after_generation(patch: pytest.MonkeyPatch) -> None:
    honest, generated = RemoteCommittee.generate_elected, []

    def generate(self: RemoteCommittee, *arguments: Any) -> Any:
        generated.append(honest(self, *arguments))
        patch.setattr(RemoteCommittee, "settle", _broken)
        return generated[0]

    patch.setattr(RemoteCommittee, "generate_elected", generate)


def _broken(*arguments: Any) -> bool:
    raise BrokenOffError("a step was not made")


def test_after_all_that_the_committee_redacts(town: Electorate) -> None:
    """The run did not see the generation of its key; the members tell it."""
    shutil.rmtree(town.federation.run.group_keys, ignore_errors=True)
    forgets(town.federation, 7)


def test_a_key_that_was_generated_and_not_settled_on_is_used(town: Electorate) -> None:
    """A new leader of the rotation generates no second key for the same attempt."""
    town.pass_time(1_000)
    made: list[bytes] = []
    honest = RemoteCommittee.generate_elected
    with pytest.MonkeyPatch.context() as patch:
        _settle_breaks_after_generation(patch)
        with pytest.raises(BrokenOffError):
            town.federation.epochs.rotate(town.pause)
    with pytest.MonkeyPatch.context() as patch:

        def generate(self: RemoteCommittee, *arguments: Any) -> Any:
            made.append(b"again")
            return honest(self, *arguments)

        patch.setattr(RemoteCommittee, "generate_elected", generate)
        town.federation.epochs.rotate(town.pause)
    assert made == []


def test_an_epoch_that_begins_behind_the_leaders_back_is_the_one_it_wanted(town: Electorate) -> None:
    """The members confirm between the leader's look at the election and its key generation."""
    before = town.committee.current_epoch()
    honest = RemoteCommittee.settle

    def settle_late(self: RemoteCommittee, election: ElectionState, members: Any) -> bool:
        if honest(self, election, members):
            while town.committee.current_epoch() == before:
                town.pause(election)
        return False

    town.pass_time(1_000)
    with pytest.MonkeyPatch.context() as patch:
        _settle_breaks_after_generation(patch)
        with pytest.raises(BrokenOffError):
            town.federation.epochs.rotate(town.pause)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemoteCommittee, "settle", settle_late)
        patch.setattr(RemoteCommittee, "generate_elected", _broken)  # no second key for a finished attempt
        assert town.federation.epochs.rotate(town.pause).epoch == before + 1


def test_members_admit_no_other_charter_than_the_chain_has_elected(town: Electorate) -> None:
    refusals: dict[str, str] = {}

    def pause(election: ElectionState) -> None:
        if not refusals and election.phase is Phase.CONFIRM:
            refusals.update(_refusals(town, election))
        town.pause(election)

    town.pass_time(1_000)
    town.federation.epochs.rotate(pause)
    assert refusals == {
        "other draw": "the election is at epoch",
        "other attempt": "the election is at epoch",
        "other epoch": "next epoch is",
        "other order": "other members than the chain elected",
        "too few dealers": "a key with threshold 2 among 2 of 4 members",
        "threshold above the quorum": "a key with threshold 4 among 4 of 4 members",
        "threshold that the faulty third has": "use the key alone",
    }


def _refusals(town: Electorate, election: ElectionState) -> dict[str, str]:
    """Refusals of the first elected member for charters with one difference, up to the expected length."""
    members = town.committee.elected()
    place = (town.committee.chain_id, town.committee.address, election.epoch, election.draw, election.attempt)
    right = Charter(*place, members, (1, 2, 3, 4), 3, bytes(32))
    wrong = {
        "other draw": (replace(right, draw=right.draw + 1), "the election is at epoch"),
        "other attempt": (replace(right, attempt=2), "the election is at epoch"),
        "other epoch": (replace(right, epoch=right.epoch + 1), "next epoch is"),
        "other order": (replace(right, members=members[::-1]), "other members than the chain elected"),
        "too few dealers": (
            replace(right, dealers=(1, 2), threshold=2),
            "a key with threshold 2 among 2 of 4 members",
        ),
        "threshold above the quorum": (
            replace(right, threshold=4),
            "a key with threshold 4 among 4 of 4 members",
        ),
        "threshold that the faulty third has": (replace(right, threshold=1), "use the key alone"),
    }
    found = town.federation.epochs.reachable().values()
    clients = (each.client for each in found if isinstance(each, ReachableMember))
    (client,) = (client for client in clients if client.address == members[0])
    told = {}
    for name, (charter, expected) in wrong.items():
        with pytest.raises(RefusedError) as refused:
            client.ask(MessageKind.KEY_COMMIT, charter.epoch, charter.digest(), charter)
        told[name] = expected if expected in str(refused.value) else str(refused.value)
    return told
