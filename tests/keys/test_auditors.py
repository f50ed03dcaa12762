# SPDX-License-Identifier: Apache-2.0
"""Auditors read every archived version, nobody else does, and after the retention nobody at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import EnvelopeError, FormatError, RefusedError, RunError, SettingsError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.weights import equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.reader import ReaderDecryptor, ReaderSession
from blockful_py.pipeline.run.nodes import Nodes
from tests.federations import AFFECTED, GRAPH, put_back, small

FIRST, SECOND, USER = (ReaderKeys.generate(SeededRng(name)) for name in (b"first", b"second", b"user"))


@dataclass(frozen=True)
class Case:
    """A federation with one auditor from the beginning, before anything is erased."""

    directory: Path
    nodes: Nodes
    models: dict[str, TrainedModel]


@pytest.fixture(scope="module")
def case(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Case:
    directory = tmp_path_factory.mktemp("auditors") / "run"
    federation = Federation.create(small(archive={"retention_days": 30}), directory, nodes=chains)
    federation.administration().set_auditor(FIRST.account, FIRST.encryption_key)
    federation.train()
    return Case(directory, chains, federation.models())


@pytest.fixture
def federation(case: Case, tmp_path: Path) -> Iterator[Federation]:
    """A copy of the run; what happens on the chains is undone."""
    shutil.copytree(case.directory, tmp_path / "run")
    with put_back(case.nodes.live, case.nodes.archive):
        yield Federation.open(tmp_path / "run", nodes=case.nodes)


def session(federation: Federation, keys: ReaderKeys) -> ReaderSession:
    return ReaderSession(federation.run.path, keys, federation.nodes)


def test_an_auditor_reads_what_was_erased_and_a_user_does_not(case: Case, federation: Federation) -> None:
    session(federation, USER).register()
    federation.unlearn()
    auditor = session(federation, FIRST)
    for name in GRAPH:
        assert equal(auditor.read_archived(name, 0), case.models[name].weights)
    for name in AFFECTED:
        with pytest.raises(RefusedError, match=f"is not wrapped to 0x{USER.account.hex()}"):
            session(federation, USER).read_archived(name, 0)
    assert session(federation, USER).read("x")


def test_an_auditor_reads_nothing_that_stands_as_a_reader(federation: Federation) -> None:
    with pytest.raises(RefusedError, match="is not a registered reader"):
        session(federation, FIRST).read("a")


def test_who_becomes_auditor_reads_what_stands_then_and_nothing_older(federation: Federation) -> None:
    federation.unlearn()
    federation.administration().set_auditor(SECOND.account, SECOND.encryption_key)
    assert session(federation, SECOND).read_archived("a", 0)
    with pytest.raises(RefusedError, match="is not wrapped to"):
        session(federation, SECOND).read_archived("x", 0)
    assert session(federation, FIRST).read_archived("x", 0)
    federation.unlearn(classes=[4])
    assert session(federation, SECOND).read_archived("x", 1)


def test_who_is_removed_reads_nothing_from_here_any_more(federation: Federation) -> None:
    federation.administration().set_auditor(FIRST.account, None)
    with pytest.raises(RefusedError, match="is not wrapped to"):
        session(federation, FIRST).read_archived("a", 0)
    federation.unlearn()
    assert not list(federation.run.auditors.glob("*.json"))


def test_a_version_that_was_never_archived_is_told(federation: Federation) -> None:
    with pytest.raises(RunError, match="version 1 of x is not in the archive"):
        session(federation, FIRST).read_archived("x", 1)


def test_after_the_retention_nobody_reads_a_replaced_version(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    federation.unlearn()
    assert federation.expire() == ()
    assert session(federation, FIRST).read_archived("x", 0)
    late = federation.context.clock.now() + 31 * 86_400
    monkeypatch.setattr(type(federation.context.clock), "now", lambda _: late)
    assert {(each.name, each.version) for each in federation.expire()} == {(name, 0) for name in AFFECTED}
    with pytest.raises(RefusedError, match="is not wrapped to"):
        session(federation, FIRST).read_archived("x", 0)
    assert session(federation, FIRST).read_archived("a", 0)
    assert federation.expire() == ()


def test_an_audit_opens_what_the_auditor_has_keys_of_and_says_so(federation: Federation) -> None:
    federation.unlearn()
    records = len(GRAPH) + len(AFFECTED)
    for keys, decrypted in ((FIRST, records), (USER, 0)):
        audit = federation.audit(decryptor=ReaderDecryptor(session(federation, keys), archived=True))
        assert audit.passed
        assert sum(entry.decrypted for entry in audit.entries) == decrypted
    assert not any(entry.decrypted for entry in federation.audit().entries)


def test_an_audit_names_a_version_whose_key_opens_nothing(federation: Federation) -> None:
    placed = federation.catalogue().models
    one, other = (federation.context.keys.auditors._path(placed[name].node.weights) for name in ("a", "b"))
    shutil.copy(other, one)
    (problem,) = federation.audit(
        decryptor=ReaderDecryptor(session(federation, FIRST), archived=True)
    ).problems
    assert "a wrapped key cannot be unwrapped" in problem
    assert federation.audit().passed


def test_without_a_retention_keys_are_kept(federation: Federation) -> None:
    federation.run = replace(federation.run, settings=small())
    with pytest.raises(SettingsError, match="kept for ever"):
        federation.expire()


@pytest.mark.parametrize("defect", ["bit", "place", "text"])
def test_altered_keys_open_nothing(federation: Federation, defect: str) -> None:
    placed = federation.catalogue().models
    paths = {name: federation.context.keys.auditors._path(placed[name].node.weights) for name in ("a", "b")}
    if defect == "place":
        shutil.copy(paths["b"], paths["a"])
    elif defect == "text":
        paths["a"].write_text("{")
    else:
        document = json.loads(paths["a"].read_text())
        ((account, wrapped),) = document["keys"].items()
        document["keys"][account] = wrapped[:-1] + ("0" if wrapped[-1] != "0" else "1")
        paths["a"].write_text(json.dumps(document))
    with pytest.raises(FormatError if defect == "text" else EnvelopeError):
        session(federation, FIRST).read_archived("a", 0)
