# SPDX-License-Identifier: Apache-2.0
"""The committee changes the federation file and bars participants; all parties follow the current file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.child_process import ChildProcesses
from blockful_py.cli.parties import led_by_member
from blockful_py.committee.motions import Matter
from blockful_py.committee.service.folder import keys_in
from blockful_py.errors import QuorumError, RunError, SettingsError
from blockful_py.forget import Forget
from blockful_py.participant.joining import join
from blockful_py.participant.serving import RETRY_SECONDS, ParticipantService
from blockful_py.participant.task import MODULE
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.entering import FILE
from blockful_py.record.federation_file import FederationFile, uri_of, uri_of_digest
from blockful_py.types import Paradigm
from tests.canary import TRAINER, canary_in
from tests.cli.commands import Outcome, blockful
from tests.limits import ANY_SIZE
from tests.member.leaders import until
from tests.member.processes import WORDS, MemberProcess
from tests.participant.conftest import Machines, Participant

pytestmark = pytest.mark.processes

PASSPHRASE = {"BLOCKFUL_PASSPHRASE": WORDS}


@contextmanager
def serving(participant: Participant, clock: list[float] | None = None) -> Iterator[ParticipantService]:
    now = (lambda: clock[0]) if clock else (lambda: 0.0)
    with (
        ChildProcesses(MODULE) as processes,
        ParticipantService(participant.folder, participant.keys, processes, now) as service,
    ):
        yield service


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    """A federation with two participants that have published."""
    for name in ("a", "b"):
        with machines.participants[name].run() as party:
            party.train_next()
    return machines


def standing(machines: Machines) -> FederationFile:
    """The members' current file."""
    with led_by_member(machines.members[0].folder, keys_in(machines.members[0].folder, WORDS)) as federation:
        party = federation.run.party
        assert party is not None
        return FederationFile.parse(
            federation.stores.live.read(uri_of_digest(bytes.fromhex(party.federation)), ANY_SIZE)
        )


def patient(machines: Machines, path: Path, seconds: float) -> Path:
    """The current file with a different patience."""
    file = standing(machines)
    changed = replace(file, federation=replace(file.federation, patience=seconds))
    path.write_bytes(changed.to_bytes())
    return path


def command(machines: Machines, *arguments: str) -> Outcome:
    return blockful(machines.folder, *arguments, environment=PASSPHRASE)


def agree(machines: Machines, members: list[MemberProcess]) -> list[Outcome]:
    """Has the operators agree to the first member's only motion."""
    (motion,) = (machines.members[0].folder / "run" / "motions").glob("*.json")
    return [command(machines, "committee", "agree", str(motion), str(each.folder)) for each in members]


def decided(machines: Machines, *arguments: str) -> Outcome:
    """A command that the committee decides on, repeated after three operators have agreed."""
    first = command(machines, *arguments)
    assert first.status == 6
    assert "0 of 4 members agree" in first.error
    assert all(each.status == 0 for each in agree(machines, machines.members[:3]))
    done = command(machines, *arguments)
    assert done.status == 0, done.err
    return done


def patience(member: MemberProcess) -> float:
    return RunDirectory.open(member.folder / "run").settings.federation.patience


def test_everybody_goes_on_by_a_file_that_operators_agreed_to(published: Machines, tmp_path: Path) -> None:
    new, leader = patient(published, tmp_path / "new.toml", 5.0), str(published.members[0].folder)
    digest = uri_of(new.read_bytes()).digest
    change = ("federation", "change", str(new), leader)
    with serving(published.participants["s"]) as participant, published.members[3].dead():
        refused = command(published, *change)
        assert "0 of 3" in refused.error or "0 of 4 members agree" in refused.error
        shown = agree(published, published.members[:3])
        assert all("federation.patience: 3600.0 -> 5.0" in each.out for each in shown)
        assert command(published, *change).status == 0
        assert published.contracts.participants.file_digest() == digest
        until(lambda: all(patience(member) == 5.0 for member in published.members[:3]))
        participant.step()  # follows, and publishes by the new file
        assert participant.party.federation == digest.hex()
        assert participant.run.settings.federation.patience == 5.0
        assert participant.catalogue().models.keys() == {"a", "b", "s"}
    until(lambda: patience(published.members[3]) == 5.0)  # its command line names the file before


def test_a_participant_without_the_file_does_nothing_until_members_hand_it_out(
    published: Machines, tmp_path: Path
) -> None:
    new, leader = patient(published, tmp_path / "new.toml", 6.0), str(published.members[0].folder)
    decided(published, "federation", "change", str(new), leader)
    clock = [0.0]
    with serving(published.participants["b"], clock) as participant:
        with ExitStack() as stack:
            for member in published.members:
                stack.enter_context(member.dead())
            for _ in range(2):
                with pytest.raises(SettingsError, match="no member hands it out"):
                    participant.step()
        with pytest.raises(SettingsError, match="no member hands it out"):
            participant.step()
        clock[0] += RETRY_SECONDS
        participant.step()
        assert participant.run.settings.federation.patience == 6.0


def test_members_refuse_other_rules_for_a_request_that_is_open(published: Machines, tmp_path: Path) -> None:
    with published.participants["a"].run() as party:
        number = party.request(("a",), Forget.of_classes([3]), Paradigm.PARALLEL, None)
    file, leader = standing(published), published.members[0].folder
    changed = replace(file, learning=replace(file.learning, epochs=2))
    (tmp_path / "new.toml").write_bytes(changed.to_bytes())
    refused = command(published, "federation", "change", str(tmp_path / "new.toml"), str(leader))
    assert f"request {number} is open" in refused.error
    told = _agreed_unseen(published, changed)
    assert all(f"request {number} is open" in each.error for each in told)
    with published.participants["a"].run() as party:
        party.take_part(number)
        until(lambda: party.federation.catalogue()["a"].version == 1)


def test_another_federations_contracts_are_refused(published: Machines, tmp_path: Path) -> None:
    file = standing(published)
    (chain_id, entries), *others = file.contracts.items()
    name, entry = next(iter(entries.items()))
    contracts = {chain_id: {**entries, name: replace(entry, block=entry.block + 1)}, **dict(others)}
    (tmp_path / "new.toml").write_bytes(replace(file, contracts=contracts).to_bytes())
    leader = str(published.members[0].folder)
    refused = command(published, "federation", "change", str(tmp_path / "new.toml"), leader)
    assert f"contracts.{chain_id}.{name}.block" in refused.error


def test_a_barred_participant_stops_and_goes_on_once_it_is_readmitted(published: Machines) -> None:
    barred, leader = published.participants["z"], str(published.members[0].folder)
    account = "0x" + barred.keys.account.hex()
    decided(published, "participant", "bar", account, leader)
    with serving(barred) as participant:
        with pytest.raises(RunError, match="has barred"):
            participant.step()
        decided(published, "participant", "readmit", account, leader)
        with pytest.raises(RunError, match="participant join"):
            participant.step()
        data = str(published.folder / "data" / "user-5.safetensors")
        file = standing(published).to_bytes()
        assert (
            join(barred.folder, barred.keys, file, data, barred.nodes, device="cpu").party
            == participant.party
        )
        participant.step()
        assert participant.next_model(participant.catalogue()) is None
    decided(published, "participant", "admit", account, leader)
    assert published.contracts.participants.participant(barred.keys.account).admitted


def test_code_that_a_new_file_names_is_imported_by_nobody_who_has_not_allowed_it(
    published: Machines, tmp_path: Path
) -> None:
    file, (leader, *_, reluctant) = standing(published), published.members
    naming = replace(file, learning=replace(file.learning, trainer=TRAINER))
    (tmp_path / "new.toml").write_bytes(naming.to_bytes())
    (tmp_path / "old.toml").write_bytes(file.to_bytes())
    change = ("federation", "change", str(tmp_path / "new.toml"), str(leader.folder))
    line = f"learning.trainer = '{TRAINER}'"
    with canary_in(tmp_path) as canary:
        assert line in command(published, *change).error
        told = _agreed_unseen(published, naming)
        assert all(line in each.error and f"--allow {TRAINER}" in each.error for each in told)
        assert not canary.was_imported
        for member in published.members[:3]:  # a quorum
            nodes = published.participants["t"].nodes
            place = ("--live-url", nodes.live.url, "--archive-url", nodes.archive.url)
            allowed = ("--federation", str(tmp_path / "old.toml"), "--allow", TRAINER)
            assert command(published, "committee", "enter", str(member.folder), *allowed, *place).status == 0
        decided(published, *change)
        until(lambda: all(trainer_of(member) == TRAINER for member in published.members[:3]))
        canary.forget()
        late = published.participants["t"]
        with serving(late) as participant:
            with pytest.raises(SettingsError, match=f"cannot go by .*{line}") as refused:
                participant.step()
            assert not canary.was_imported
            kept = late.folder.run / FILE
            assert str(kept) in str(refused.value)
            assert kept.read_bytes() == naming.to_bytes()
        data = RunDirectory.open(late.folder.run).party
        assert data is not None and data.data is not None
        join(
            *(late.folder, late.keys, kept.read_bytes(), data.data, late.nodes),
            device="cpu",
            code={"allow": (TRAINER,)},
        )
        canary.forget()
        with late.run() as party:
            assert party.federation.settings.learning.trainer == TRAINER
            assert party.federation.setup.federation.trainer is not None
        assert canary.was_imported
        assert trainer_of(reluctant) is None


def trainer_of(member: MemberProcess) -> str | None:
    return RunDirectory.open(member.folder / "run").settings.learning.trainer


def _agreed_unseen(machines: Machines, file: FederationFile) -> list[Outcome]:
    """The warning to operators who would agree to a file that the leader did not check."""
    leader = machines.members[0].folder
    with led_by_member(leader, keys_in(leader, WORDS)) as federation:
        administration, context = federation.administration(), federation.context
        uri = context.stores.live.add(file.to_bytes())
        context.hand_out([uri])
        with pytest.raises(QuorumError):
            administration._carry(Matter.CHANGE_FILE, uri.digest)
        motion = administration._open.find(1, Matter.CHANGE_FILE, uri.digest)
        told = agree(machines, machines.members)
        administration._open.close(motion)
    return told
