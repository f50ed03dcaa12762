# SPDX-License-Identifier: Apache-2.0
"""Readers before and after an erasure, with access to every byte that was ever stored."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.committee.vault import Vault
from blockful_py.crypto.randomness import SeededRng
from blockful_py.engine.jobs import JobState
from blockful_py.engine.journal import Journal
from blockful_py.errors import BlockfulError, FormatError, KeyDestroyedError, QuorumError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.keys.sealing import plain
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.weights import equal, from_bytes
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.review.content import ContentReviewer
from blockful_py.pipeline.run.identities import Identities
from blockful_py.pipeline.run.lease import request_under_way
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.model_node import PlacedNode
from blockful_py.storage.store import ContentStore
from blockful_py.types import Uri
from tests.faults.fuse import PowerCut
from tests.federations import AFFECTED, GRAPH, UNTOUCHED, put_back, small, trained, versions
from tests.limits import ANY_SIZE

MEMBERS = range(1, 5)


@dataclass(frozen=True)
class Case:
    """An erasure that was put back on the chains, and copies of the run from before and after it."""

    nodes: Nodes
    before: Path
    after: Path
    placed: dict[str, PlacedNode]
    models: dict[str, TrainedModel]
    keys: dict[str, bytes]

    def secret(self, member: int) -> int:
        return Identities(0, (1337, 1338)).voter(member)

    def weights(self, name: str) -> Uri:
        """Those that the request erased, or that are as they were."""
        return self.placed[name].node.weights

    def sealed(self, name: str) -> bytes:
        return ContentStore(self.before / "live").read(self.weights(name), ANY_SIZE)


@pytest.fixture(scope="module")
def case(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("erasure")
    federation = trained(small(), folder / "before", chains)
    placed = dict(federation.catalogue().models)
    shutil.copytree(folder / "before", folder / "after")
    with put_back(chains.live, chains.archive):
        erasing = Federation.open(folder / "after", nodes=chains)
        erasing.unlearn()
        models = erasing.models()
        weights = {name: each.node.weights for name, each in erasing.catalogue().models.items()}
        keys = {name: erasing.context.keys.keyring.find((uri,))[uri] for name, uri in weights.items()}
    return Case(chains, folder / "before", folder / "after", placed, models, keys)


@pytest.fixture
def fresh(case: Case, tmp_path: Path) -> Iterator[Federation]:
    """A federation that has erased nothing yet."""
    shutil.copytree(case.before, tmp_path / "run")
    with put_back(case.nodes.live, case.nodes.archive):
        yield Federation.open(tmp_path / "run", nodes=case.nodes)


def test_stored_weights_are_no_weights_without_their_key(case: Case) -> None:
    for name in GRAPH:
        with pytest.raises(FormatError):
            from_bytes(case.sealed(name))


def test_each_member_can_open_every_standing_version(case: Case) -> None:
    for member in MEMBERS:
        vault = Vault(case.before / "vaults" / f"member{member}", case.secret(member))
        for name in GRAPH:
            uri = case.weights(name)
            assert from_bytes(b"".join(plain(vault.get(uri.digest), (case.sealed(name),), uri)))


def test_untouched_models_stay_readable(case: Case) -> None:
    for name in UNTOUCHED:
        uri = case.weights(name)
        vault = Vault(case.before / "vaults" / "member1", case.secret(1))
        before = from_bytes(b"".join(plain(vault.get(uri.digest), (case.sealed(name),), uri)))
        assert equal(case.models[name].weights, before)


@pytest.mark.parametrize("member", MEMBERS)
def test_all_that_was_stored_and_the_disk_of_after_open_no_erased_version(
    case: Case, member: int, tmp_path: Path
) -> None:
    """The thief has all blocks and wrapped keys of before, the disk of after and the member's secret."""
    thief = tmp_path / "vault"
    shutil.copytree(case.after / "vaults" / f"member{member}", thief)
    (records,) = (case.before / "vaults" / f"member{member}").glob("keys-*")
    generations = [path.name.removeprefix("kek-") for path in thief.glob("kek-*")]
    assert f"keys-{generations[0]}" != records.name
    for name in ("as it was", *(f"keys-{generation}" for generation in generations)):
        if name != "as it was":
            (thief / name).write_bytes(records.read_bytes())
        for model in AFFECTED:
            with pytest.raises(BlockfulError):
                Vault(thief, case.secret(member)).get(case.weights(model).digest)


def test_the_same_thief_opens_what_was_not_erased(case: Case) -> None:
    uri = case.weights("a")
    vault = Vault(case.after / "vaults" / "member1", case.secret(1))
    assert from_bytes(b"".join(plain(vault.get(uri.digest), (case.sealed("a"),), uri)))


def test_a_copy_of_the_whole_disk_of_before_opens_everything(case: Case) -> None:
    """Which is why a backup of the vault is outside what erasure reaches (docs/explanation/erasure.md)."""
    uri = case.weights("x")
    vault = Vault(case.before / "vaults" / "member1", case.secret(1))
    assert from_bytes(b"".join(plain(vault.get(uri.digest), (case.sealed("x"),), uri)))


def test_no_key_stands_anywhere_on_the_disk(case: Case) -> None:
    for path in case.after.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not any(key in data or key.hex().encode() in data for key in case.keys.values()), path


def test_the_account_says_what_was_done_and_no_more(fresh: Federation) -> None:
    erasure = fresh.unlearn().erasure
    assert erasure is not None
    assert {(each.name, each.version) for each in erasure.versions} == {(name, 0) for name in AFFECTED}
    assert len(erasure.destruction.destroyed) == len(MEMBERS)
    assert erasure.account() == (
        "The data keys of 4 replaced version(s) were destroyed at 4 member(s) of the committee, and their "
        "blocks deleted from this run's live store. Copies of those blocks elsewhere may exist, and are "
        "unreadable without the keys. No auditor has a key of them, so nobody can read the archive's copies."
    )


def test_the_account_names_what_is_left_and_who_can_still_read(fresh: Federation) -> None:
    auditor = ReaderKeys.generate(SeededRng(b"auditor"))
    fresh.administration().set_auditor(auditor.account, auditor.encryption_key)
    store, old = fresh.stores.live, fresh.catalogue()["x"].node.weights
    kept = store.read(old, ANY_SIZE)
    fresh.unlearn()
    store.add(kept)
    nodes = {name: placed.node for name, placed in fresh.catalogue().models.items() if name in AFFECTED}
    erasure = fresh.erase_replaced(nodes)
    assert (erasure.left, erasure.auditors) == ((old,), (auditor.account,))
    assert erasure.account().endswith(
        "The live store still has 1 of the sealed files: delete them by hand. 1 auditor(s) can read copies "
        "in the archive, without end."
    )


def test_a_refused_request_destroys_nothing_and_leaves_no_key(
    fresh: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault(fresh.run.vaults / "member1", Identities(0, (1337, 1338)).voter(1))
    before = vault.versions()

    def refuse(*_: object) -> None:
        raise QuorumError("the members refuse")

    with monkeypatch.context() as patch:
        patch.setattr(ContentReviewer, "review_redaction", refuse)
        with pytest.raises(QuorumError):
            fresh.unlearn()
    assert vault.versions() == before
    assert fresh.models().keys() == GRAPH.keys()


@pytest.mark.parametrize("moment", ["before a key is destroyed", "between two members", "after the last"])
def test_a_crash_while_erasing_is_completed_by_the_same_request(
    fresh: Federation, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    replaced = [placed.node.weights for name, placed in fresh.catalogue().models.items() if name in AFFECTED]
    destroy, calls = Vault.destroy, []

    def crash(self: Vault, digests: object) -> frozenset[bytes]:
        calls.append(self)
        if len(calls) == (1 if moment == "before a key is destroyed" else 3):
            raise PowerCut
        return destroy(self, digests)

    def crash_at_the_end(self: Journal, state: JobState, *result: object) -> None:
        raise PowerCut

    with monkeypatch.context() as patch:
        if moment == "after the last":
            patch.setattr(Journal, "close_job", crash_at_the_end)
        else:
            patch.setattr(Vault, "destroy", crash)
        with pytest.raises(PowerCut):
            fresh.unlearn()
    assert request_under_way(fresh.run.journal) is not None
    resumed = Federation.open(fresh.run.path, nodes=fresh.nodes)
    again = resumed.unlearn()
    assert again.executed == ()
    assert again.nodes.keys() == set(AFFECTED)
    assert versions(resumed) == {name: int(name in AFFECTED) for name in GRAPH}
    assert request_under_way(fresh.run.journal) is None
    for member in MEMBERS:
        vault = Vault(fresh.run.vaults / f"member{member}", Identities(0, (1337, 1338)).voter(member))
        assert not vault.versions() & {uri.digest for uri in replaced}
    with pytest.raises(KeyDestroyedError, match="this version was erased"):
        resumed.context.keys.keyring.find(replaced)[replaced[0]]
