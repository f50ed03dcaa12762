# SPDX-License-Identifier: Apache-2.0
"""Increments that are stored when models are published: found by a request, erased with their versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blockful_py.committee.vault import Vault
from blockful_py.errors import KeyDestroyedError, QuorumError, SettingsError
from blockful_py.keys.sealing import plain
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights, equal, from_bytes
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs import publishing
from blockful_py.pipeline.jobs.increments import SealedIncrements
from blockful_py.pipeline.run.identities import Identities
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.statement_parts import Increment
from blockful_py.report.runs.reporting import passes_section
from blockful_py.storage.cid import cid_string, parse_cid
from blockful_py.types import Uri
from tests.faults.fuse import PowerCut
from tests.federations import AFFECTED, GRAPH, UNTOUCHED, put_back, readable, small, trained
from tests.limits import ANY_SIZE

METHOD = "clean_increments"
KEEPING = {"increments": (3,)}
OPTIONS = {"options": {METHOD: {"heal_steps": 2}}}


@pytest.fixture(scope="module")
def origin(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    settings = small(learning=KEEPING, unlearning=OPTIONS)
    return trained(settings, tmp_path_factory.mktemp("increments") / "run", chains)


@pytest.fixture
def federation(origin: Federation) -> Iterator[Federation]:
    """The chains, the live store and the data keys are put back afterwards."""
    with readable(origin), put_back(origin.nodes.live, origin.nodes.archive):
        yield origin
    (origin.run.path / "request.json").unlink(missing_ok=True)


def increments(federation: Federation) -> dict[str, Uri]:
    """Sealed files of the increments that current versions name, by model."""
    return {
        name: parse_cid(each.weights)
        for name, placed in federation.catalogue().models.items()
        for each in placed.node.increments
    }


def weights(federation: Federation) -> dict[str, Weights]:
    return {name: model.weights for name, model in federation.models().items()}


def test_every_owner_signs_what_it_stored(federation: Federation) -> None:
    kept = increments(federation)
    assert kept.keys() == GRAPH.keys()  # all hold the class
    catalogue, models = federation.catalogue(), federation.models()
    for name, uri in kept.items():
        node = catalogue[name].node
        live = federation.contracts.live
        assert node.signer(live.chain_id, live.address).hex() == node.statement.owner[2:]
        changed = node.statement.model_copy(update={"increments": ()})
        assert (
            node.model_copy(update={"statement": changed}).signer(live.chain_id, live.address).hex()
            != (node.statement.owner[2:])
        )
        assert not equal(federation.weights.read(uri), models[name].weights)
        assert not federation.stores.archive.has(uri)
    assert federation.verify().passed


def test_a_request_uses_them_and_gives_the_bits_of_fresh_ones(federation: Federation) -> None:
    with readable(federation), put_back(federation.nodes.live, federation.nodes.archive):
        found = federation.unlearn(method=METHOD)
        used = weights(federation)
    assert found.increments is not None and found.cost is not None
    assert found.increments.stored == found.affected
    assert (found.increments.made, found.unusable) == ((), {})
    assert found.cost.prepared > 0
    kept = increments(federation)
    for uri in kept.values():
        federation.stores.live.delete(uri)
    made = federation.unlearn(method=METHOD)
    assert made.increments is not None and made.cost is not None
    assert (made.increments.stored, made.increments.made) == ((), found.affected)
    assert made.cost.passes == pytest.approx(found.cost.passes + found.cost.prepared)
    assert made.unusable.keys() == set(AFFECTED)
    after = weights(federation)
    assert all(equal(after[name], used[name]) for name in GRAPH)


def test_one_that_is_gone_is_made_again_and_said(federation: Federation) -> None:
    federation.stores.live.delete(increments(federation)["x"])
    passes = passes_section(federation.unlearn(method=METHOD))
    assert passes is not None
    assert (passes.stored, passes.made, set(passes.unusable)) == (("s", "t", "y"), ("x",), {"x"})
    assert "1 made, 1 of them stored but unusable" in (passes.said or "")


@pytest.mark.parametrize("method", [METHOD, "gradient_ascent"])
def test_they_are_erased_with_the_version_that_they_belong_to(federation: Federation, method: str) -> None:
    before = increments(federation)
    sealed = {name: federation.stores.live.read(uri, ANY_SIZE) for name, uri in before.items()}
    unlearned = federation.unlearn(method=method)
    erasure, signed = unlearned.erasure, federation.certify_erasure(unlearned.request).statement.erasure
    assert erasure is not None
    assert {cid_string(before[name]) for name in AFFECTED} <= {*signed.deleted} & {*signed.keys_destroyed}
    assert {uri for each in erasure.versions for uri in each.increments} == {before[n] for n in AFFECTED}
    assert "4 replaced version(s) and of 4 file(s) stored with them" in erasure.account()
    assert increments(federation).keys() == set(UNTOUCHED)
    for member in range(1, 5):
        secret = Identities(0, (1337, 1338)).voter(member)
        vault = Vault(federation.run.vaults / f"member{member}", secret)
        for name in AFFECTED:  # the keys of kept files are gone
            with pytest.raises(KeyDestroyedError):
                vault.get(before[name].digest)
            assert not federation.stores.live.has(before[name])
        for name in UNTOUCHED:
            key = vault.get(before[name].digest)
            assert from_bytes(b"".join(plain(key, (sealed[name],), before[name])))


def test_a_version_that_replaced_another_has_none(federation: Federation) -> None:
    """The second request's increments of replaced versions are made from their replacements."""
    federation.unlearn(method=METHOD)
    again = federation.unlearn(starts=["y"], method=METHOD)
    assert again.increments is not None
    assert set(again.increments.made) == set(AFFECTED)
    assert again.unusable == {}


def test_a_crash_while_erasing_leaves_none_behind(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = increments(federation)

    def crash(self: Vault, digests: object) -> frozenset[bytes]:
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(Vault, "destroy", crash)
        with pytest.raises(PowerCut):
            federation.unlearn(method=METHOD)
    resumed = Federation.open(federation.run.path, nodes=federation.nodes)
    again = resumed.unlearn(method=METHOD)
    assert again.executed == ()
    vault = Vault(resumed.run.vaults / "member1", Identities(0, (1337, 1338)).voter(1))
    assert not vault.versions() & {before[name].digest for name in AFFECTED}
    assert {before[name].digest for name in UNTOUCHED} <= vault.versions()


def test_members_refuse_a_model_whose_increment_is_not_there(
    chains: Nodes, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    federation = Federation.create(
        small(learning=KEEPING), tmp_path_factory.mktemp("absent") / "run", nodes=chains
    )
    absent = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"

    def lose(bench: object, stored: dict[int, dict[str, object]], _: object) -> SealedIncrements:
        said = Increment(label=3, weights=absent, base="00" * 32)
        return SealedIncrements((), {name: (said,) for by_model in stored.values() for name in by_model})

    monkeypatch.setattr(publishing, "seal_increments", lose)
    with pytest.raises(QuorumError, match=absent):
        federation.train()
    assert federation.contracts.live.height() == 0


@pytest.mark.parametrize(("asked", "found"), [((), ()), ((8, 3, 3), (3, 8)), ("all", tuple(range(10)))])
def test_classes_are_named_or_all(asked: tuple[int, ...] | str, found: tuple[int, ...]) -> None:
    assert TrainingSetup.of(small(learning={"increments": asked})).increments == found


@pytest.mark.parametrize(
    ("learning", "reason"),
    [
        ({"increments": (3, 12)}, "learning.increments names class 12: 'digits' has classes 0 to 9"),
        ({"increments": (-1,)}, "learning.increments"),
        ({"increments": "some"}, "learning.increments"),
        ({"increments": (3,), "privacy": {"noise": 1.0}}, "would spend the privacy of the samples once more"),
    ],
)
def test_what_cannot_be_stored_is_refused(learning: dict[str, object], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        TrainingSetup.of(small(learning=learning))
