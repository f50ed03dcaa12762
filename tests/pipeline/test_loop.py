# SPDX-License-Identifier: Apache-2.0
"""Create, train, forget in either paradigm from the same start, verify, audit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from blockful_py.costs import Operations
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.weights import equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.model_node import PlacedNode
from blockful_py.storage.store import ContentStore
from blockful_py.types import ArchiveReason, ModelTransaction, Paradigm
from tests.federations import AFFECTED, BLOCKS, GRAPH, STARTS, UNTOUCHED, small, trained, transactions
from tests.limits import ANY_SIZE

REFERENCES_FETCHED = sum(len(GRAPH[name]) for name in AFFECTED[1:])
"""N (K - 1): references of the updated models but the first start."""

OPERATIONS = {
    Paradigm.PARALLEL: Operations(len(AFFECTED), BLOCKS, 1, len(AFFECTED), len(AFFECTED)),
    Paradigm.SEQUENTIAL: Operations(
        len(AFFECTED), len(AFFECTED), len(AFFECTED), len(AFFECTED), len(AFFECTED) + REFERENCES_FETCHED
    ),
}


@dataclass(frozen=True)
class Before:
    """The state before the request."""

    placed: dict[str, PlacedNode]
    transactions: dict[str, ModelTransaction]
    archived: int
    live_blocks: frozenset[str]


@dataclass(frozen=True)
class Case:
    federation: Federation
    before: Before
    unlearned: Unlearned


def _before(federation: Federation) -> Before:
    return Before(
        dict(federation.catalogue().models),
        transactions(federation),
        federation.contracts.archive.length(),
        blocks(federation.stores.live),
    )


def blocks(store: ContentStore) -> frozenset[str]:
    return frozenset(path.name for path in (store.directory / "blocks").rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def models(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, TrainedModel]:
    """Models that have forgotten nothing yet."""
    return trained(small(), tmp_path_factory.mktemp("loop") / "origin", chains).models()


@pytest.fixture(scope="module")
def cases(
    models: dict[str, TrainedModel], chains: Nodes, tmp_path_factory: pytest.TempPathFactory
) -> dict[Paradigm, Case]:
    """The same request in both paradigms, on the same models."""
    found = {}
    for paradigm in Paradigm:
        federation = Federation.create(small(), tmp_path_factory.mktemp("loop") / paradigm, nodes=chains)
        federation.adopt(models)
        before = _before(federation)
        found[paradigm] = Case(federation, before, federation.unlearn(paradigm=paradigm))
    return found


@pytest.fixture(scope="module", params=list(Paradigm))
def case(request: pytest.FixtureRequest, cases: dict[Paradigm, Case]) -> Case:
    return cases[request.param]


def test_the_whole_loop_takes_ten_lines(chains: Nodes, tmp_path: Path) -> None:
    from blockful_py import Federation

    with Federation.create(small(), tmp_path / "mine", nodes=chains) as federation:
        federation.train()
        assert federation.verify().passed
        federation.unlearn(paradigm="parallel")
        again = federation.unlearn(starts=["t"], paradigm="parallel")
        assert again.skipped == {"y": 0.0}  # t trains to the same bits again, so it passes on no change
        assert federation.verify().passed
        assert federation.audit().passed
        versions = {name: placed.version for name, placed in federation.catalogue().models.items()}
        assert versions == {"a": 0, "b": 0, "z": 0, "s": 1, "x": 1, "t": 2, "y": 1}


def test_both_paradigms_start_from_the_same_models(cases: dict[Paradigm, Case]) -> None:
    first, second = (cases[paradigm].before.placed for paradigm in Paradigm)
    assert first.keys() == second.keys() == GRAPH.keys()
    for name in first:
        assert first[name].node.weights == second[name].node.weights
        assert first[name].position == second[name].position


def test_operations_are_those_of_the_paper(cases: dict[Paradigm, Case], case: Case) -> None:
    assert case.unlearned.counted == case.unlearned.formula == OPERATIONS[case.unlearned.paradigm]


def test_affected_are_the_starts_and_their_descendants(case: Case) -> None:
    descendants = case.federation.catalogue().graph.descendants(STARTS)
    assert set(case.unlearned.affected) == {*STARTS, *descendants} == set(AFFECTED)
    assert case.unlearned.nodes.keys() == set(AFFECTED)
    assert not case.unlearned.skipped


def test_versions_grow_by_one_and_nothing_else_of_the_record_changes(case: Case) -> None:
    now = transactions(case.federation)
    for name in AFFECTED:
        old, new = case.before.transactions[name], now[name]
        assert new.version == old.version + 1
        assert new.uri != old.uri
        assert new.opening != old.opening
        assert (new.ch, new.owner, new.references) == (old.ch, old.owner, old.references)
        assert new.settled


def test_untouched_models_are_unchanged(case: Case) -> None:
    now = transactions(case.federation)
    models = case.federation.models()
    for name in UNTOUCHED:
        assert now[name] == case.before.transactions[name]
        assert models[name].name == name


def test_blocks_keep_their_hashes_and_links(case: Case) -> None:
    live = case.federation.contracts.live
    redacted = {case.before.placed[name].position.height for name in AFFECTED}
    times = 1 if case.unlearned.paradigm is Paradigm.PARALLEL else 2
    for header in live.headers(range(1, live.height() + 1)):
        assert header.parent_hash == live.block_hash(header.height - 1)
        shared = header.height == case.before.placed["s"].position.height
        assert header.version == (header.height in redacted) * (times if shared else 1)


def test_every_replaced_version_was_archived_first(case: Case) -> None:
    archive = case.federation.contracts.archive
    records = [stored.record for stored in archive.records(0, archive.length())]
    for name in AFFECTED:
        old = case.before.transactions[name]
        found = [r for r in records if (r.position, r.version, r.uri) == (old.position, old.version, old.uri)]
        assert [record.reason for record in found] == [ArchiveReason.PUBLISHED, ArchiveReason.SUPERSEDED]
    assert len(records) == case.before.archived + len(AFFECTED) == len(GRAPH) + len(AFFECTED)
    order = [executed.chain for executed in case.unlearned.executed]
    rounds = 1 if case.unlearned.paradigm is Paradigm.PARALLEL else len(AFFECTED)
    assert order == ["archive", "live"] * rounds


def test_old_bytes_are_gone_from_the_live_store_and_kept_for_auditors(case: Case) -> None:
    federation = case.federation
    for name in AFFECTED:
        old = case.before.placed[name]
        for uri in (old.uri, old.node.weights):
            assert not federation.stores.live.has(uri)
            assert federation.stores.archive.read(uri, ANY_SIZE)
    assert federation.audit().passed


def test_the_live_store_holds_what_the_chain_points_to_and_nothing_else(case: Case) -> None:
    pointed_to = {
        uri
        for placed in case.federation.catalogue().models.values()
        for uri in (placed.uri, placed.node.weights)
    }
    assert set(case.federation.stores.live) == pointed_to
    assert len(blocks(case.federation.stores.live)) == len(case.before.live_blocks)


def test_everything_verifies_afterwards(case: Case) -> None:
    outcome = case.federation.verify()
    assert outcome.checked == len(GRAPH)
    assert outcome.failures == ()


def test_the_new_nodes_carry_the_signed_request(case: Case) -> None:
    for name, node in case.unlearned.nodes.items():
        assert node.redaction is not None
        assert node.redaction.request == case.unlearned.request
        resigned = name in STARTS or case.unlearned.paradigm is Paradigm.SEQUENTIAL
        assert (node.signature != case.before.placed[name].node.signature) == resigned


def test_paradigms_give_different_weights_and_report_which(cases: dict[Paradigm, Case]) -> None:
    parallel, sequential = (cases[paradigm].federation.models() for paradigm in Paradigm)
    assert all(equal(parallel[name].weights, sequential[name].weights) for name in UNTOUCHED)
    assert not equal(parallel["x"].weights, sequential["x"].weights)


def test_models_under_epsilon_are_left_alone_and_listed(
    models: dict[str, TrainedModel], chains: Nodes, tmp_path: Path
) -> None:
    """Epsilon lies between the smallest and the largest update of a descendant."""
    probe = Federation.create(small(unlearning={"epsilon": 1e9}), tmp_path / "probe", nodes=chains)
    probe.adopt(models)
    skipped = probe.unlearn().skipped
    assert skipped.keys() == set(AFFECTED) - set(STARTS)
    smallest, largest = sorted(skipped.values())
    federation = Federation.create(
        small(unlearning={"epsilon": (smallest + largest) / 2}), tmp_path / "cut", nodes=chains
    )
    federation.adopt(models)
    unlearned = federation.unlearn()
    (left_alone,) = unlearned.skipped
    assert unlearned.skipped[left_alone] == smallest
    assert unlearned.nodes.keys() == set(AFFECTED) - {left_alone}
    assert unlearned.counted == unlearned.formula
    assert federation.catalogue()[left_alone].version == 0
    assert federation.verify().passed


def test_training_again_publishes_nothing_twice(cases: dict[Paradigm, Case]) -> None:
    federation = cases[Paradigm.SEQUENTIAL].federation
    height = federation.contracts.live.height()
    assert federation.train() == ()
    assert federation.contracts.live.height() == height
