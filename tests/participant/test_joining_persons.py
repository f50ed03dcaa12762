# SPDX-License-Identifier: Apache-2.0
"""Joining with a column of persons makes an index of them, and nothing else has the column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.errors import LearningError, RunError, SettingsError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.datasets.parties.rows import read_rows
from blockful_py.learning.datasets.parties.rule import SampleRule
from blockful_py.learning.sample_files import samples_from_bytes
from blockful_py.participant.bringing import OwnFile
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.joining import join
from blockful_py.participant.persons import Persons
from blockful_py.pipeline.founding import create
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.federation_file import FederationFile
from blockful_py.settings import Settings
from blockful_py.storage.cid import parse_cid
from blockful_py.storage.store import ContentStore
from tests.cli.commands import blockful
from tests.devnets import set_balance
from tests.limits import ANY_SIZE
from tests.member.processes import QUICK, WORDS
from tests.participant.conftest import ETHER, nodes_for
from tests.storage.machines import serving

PERSONS = [f"id-{number:05}" for number in range(20)]


def hospital(folder: Path, name: str, column: str | None = "patient") -> Path:
    """A file of 60 rows of 20 persons; `age` is the row's number."""
    path, beside = folder / f"{name}.csv", "" if column is None else f",{column}"
    persons = ["" if column is None else f",{PERSONS[row % 20]}" for row in range(60)]
    rows = [f"{row},{'ny'[row % 3 == 0]}{person}" for row, person in enumerate(persons)]
    path.write_text("\n".join([f"age,ill{beside}", *rows, ""]), encoding="utf-8")
    return path


@dataclass
class Newcomer:
    """A participant that has drawn its public rows, and the file of a federation made of them."""

    party: ParticipantFolder
    keys: ReaderKeys
    nodes: Nodes
    federation: bytes

    def join(self, data: Path, person: str | None = None) -> list[str]:
        said = list[str]()
        join(self.party, self.keys, self.federation, str(data), self.nodes, person=person, tell=said.append)
        return said

    def rows(self) -> dict[str, list[int]]:
        """Each person's trained rows of the file by the index and the samples: `age` undoes the scaling."""
        persons, samples = Persons(self.party, self.keys), samples_from_bytes(self.party.samples.read_bytes())
        age = SampleRule.parse(samples.rule or "").columns[0]
        ages = samples.train.x[:, 0] * age.spread + age.mean
        index = persons.read().trained
        return {
            name: [round(ages[row].item()) for row in index.get(persons.name(name), ())] for name in PERSONS
        }


@pytest.fixture
def newcomer(chains: Nodes, tmp_path: Path) -> Iterator[Newcomer]:
    party = ParticipantFolder(tmp_path / "north")
    keys, founder = party.init(WORDS, QUICK), ReaderKeys.generate()
    (tmp_path / "public").mkdir()
    for name, account in (("south", founder.account), ("north", keys.account)):
        own = OwnFile.read(hospital(tmp_path, name), "ill", "patient")
        own.hand_out(party.public, account)
        (tmp_path / "public" / f"{name}.parquet").write_bytes(party.public.read_bytes())
    served = ContentStore(tmp_path / "served")
    with serving(served) as machine:
        members = (machine.url, *(f"http://127.0.0.1:{port}" for port in (1, 2, 3)))
        settings = Settings.parse(
            {
                "federation": {"scenario": "organic", "situation": "parties", "users": 2},
                "learning": {"dataset": "parties", "data_files": str(tmp_path / "public"), "model": "mlp"},
                "unlearning": {"starts": ["r1"], "classes": [0]},
                "committee": {"roster": "elected", "members": members, "size": 4},
            }
        )
        for account in (keys.account, founder.account):
            for node in (chains.live, chains.archive):
                set_balance(node, account, ETHER)
        with nodes_for(chains, founder.account_secret) as nodes:
            file = create("hospitals", settings, tmp_path / "founder", nodes)
        for cid in (FederationFile.parse(file).public.measuring, FederationFile.parse(file).public.initial):
            served.add(ContentStore(tmp_path / "founder" / "live").read(parse_cid(cid), ANY_SIZE))
        with nodes_for(chains, keys.account_secret) as nodes:
            yield Newcomer(party, keys, nodes, file)


def test_persons_are_indexed_and_named_nowhere_else(newcomer: Newcomer, tmp_path: Path) -> None:
    with pytest.raises(
        LearningError, match="has the columns age, ill, patient; this federation has age, ill"
    ):
        newcomer.join(tmp_path / "north.csv")
    said = newcomer.join(tmp_path / "north.csv", "patient")
    assert said[-1].startswith("20 persons by column 'patient', with 60 rows; ")
    whole = {name: [row for row in range(60) if row % 20 == i] for i, name in enumerate(PERSONS)}
    rows = newcomer.rows()
    assert all(rows[name] in ([], whole[name]) for name in PERSONS)
    assert 0 < sum(not held for held in rows.values()) < 20
    before = newcomer.party.persons.read_bytes()
    assert newcomer.join(tmp_path / "north.csv") == said, "the column is remembered"
    assert newcomer.party.persons.read_bytes() != before, "under another nonce"
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".csv"]
    assert len(files) > 20
    assert [path for path in files if b"id-00" in path.read_bytes() or b"patient" in path.read_bytes()] == []
    with pytest.raises(SettingsError, match=r"--person names a column .*samples\.safetensors has no columns"):
        newcomer.join(newcomer.party.samples, "patient")


def test_persons_can_be_named_after_joining(newcomer: Newcomer, tmp_path: Path) -> None:
    newcomer.join(hospital(tmp_path, "north", None))
    with pytest.raises(RunError, match="does not know which rows are whose"):
        Persons(newcomer.party, newcomer.keys).read()
    newcomer.join(hospital(tmp_path, "north"), "patient")
    assert any(newcomer.rows().values())


def test_init_keeps_persons_whole(tmp_path: Path) -> None:
    hospital(tmp_path, "north")
    (tmp_path / "words").write_text(WORDS, encoding="utf-8")
    own = ("--data", "north.csv", "--label", "ill", "--passphrase-file", "words")
    made = blockful(
        tmp_path, "participant", "init", "hospital", *own, "--json", "--person", "patient"
    ).document
    public = read_rows(tmp_path / "hospital" / "public.parquet").columns
    assert sorted(public) == ["age", "ill"]
    persons = [int(age) % 20 for age in public["age"]]
    assert len(persons) == made["public"] == 3 * len({*persons})
    assert "no column 'who' of persons" in (
        blockful(tmp_path, "participant", "init", "other", *own, "--person", "who").error
    )
    words = ("participant", "init", "other", "--person", "who", "--passphrase-file", "words")
    assert "--person is a column of --data: give both" in blockful(tmp_path, *words).error
    assert not (tmp_path / "other").exists()
