# SPDX-License-Identifier: Apache-2.0
"""Joining with a fault gives a clear error, registers nothing, and succeeds after the correction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockful_py.chain.participant_registry import ParticipantRegistryContract
from blockful_py.cli.parties import member_run
from blockful_py.committee.service.folder import MemberFolder
from blockful_py.errors import (
    BlockfulError,
    DeploymentError,
    LearningError,
    NodeError,
    RunError,
    SettingsError,
)
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.joining import join
from blockful_py.pipeline.founding import create
from blockful_py.pipeline.run.contracts import open_contracts
from blockful_py.pipeline.run.entering import enter
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from blockful_py.pipeline.run.training_data import save_users
from blockful_py.record.federation_file import FederationFile, uri_of
from blockful_py.settings import Settings
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.store import ContentStore
from tests.canary import NAME, NET, TRAINER, Canary, canary_in
from tests.devnets import set_balance
from tests.disks import small_disk
from tests.federations import small
from tests.limits import ANY_SIZE
from tests.member.processes import QUICK, WORDS
from tests.participant.conftest import ETHER, nodes_for
from tests.storage.machines import serving


class Ground:
    """Federations with served public files, and their data."""

    def __init__(self, folder: Path, chains: Nodes, url: str, served: ContentStore) -> None:
        self._folder, self._chains, self._served = folder, chains, served
        self._urls = (url, *(f"http://127.0.0.1:{port}" for port in (1, 2, 3)))
        self._made = 0
        self.data = save_users(self.settings(), folder / "data")

    def settings(self, participants: str = "any") -> Settings:
        committee = {"roster": "elected", "members": self._urls, "size": 4}
        return small(committee=committee, access={"participants": participants})

    def federation(self, participants: str = "any") -> bytes:
        """The file of a new federation before its founding."""
        self._made += 1
        directory = self._folder / f"founder-{self._made}"
        with nodes_for(self._chains, self.funded(ReaderKeys.generate()).account_secret) as nodes:
            data = create(f"number {self._made}", self.settings(participants), directory, nodes)
        public, store = FederationFile.parse(data).public, ContentStore(directory / "live")
        for cid in (public.measuring, public.initial):
            self._served.add(store.read(parse_cid(cid), ANY_SIZE))
        return data

    def funded(self, keys: ReaderKeys) -> ReaderKeys:
        for node in (self._chains.live, self._chains.archive):
            set_balance(node, keys.account, ETHER)
        return keys

    def registry(self, file: bytes, nodes: Nodes) -> ParticipantRegistryContract:
        entry = FederationFile.parse(file).contracts[str(nodes.live.chain_id)]["ParticipantRegistry"]
        return ParticipantRegistryContract(nodes.live, bytes.fromhex(entry.address[2:]), nodes.live_sender)


@pytest.fixture(scope="module")
def ground(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("ground")
    served = ContentStore(folder / "served")
    with serving(served) as machine:
        yield Ground(folder, chains, machine.url, served)


@pytest.fixture(scope="module")
def file(ground: Ground) -> bytes:
    return ground.federation()


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    with canary_in(tmp_path) as canary:
        yield canary


class Newcomer:
    """A participant that has not joined."""

    def __init__(self, ground: Ground, folder: Path, nodes: Nodes, keys: ReaderKeys) -> None:
        self.ground, self.party, self.nodes, self.keys = ground, ParticipantFolder(folder), nodes, keys

    def join(self, file: bytes, data: Path | None = None, allow: tuple[str, ...] = ()) -> int | None:
        path, code = str(data or self.ground.data[0]), {"allow": allow}
        party = join(self.party, self.keys, file, path, self.nodes, device="cpu", code=code).party
        return party.user if party else None

    def number(self, file: bytes) -> int:
        return self.ground.registry(file, self.nodes).participant(self.keys.account).number


@pytest.fixture
def newcomer(ground: Ground, chains: Nodes, tmp_path: Path) -> Iterator[Newcomer]:
    party = ParticipantFolder(tmp_path / "newcomer")
    keys = ground.funded(party.init(WORDS, QUICK))
    with nodes_for(chains, keys.account_secret) as nodes:
        yield Newcomer(ground, party.path, nodes, keys)


def contents(folder: Path) -> dict[str, bytes]:
    """Description and contracts of a run."""
    return {path.name: path.read_bytes() for path in (folder / "run.json", *folder.glob("deployments/*"))}


def test_another_federations_file_leaves_the_run_as_it_is(
    ground: Ground, file: bytes, newcomer: Newcomer, tmp_path: Path
) -> None:
    other = ground.federation()
    number = newcomer.join(file)
    member = enter(tmp_path / "member", file, newcomer.nodes).path
    for run in (newcomer.party.run, member):
        before = contents(run)
        with pytest.raises(SettingsError, match=r"of another federation \('number 2'\)"):
            enter(run, other, newcomer.nodes)
        assert contents(run) == before
    with pytest.raises(SettingsError, match="a folder of its own for each federation"):
        newcomer.join(other)
    assert newcomer.number(other) == 0
    assert newcomer.join(file) == number


def test_other_chains_are_named(ground: Ground, chains: Nodes, file: bytes, newcomer: Newcomer) -> None:
    parsed = FederationFile.parse(file)
    elsewhere = replace(parsed, contracts={"4242": parsed.contracts["1337"]}).to_bytes()
    with pytest.raises(SettingsError, match="is on chain 4242; these nodes are on 1337 and 1338"):
        newcomer.join(elsewhere)
    swapped = ChainEndpoints(1337, 1338, chains.archive.url, chains.live.url)
    with pytest.raises(NodeError, match="1338"), Nodes(swapped):
        raise AssertionError("a node of another chain was taken")
    assert not newcomer.party.run.exists()


def test_another_contracts_code_is_named(file: bytes, newcomer: Newcomer) -> None:
    parsed = FederationFile.parse(file)
    entries = parsed.contracts["1337"]
    for changed, there in (
        (replace(entries["LiveChain"], code="0x" + "11" * 32), "other code"),
        (replace(entries["LiveChain"], address="0x" + "11" * 20), "no contract"),
        (replace(entries["LiveChain"], address=entries["Committee"].address), "other code"),
    ):
        altered = replace(parsed, contracts={"1337": {**entries, "LiveChain": changed}})
        with pytest.raises(DeploymentError, match=f"has {there} there"):
            newcomer.join(altered.to_bytes())
    assert not newcomer.party.run.exists()
    assert newcomer.number(file) == 0


def test_a_file_that_is_not_the_one_on_the_chain_is_refused(
    ground: Ground, chains: Nodes, newcomer: Newcomer
) -> None:
    founder = ground.funded(ReaderKeys.generate())
    with nodes_for(chains, founder.account_secret) as nodes:
        directory = newcomer.party.path.parent / "founder"
        standing = create("founded", ground.settings(), directory, nodes)
        public = FederationFile.parse(standing).public
        for cid in (public.measuring, public.initial):
            ground._served.add(ContentStore(directory / "live").read(parse_cid(cid), ANY_SIZE))
        open_contracts(nodes, directory / "deployments").participants.found(uri_of(standing).digest)
    parsed = FederationFile.parse(standing)
    altered = replace(parsed, learning=replace(parsed.learning, epochs=9)).to_bytes()
    with pytest.raises(SettingsError, match=f"file is 0x{uri_of(standing).digest.hex()} on the chain"):
        newcomer.join(altered)
    assert not newcomer.party.run.exists()
    number = newcomer.join(standing)
    before = contents(newcomer.party.run)
    with pytest.raises(SettingsError, match="get the current file"):
        newcomer.join(altered)
    assert contents(newcomer.party.run) == before
    assert newcomer.join(standing) == number


FLOWER = "blockful_py.flower.network:network"
NAMING: dict[str, dict[str, dict[str, Any]]] = {
    "learning.model": {"learning": {"model": NET}},
    "learning.options.of": {"learning": {"model": FLOWER, "options": {"of": NET}}},
    "learning.trainer": {"learning": {"trainer": TRAINER}},
    "unlearning.parallel": {"unlearning": {"parallel": NET}},
    "unlearning.sequential": {"unlearning": {"sequential": NET}},
}


@pytest.mark.parametrize("key", NAMING)
def test_code_that_the_file_names_is_refused_before_it_is_imported(
    file: bytes, newcomer: Newcomer, canary: Canary, tmp_path: Path, key: str
) -> None:
    parsed = FederationFile.parse(file)
    changed = {name: replace(getattr(parsed, name), **entries) for name, entries in NAMING[key].items()}
    naming = replace(parsed, **changed).to_bytes()
    (tmp_path / "federation.toml").write_bytes(naming)
    with pytest.raises(SettingsError, match=f"{key} = .* with --allow {FLOWER} --allow {NAME}"):
        newcomer.join(naming, allow=(FLOWER,))
    member = MemberFolder.create(tmp_path / "member", WORDS, QUICK)
    live, archive = [newcomer.nodes.live.url], [newcomer.nodes.archive.url]
    with pytest.raises(SettingsError, match=f"{key} = .* with --allow .*{NAME}"):
        member_run(member.path, None, tmp_path / "federation.toml", live, archive, member.keys)
    member.close()
    assert not newcomer.party.run.exists() and not (member.path / "run").exists()
    enter(tmp_path / "observer", naming, newcomer.nodes)
    assert not canary.was_imported


def test_a_trainer_that_is_allowed_runs(file: bytes, newcomer: Newcomer, canary: Canary) -> None:
    parsed = FederationFile.parse(file)
    naming = replace(parsed, learning=replace(parsed.learning, trainer=TRAINER)).to_bytes()
    assert newcomer.join(naming, allow=(TRAINER,)) == newcomer.number(file) > 0
    assert canary.was_imported


def test_an_account_without_gas_joins_once_it_has_some(
    chains: Nodes, file: bytes, newcomer: Newcomer
) -> None:
    account = newcomer.keys.account
    for node in (chains.live, chains.archive):
        set_balance(node, account, 0)
        with pytest.raises(
            SettingsError, match=f"0x{account.hex()} cannot pay for gas on chain {node.chain_id}"
        ):
            newcomer.join(file)
        with pytest.raises(RunError, match="has not joined yet"):
            newcomer.party.opened()
        set_balance(node, account, ETHER)
    set_balance(chains.live, account, 1)
    with pytest.raises(NodeError, match=rf"0x{account.hex()} has 1 wei on chain {chains.live.chain_id}"):
        newcomer.join(file)
    set_balance(chains.live, account, ETHER)
    assert newcomer.join(file) == newcomer.number(file) > 0


def test_data_that_does_not_fit_is_refused_before_anything_is_registered(
    file: bytes, newcomer: Newcomer, tmp_path: Path
) -> None:
    good = newcomer.ground.data[0].read_bytes()
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(good[:-1])
    with pytest.raises(Exception, match=r"bad\.safetensors cannot be used"):
        newcomer.join(file, bad)
    with pytest.raises(SettingsError, match=r"there is no file of samples .*nothing\.safetensors"):
        newcomer.join(file, tmp_path / "nothing.safetensors")
    assert newcomer.number(file) == 0
    number = newcomer.join(file)
    with pytest.raises(Exception, match=r"bad\.safetensors cannot be used"):
        newcomer.join(file, bad)
    party = newcomer.party.opened()[1]
    assert (party.user, party.data) == (number, str(newcomer.ground.data[0]))


def test_a_full_disk_loses_nothing(file: bytes, newcomer: Newcomer) -> None:
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(newcomer.party.path))
        with disk.full(), pytest.raises(BlockfulError, match="No space left on device"):
            newcomer.join(file)
        assert newcomer.keys.account == newcomer.party.keys(WORDS).account
        assert newcomer.join(file) == newcomer.number(file) > 0
        before = contents(newcomer.party.run)
        assert len(before) == 2
        with disk.full():
            assert contents(newcomer.party.run) == before


def test_a_closed_federation_says_who_admits(ground: Ground, newcomer: Newcomer) -> None:
    closed = ground.federation("admitted")
    with pytest.raises(RunError, match="blockful participant admit 0x" + newcomer.keys.account.hex()):
        newcomer.join(closed)
    assert newcomer.number(closed) == 0


def test_samples_of_another_shape_are_refused(file: bytes, newcomer: Newcomer, tmp_path: Path) -> None:
    from blockful_py.learning.data import Samples
    from blockful_py.learning.sample_files import samples_from_bytes, samples_to_bytes

    data = samples_from_bytes(newcomer.ground.data[0].read_bytes())
    wide = {
        part: Samples(getattr(data, part).x.repeat(1, 1, 1, 2), getattr(data, part).y)
        for part in ("train", "test", "proxy")
    }
    path = tmp_path / "wide.safetensors"
    path.write_bytes(samples_to_bytes(replace(data, **wide)))
    with pytest.raises(LearningError, match="convert them"):
        newcomer.join(file, path)
    assert newcomer.number(file) == 0


def test_before_the_founding_nobody_hands_out_the_public_files(
    chains: Nodes, ground: Ground, newcomer: Newcomer, tmp_path: Path
) -> None:
    nobody = tuple(f"http://127.0.0.1:{port}" for port in (1, 2, 3, 4))
    settings = ground.settings()
    alone = replace(settings, committee=replace(settings.committee, members=nobody))
    with nodes_for(chains, ground.funded(ReaderKeys.generate()).account_secret) as nodes:
        data = create("alone", alone, tmp_path / "founder", nodes)
    with pytest.raises(RunError, match="is not founded yet, and nobody hands out its public files"):
        newcomer.join(data)
