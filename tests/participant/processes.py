# SPDX-License-Identifier: Apache-2.0
"""A federation whose chains, members and participants are processes, each with its own folder and user."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.devnet import NodeOptions
from blockful_py.chain.processes import HOST, take_port
from blockful_py.chain.programs import anvil_command
from blockful_py.chain.sender import Sender
from blockful_py.chain.signer import Signer
from blockful_py.committee.motions import AGREED, Agreements, Motion
from blockful_py.committee.service.folder import MemberFolder, keys_in
from blockful_py.errors import QuorumError, ToolchainError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.member.candidacy import Candidate, fund
from blockful_py.member.endpoints import signer_of
from blockful_py.participant.folder import KEYS, ParticipantFolder
from blockful_py.participant.joining import join
from blockful_py.pipeline.coordination.motions import FileChanges, read_motion
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.founding import FILE, create, found
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.run.accounts import provide
from blockful_py.pipeline.run.contracts import Contracts, open_contracts
from blockful_py.pipeline.run.entering import enter
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.training_data import save_users
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import parse_certificate
from tests.confinement import Confinement, begin_confined, confined
from tests.devnets import set_balance
from tests.disks import SmallDisk, small_disk
from tests.federations import promised
from tests.member.leaders import until
from tests.member.processes import QUICK, WORDS, MemberProcess, ServiceProcess, stop
from tests.participant.chain_process import LOG, ChainProcess
from tests.participant.conftest import ETHER, SEED, machine_settings
from tests.participant.steps import Stop

LIVE, ARCHIVE = 1337, 1338
CHAINS: Mapping[str, int] = {"live": LIVE, "archive": ARCHIVE}
FIRST_USER = 61_000
"""First user id of the parties; no account needs to have it."""
GRAPH: Mapping[str, Sequence[str]] = {"a": (), "s": ("a",), "y": ("s",)}
"""One model of each participant, in the order of their numbers."""
PARTIES = ("live", "archive", "member-1", "member-2", "member-3", "member-4", *GRAPH)
PASSPHRASE = "words"
DETAILED = ("--log-format", "json", "--log-level", "debug")
"""Settings that make services log everything, for tests that look for secrets there."""


@dataclass(frozen=True)
class Seat:
    """The place of a party: its address and its network namespace."""

    address: str = HOST
    namespace: str | None = None


@dataclass(frozen=True)
class Terms:
    """The terms of a federation.

    Attributes:
        names: names of the participants.
        sections: settings that differ from the other tests'.
        disk: MiB of each member's and participant's separate disk; None if they share the test's disk.
    """

    names: tuple[str, ...] = tuple(GRAPH)
    sections: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {
            "federation": {"graph": GRAPH, "users": len(GRAPH)},
            "unlearning": {"starts": ("s",)},
        }
    )
    disk: int | None = None


@dataclass
class ParticipantProcess(ServiceProcess):
    """One participant: its folder, and its process."""

    folder: Path

    def command(self) -> Sequence[str]:
        return ("participant", "serve", *self._who(), *DETAILED, "--json")

    def is_ready(self, line: dict[str, Any]) -> bool:
        return "participant" in line

    def run(self, *command: str) -> None:
        """Runs `blockful participant COMMAND FOLDER ...` as the participant."""
        process = self.begin_run(*command)
        process.join()
        assert process.exitcode == 0, f"{command}: exit status {process.exitcode}"

    def begin_run(self, *command: str) -> BaseProcess:
        """Starts a command like `run`, without waiting for it."""
        name, *rest = command
        words = ("participant", name, *self._who(), *rest)
        return begin_confined(self.confinement, _command, words)

    def stop_at(self, step: str) -> Stop:
        return Stop(self.folder, step)

    def opened(self, nodes: Nodes) -> PartyRun:
        """Its run, opened by the test after its process has ended."""
        assert self.process is None
        folder = ParticipantFolder(self.folder)
        return PartyRun.of_participant(folder.run, nodes, folder.keys(WORDS))

    def _who(self) -> tuple[str, ...]:
        return str(self.folder), "--passphrase-file", str(self.folder / PASSPHRASE)


@dataclass(kw_only=True)
class AuditorProcess(ServiceProcess):
    """One auditor: its folder, its account, and its process."""

    folder: Path
    keys: ReaderKeys
    arguments: Sequence[str]

    def command(self) -> Sequence[str]:
        own = ("--folder", str(self.folder), "--passphrase-file", str(self.folder / PASSPHRASE))
        return ("auditor", "replay", str(self.folder / KEYS), *self.arguments, *own, *DETAILED, "--json")

    def is_ready(self, line: dict[str, Any]) -> bool:
        return bool(line.get("auditor") == self.account)

    @property
    def account(self) -> str:
        return "0x" + self.keys.account.hex()


@dataclass
class ProcessFederation:
    """A founded federation; its members serve, its participants wait to be started.

    Attributes:
        folder: contains the folders of all parties.
        observed: the run of an observer without a part in it and without keys.
        disks: separate disks of members and participants, by their folders.
    """

    folder: Path
    nodes: Nodes
    contracts: Contracts
    members: list[MemberProcess]
    participants: dict[str, ParticipantProcess]
    observed: Path
    chains: Mapping[str, ChainProcess]
    disks: Mapping[Path, SmallDisk]

    @contextmanager
    def watched(self) -> Iterator[Federation]:
        with Federation.open(self.observed, nodes=self.nodes) as federation:
            yield federation

    def versions(self) -> dict[str, int]:
        with self.watched() as federation:
            return {name: placed.version for name, placed in federation.catalogue().models.items()}

    def until_published(self, *names: str) -> None:
        until(lambda: set(names) <= self.versions().keys())

    def until_replaced(self, before: Mapping[str, int], *names: str) -> None:
        """Waits until each of the models has one version more."""
        until(lambda: all(self.versions()[name] > before[name] for name in names))

    def auditor(self, name: str) -> AuditorProcess:
        """An auditor with a user of its own, in the place of a participant; its process is not started."""
        folder, beside = self.folder / "auditor", self.participants[name].confinement
        folder.mkdir(mode=0o700)
        keys = ReaderKeys.generate()
        keys.save(folder / KEYS, WORDS, QUICK)
        (folder / PASSPHRASE).write_text(WORDS + "\n", encoding="utf-8")
        own = replace(beside, user=None if beside.user is None else FIRST_USER + len(PARTIES) + 1)
        own.own(folder)
        return AuditorProcess(
            folder=folder, keys=keys, arguments=self.entering, confinement=own, log=folder / LOG
        )

    @property
    def entering(self) -> tuple[str, ...]:
        """Options of commands that enter the federation."""
        urls = ("--live-url", self.nodes.live.url, "--archive-url", self.nodes.archive.url)
        return ("--federation", str(self.folder / FILE), *urls)

    def names(self, auditor: AuditorProcess, leader: str) -> None:
        """Has a participant, which does not run, lead the motion that names an auditor."""
        keys, participant = auditor.keys, self.participants[leader]
        with participant.opened(self.nodes) as party:
            administration = party.federation.administration()
            with pytest.raises(QuorumError, match="has not agreed to register"):
                administration.set_auditor(keys.account, keys.encryption_key)
            (path,) = party.federation.run.motions.glob("*.json")
            for member in self.members:
                confined(member.confinement, _agree, (member.folder, read_motion(path)))
            administration.set_auditor(keys.account, keys.encryption_key)
        participant.confinement.own(participant.folder)

    def verifies(self) -> None:
        """Checks that the record verifies, both chains keep every promise, and no request waits."""
        with self.watched() as federation:
            assert federation.verify().passed
            assert federation.audit().passed
            assert FileChanges(federation).open_requests() == ()
        promised(self.contracts)

    def certified(self, name: str, number: int) -> set[str]:
        """Has a participant get and verify the certificate of its request; returns the models on it."""
        participant = self.participants[name]
        path = participant.folder / f"erasure-{number}.json"
        participant.run("certificate", str(number), "--output", str(path))
        certificate = parse_certificate(path.read_bytes())
        check_certificate(certificate)
        return {each.name for each in certificate.statement.replaced}

    def reported(self) -> str:
        """All log lines of the services."""
        return "\n".join(each.reported() for each in (*self.members, *self.participants.values()))


@contextmanager
def process_federation(
    seats: Mapping[str, Seat],
    data: Callable[[list[Path]], None] = lambda paths: None,
    terms: Terms | None = None,
) -> Iterator[ProcessFederation]:
    """Four members, and participants; without `terms`, one for each model of GRAPH.

    `seats`: places of chains ("live", "archive"), members ("member-1" and so on) and participants (by their
    names); a party without one shares the test's loopback interface.  The test must reach all.  `data`:
    changes the participants' samples before they get them.  As root, each party gets its own user, whose
    files no other party can read.
    """
    terms = terms or Terms()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="blockful-"))
        folder.chmod(0o711)  # others pass through it to their own folders
        stack.callback(shutil.rmtree, folder)
        parties = _Parties(stack, folder, seats, terms)
        chains = {name: _chain(parties, name, number) for name, number in CHAINS.items()}
        live, archive = (stack.enter_context(closing(chain.ready())) for chain in chains.values())
        founder = ReaderKeys.generate()
        nodes = stack.enter_context(_nodes(live.url, archive.url, founder.account_secret))
        for node in (nodes.live, nodes.archive):
            set_balance(node, founder.account, ETHER)
        members = [_member(parties, f"member-{number}") for number in range(1, 5)]
        settings = machine_settings(tuple(member.url for member in members), **terms.sections)
        create("test", settings, folder / "founder", nodes)
        file = folder / FILE
        shutil.copy(folder / "founder" / FILE, file)
        file.chmod(0o644)
        urls = ("--live-url", live.url, "--archive-url", archive.url)
        stack.callback(stop, members)
        for member in members:
            words = ("--passphrase-file", str(member.folder / PASSPHRASE))
            member.arguments = (*urls, *words, *DETAILED, "--federation", str(file))
            member.begin("in steps")
        for member in members:
            member.ready()
        contracts = open_contracts(nodes, folder / "founder" / "deployments")
        committee = contracts.elected
        with Nodes(ChainEndpoints(LIVE, ARCHIVE, live.url, archive.url)) as payer:
            for member in members:
                keys = keys_in(member.folder, WORDS)
                fund(committee, payer.live_sender, keys.account, ETHER)
                provide(payer.archive_sender, contracts.live.interface, keys.account)
                sender = Sender(committee.node, signer_of(keys))
                Candidate(CommitteeContract(committee.node, committee.address, sender), keys).join(ETHER)
        found(folder / "founder", nodes, founder.account_secret, None, None)
        shutil.copy(folder / "founder" / FILE, file)
        place = (live.url, archive.url)
        for member in members:
            confined(member.confinement, _enter, (member.folder / "run", file, place))
        paths = save_users(replace(settings, seed=SEED), folder / "data")
        data(paths)
        participants: dict[str, ParticipantProcess] = {}
        for name, path in zip(terms.names, paths, strict=True):
            participants[name] = _participant(parties, name, path, file, nodes, place)
        stack.callback(stop, tuple(participants.values()))
        enter(folder / "observed", file.read_bytes(), nodes)
        opened = open_contracts(nodes, folder / "founder" / "deployments")
        observed = folder / "observed"
        yield ProcessFederation(folder, nodes, opened, members, participants, observed, chains, parties.disks)


def _agree(folder: Path, motion: Motion) -> None:
    Agreements(folder / AGREED).agree(motion)


def _command(*words: str) -> None:
    from blockful_py.cli.main import main

    main(list(words))


def _enter(run: Path, file: Path, place: tuple[str, str]) -> None:
    with Nodes(ChainEndpoints(LIVE, ARCHIVE, *place), Signer(os.urandom(32))) as nodes:
        enter(run, file.read_bytes(), nodes)


def _join(folder: Path, file: Path, place: tuple[str, str]) -> None:
    party = ParticipantFolder(folder)
    keys = party.keys(WORDS)
    with _nodes(*place, keys.account_secret) as nodes:
        join(party, keys, file.read_bytes(), str(folder / "samples.safetensors"), nodes, SEED, "cpu")


class _Parties:
    """Makes folders, disks and users for parties, one after the other."""

    def __init__(self, stack: ExitStack, folder: Path, seats: Mapping[str, Seat], terms: Terms) -> None:
        self.stack = stack
        self.folder = folder
        self.terms = terms
        self.disks: dict[Path, SmallDisk] = {}
        self._seats = seats
        self._users = 0

    def seat(self, name: str) -> Seat:
        return self._seats.get(name, Seat())

    def confinement(self, name: str) -> Confinement:
        self._users += 1
        user = FIRST_USER + self._users if os.geteuid() == 0 else None
        return Confinement(self.seat(name).namespace, user)

    def port(self) -> int:
        return self.stack.enter_context(take_port()).number

    def settle(self, folder: Path) -> None:
        """Puts a party's folder on a separate disk if the terms say so."""
        if self.terms.disk is not None:
            self.disks[folder] = self.stack.enter_context(small_disk(folder, self.terms.disk))


def _chain(parties: _Parties, name: str, chain_id: int) -> ChainProcess:
    """A started development chain as a process with its own folder."""
    seat, confinement, folder = parties.seat(name), parties.confinement(name), parties.folder / name
    folder.mkdir(mode=0o700)
    confinement.own(folder)
    port = parties.port()
    command = NodeOptions(chain_id, kind=_installed()).command(port, end_with_parent=False)
    here = [each.replace(HOST, seat.address) for each in command]
    chain = ChainProcess(folder, chain_id, f"http://{seat.address}:{port}", here, confinement)
    parties.stack.callback(chain.end)
    chain.begin()
    return chain


def _installed() -> str:
    try:
        anvil_command()
    except ToolchainError:
        return "ganache"
    return os.environ.get("TEST_NODE", "anvil")


def _member(parties: _Parties, name: str) -> MemberProcess:
    seat, confinement, path = parties.seat(name), parties.confinement(name), parties.folder / name
    folder = MemberFolder.create(path, WORDS, QUICK)
    folder.close()
    (path / PASSPHRASE).write_text(WORDS + "\n", encoding="utf-8")
    parties.settle(path)
    confinement.own(path)
    member = MemberProcess(path, parties.port(), folder.address, (), seat.address)
    member.confinement, member.log = confinement, path / LOG
    return member


def _participant(
    parties: _Parties, name: str, data: Path, file: Path, nodes: Nodes, place: tuple[str, str]
) -> ParticipantProcess:
    confinement, path = parties.confinement(name), parties.folder / f"participant-{name}"
    keys = ParticipantFolder(path).init(WORDS, QUICK)
    (path / PASSPHRASE).write_text(WORDS + "\n", encoding="utf-8")
    parties.settle(path)
    shutil.move(data, path / "samples.safetensors")
    confinement.own(path)
    for node in (nodes.live, nodes.archive):
        set_balance(node, keys.account, ETHER)
    confined(confinement, _join, (path, file, place))
    return ParticipantProcess(path, confinement=confinement, log=path / LOG)


def _nodes(live: str, archive: str, secret: int) -> Nodes:
    return Nodes(ChainEndpoints(LIVE, ARCHIVE, live, archive), Signer(secret.to_bytes(32, "big")))
