# SPDX-License-Identifier: Apache-2.0
"""The loader: online, offline, with files of another version, of another chain, or changed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from blockful_py import load
from blockful_py.errors import (
    FormatError,
    RecalledError,
    SettingsError,
    VerificationError,
)
from blockful_py.recall.known import KnownVersions, Seen
from blockful_py.record.fields import of_octets
from blockful_py.record.proofs.checking import check_record
from blockful_py.record.proofs.proof import parse_proof
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from tests.code_blocks import program
from tests.recall.conftest import EXPORT, Publisher

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "recall-a-model.md"
NOBODY = "http://127.0.0.1:9"
"""A URL at which no node answers."""
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def stands(publisher: Publisher) -> Path:
    """An export of b, which no request reaches."""
    publisher.told("export", "b", *EXPORT, "--output", "b-0")
    return publisher.folder / "b-0"


@pytest.fixture(scope="module")
def contract(stands: Path) -> str:
    return of_octets(check_record(parse_proof((stands / "proof.json").read_bytes()).record).address)


@pytest.fixture
def copy(stands: Path, tmp_path: Path) -> Path:
    return shutil.copytree(stands, tmp_path / "copy")


def test_a_version_that_stands_is_loaded(publisher: Publisher, stands: Path) -> None:
    found = load(stands, run=publisher.folder / "run")
    kept = load_file(stands / "model.safetensors")
    assert found.keys() == kept.keys()
    assert all(found[name].equal(kept[name]) for name in kept)


def test_a_node_by_its_url_is_enough(publisher: Publisher, stands: Path, contract: str) -> None:
    url = f"embedded:{publisher.folder / 'run' / 'chains' / 'live.sqlite'}"
    assert load(stands, live_url=url, contract=contract).keys()


def test_the_pages_program_loads_a_version_that_stands(
    publisher: Publisher, stands: Path, contract: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_for = {
        "r6-hf": str(stands),
        "https://live.example": f"embedded:{publisher.folder / 'run' / 'chains' / 'live.sqlite'}",
        "0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0": contract,
    }
    text = program(PAGE)
    for words, others in stand_for.items():
        assert words in text
        text = text.replace(words, others)
    monkeypatch.chdir(publisher.folder)
    names: dict[str, Any] = {}
    exec(compile(text, PAGE, "exec"), names)  # noqa: S102
    assert names["weights"].keys() == load_file(stands / "model.safetensors").keys()


def test_offline_it_refuses_unless_it_has_looked_before(
    publisher: Publisher, stands: Path, contract: str, tmp_path: Path
) -> None:
    known = tmp_path / "known.json"

    def offline(max_age: timedelta | None) -> object:
        return load(stands, live_url=NOBODY, contract=contract, known=known, max_age=max_age)

    with pytest.raises(VerificationError, match="never seen standing"):
        offline(DAY)
    load(stands, run=publisher.folder / "run", known=known)
    assert offline(DAY)
    with pytest.raises(VerificationError, match="at most 0:00:00 is allowed"):
        offline(None)
    old = _seen(known)
    _remember(known, contract, old.model_copy(update={"at": old.at - 2 * 86_400}))
    with pytest.raises(VerificationError, match=r"last seen standing 2 days.* 1 day"):
        offline(DAY)
    assert offline(3 * DAY)
    _remember(known, contract, old.model_copy(update={"at": old.at + 86_400}))
    with pytest.raises(VerificationError, match="last seen standing -1 day"):
        offline(DAY)


def test_what_was_seen_recalled_stays_refused_offline_at_any_age(
    stands: Path, contract: str, tmp_path: Path
) -> None:
    known = tmp_path / "known.json"
    node = Seen(version=1, node=cid_string(file_uri(b"another")), at=1)
    _remember(known, contract, node, _position(stands))
    with pytest.raises(RecalledError, match="ask its publisher"):
        load(stands, live_url=NOBODY, contract=contract, known=known, max_age=DAY)


def test_a_node_that_lags_behind_what_was_seen_is_not_believed(
    publisher: Publisher, stands: Path, contract: str, tmp_path: Path
) -> None:
    known = tmp_path / "known.json"
    load(stands, run=publisher.folder / "run", known=known)
    _remember(known, contract, _seen(known).model_copy(update={"version": 1}), _position(stands))
    with pytest.raises(VerificationError, match="it lags, or is of another chain"):
        load(stands, run=publisher.folder / "run", known=known)


def _position(folder: Path) -> str:
    (place,) = check_record(parse_proof((folder / "proof.json").read_bytes()).record).nodes
    return str(place)


def _seen(known: Path) -> Seen:
    (seen,) = KnownVersions.model_validate_json(known.read_bytes()).seen.values()
    return seen


def _remember(known: Path, contract: str, seen: Seen, place: str | None = None) -> None:
    before = KnownVersions.model_validate_json(known.read_bytes()).seen if known.exists() else {}
    (place,) = before if place is None else (place,)
    KnownVersions(chain_id=1337, contract=contract, seen={place: seen}).write(known)


CHANGES: dict[str, Callable[[Path], object]] = {
    "weights changed": lambda folder: _flip(folder / "model.safetensors"),
    "weights cut": lambda folder: _cut(folder / "model.safetensors"),
    "another key": lambda folder: _flip_hex(folder / "weights.key"),
    "proof changed": lambda folder: _swap(folder / "proof.json", b'"timestamp"', b'"timestamq"'),
    "node changed": lambda folder: _swap(folder / "proof.json", b'\\"user\\":', b'\\"user\\": '),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_folder_that_was_changed_is_refused(
    publisher: Publisher, copy: Path, change: Callable[[Path], object]
) -> None:
    change(copy)
    with pytest.raises((VerificationError, FormatError)):
        load(copy, run=publisher.folder / "run")


def test_files_that_are_missing_are_named(publisher: Publisher, copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    with pytest.raises(FormatError, match=r"model.safetensors cannot be read"):
        load(copy, run=publisher.folder / "run")
    (copy / "proof.json").unlink()
    with pytest.raises(FormatError, match=r"proof.json cannot be read"):
        load(copy, run=publisher.folder / "run")


def test_a_proof_of_a_new_version_does_not_carry_old_weights(publisher: Publisher, tmp_path: Path) -> None:
    """The file of a recalled version under the proof of the version that stands."""
    made = publisher
    if not list((made.folder / "run" / "certificates").glob("*.json")):
        made.told("unlearn", "--run", "run", "--quiet")
    if not (made.folder / "y-1").exists():
        made.told("export", "y", *EXPORT, "--output", "y-1")
    mixed = shutil.copytree(made.folder / "y-1", tmp_path / "mixed")
    shutil.copy(made.folder / "y-0" / "model.safetensors", mixed)
    with pytest.raises(VerificationError, match="content"):
        load(mixed, run=made.folder / "run")
    shutil.copy(made.folder / "y-0" / "weights.key", mixed)
    with pytest.raises(VerificationError, match="content"):
        load(mixed, run=made.folder / "run")
    shutil.copy(made.folder / "y-0" / "proof.json", mixed)
    with pytest.raises(RecalledError):
        load(mixed, run=made.folder / "run")


def test_the_caller_says_whose_record_counts(publisher: Publisher, stands: Path, contract: str) -> None:
    with pytest.raises(SettingsError, match="load needs `run`"):
        load(stands)
    with pytest.raises(SettingsError, match="load needs `run`"):
        load(stands, run=publisher.folder / "run", contract=contract)
    with pytest.raises(SettingsError, match="needs `live_url`"):
        load(stands, contract=contract)
    with pytest.raises(VerificationError, match="you trust 0x0000"):
        load(stands, live_url=NOBODY, contract="0x" + "00" * 20)


def test_one_memory_is_of_one_record(publisher: Publisher, stands: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    KnownVersions(chain_id=1, contract="0x" + "11" * 20, seen={}).write(known)
    with pytest.raises(FormatError, match="keep one file for each record"):
        load(stands, run=publisher.folder / "run", known=known)
    known.write_text("{}")
    with pytest.raises(FormatError, match="no list of known versions"):
        load(stands, run=publisher.folder / "run", known=known)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def _flip_hex(path: Path) -> None:
    text = path.read_text()
    path.chmod(0o600)
    path.write_text(("0" if text[0] != "0" else "1") + text[1:])


def _swap(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def test_the_time_of_a_look_is_now(publisher: Publisher, stands: Path, tmp_path: Path) -> None:
    before = int(time.time())
    load(stands, run=publisher.folder / "run", known=tmp_path / "known.json")
    assert before <= _seen(tmp_path / "known.json").at <= int(time.time())
