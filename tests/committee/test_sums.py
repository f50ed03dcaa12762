# SPDX-License-Identifier: Apache-2.0
"""Members recompute models of sums: at publication, at every level of a request, in both paradigms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from blockful_py.crypto.signature import sign
from blockful_py.engine.jobs import JobState
from blockful_py.errors import QuorumError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.sums import INHERITED, OWN, held, with_part
from blockful_py.learning.weights import Weights, equal
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.shown import checked_by_members
from blockful_py.settings import Settings
from blockful_py.types import Checked, Paradigm
from tests.colluders import Conspiracy
from tests.committee.plan import Plan
from tests.federations import AFFECTED, put_back, readable, set_back, small, store_weights, trained

LEARNING: dict[str, dict[str, Any]] = {
    "analytic": {"epochs": 20, "root_factor": 3, "model": "analytic", "options": {"features": 16}},
    "merged": {"epochs": 1, "root_factor": 1, "model": "merged", "options": {"network": "mlp"}},
}


def settings(kind: str) -> Settings:
    situation = {"federation": {"situation": "few_hold"}} if kind == "merged" else {}
    unlearning = {"parallel": "auto", "sequential": "auto"}
    return small(learning=LEARNING[kind], unlearning=unlearning, **situation)


@pytest.fixture(scope="module", params=[*LEARNING])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def origin(kind: str, chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return trained(settings(kind), tmp_path_factory.mktemp(kind) / "run", chains)


@pytest.fixture
def federation(origin: Federation) -> Iterator[Federation]:
    with readable(origin), put_back(origin.nodes.live, origin.nodes.archive):
        yield origin
    if origin.context.journal.open_job() is not None:
        origin.context.journal.close_job(JobState.ABORTED)


LEVELS = {
    "class": (Forget.of_classes([3]), None),
    "client": (Forget.of_clients([3]), ["s"]),
    "sample": (Forget.of_samples([(3, 0), (4, 1)]), None),
}
EXACT = {"analytic": {"class", "client"}, "merged": {"client"}}
"""Levels at which members need no owner's part."""


@pytest.mark.parametrize("level", LEVELS)
def test_both_paradigms_give_the_same_bits_at_every_level(
    federation: Federation, kind: str, level: str
) -> None:
    forget, starts = LEVELS[level]
    before = {name: model.weights for name, model in federation.models().items()}
    found: list[dict[str, Weights]] = []
    for paradigm in Paradigm:
        with readable(federation), set_back(federation, federation.nodes.live, federation.nodes.archive):
            done = federation.unlearn(starts=starts, forget=forget, paradigm=paradigm)
            assert done.request.method == (
                "subtract {}" if kind == "analytic" else 'subtract {"merged":true}'
            )
            expected = Checked.EXACT if level in EXACT[kind] else Checked.RECOMPUTED
            assert checked_by_members(done.request) is expected
            assert federation.verify().passed and federation.audit().passed
            found.append({name: model.weights for name, model in federation.models().items()})
    parallel, sequential = found
    assert all(equal(parallel[name], sequential[name]) for name in parallel)
    assert not parallel["s"][OWN].equal(before["s"][OWN])
    assert parallel["s"][OWN].any() == (level != "client")
    if kind == "analytic":
        assert (3 in held(parallel["y"])) == (level != "class")
    else:
        assert parallel["y"][OWN].equal(before["y"][OWN])


def test_a_request_that_leaves_a_part_is_refused_before_it_is_signed(federation: Federation) -> None:
    with pytest.raises(UnlearningError, match="a would keep sums of client 1"):
        federation.unlearn(starts=["x"], forget=Forget.of_clients([1]))
    with pytest.raises(UnlearningError, match="'gradient_ascent' changes the weights of a network"):
        federation.unlearn(method="gradient_ascent")


@pytest.mark.parametrize("kind", ["merged"], indirect=True, scope="module")
def test_requests_one_after_the_other_give_the_same_bits_in_any_order(federation: Federation) -> None:
    asked = [(["s", "t"], Forget.of_classes([3])), (["t"], Forget.of_samples([(4, 0)]))]
    found: list[dict[str, Weights]] = []
    for order in (asked, asked[::-1]):
        with readable(federation), set_back(federation, federation.nodes.live, federation.nodes.archive):
            for starts, forget in order:
                federation.unlearn(starts=starts, forget=forget)
            found.append({name: model.weights for name, model in federation.models().items()})
    assert all(equal(found[0][name], found[1][name]) for name in found[0])


@pytest.mark.parametrize("kind", ["merged"], indirect=True, scope="module")
def test_a_class_leaves_all_merged_parts_of_its_holders(federation: Federation) -> None:
    with pytest.raises(UnlearningError, match="t would keep sums of class 3"):
        federation.unlearn(starts=["s"], forget=Forget.of_classes([3]))
    federation.unlearn(starts=["s", "t"], forget=Forget.of_classes([3]))
    again = federation.unlearn(starts=["s"], forget=Forget.of_classes([3]))
    assert {*again.nodes} == {"s", "x", "y"}  # the part of t lacks the class already


@pytest.fixture(scope="module")
def plan(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """The request for two samples as an honest leader carries it out, and the chains before it."""
    with trained(settings("analytic"), tmp_path_factory.mktemp("refusals") / "run", chains) as federation:
        with readable(federation), set_back(federation, chains.live, chains.archive):
            unlearned = federation.unlearn(forget=Forget.of_samples([(3, 0), (4, 1)]))
            new = federation.models()
        for name in AFFECTED:
            store_weights(federation, new[name].weights)
        places = {name: placed.position for name, placed in federation.catalogue().models.items()}
        yield Plan(federation, Conspiracy.of(federation), places, dict(unlearned.nodes))


def test_sums_that_do_not_follow_are_refused(plan: Plan) -> None:
    weights = dict(plan.federation.models()["x"].weights)
    draft = plan.draft(x=plan.weighted("x", weights))
    assert "the new weights of x differ from the result of subtract" in plan.refused(draft)


@pytest.mark.parametrize("name", ["s", "t"])
def test_a_start_whose_owner_takes_nothing_away_is_refused(plan: Plan, name: str) -> None:
    old = plan.federation.models()[name].weights
    altered = plan.weighted(name, old)
    live = plan.federation.contracts.live
    assert altered.redaction is not None
    secret = plan.roster.identities.user(altered.statement.user)
    statement = altered.statement.model_copy(update={"weights": altered.redaction.weights})
    signed = altered.model_copy(
        update={
            "statement": statement,
            "signature": "0x" + sign(secret, statement.digest(live.chain_id, live.address)).hex(),
        }
    )
    assert f"the announced part of {name}" in plan.refused(plan.draft(**{name: signed}))


def test_a_descendant_that_is_left_out_is_refused(plan: Plan) -> None:
    nodes = {plan.places[name]: node for name, node in plan.nodes.items() if name != "y"}
    assert "y would not be unlearned" in plan.refused(plan.roster.draft(nodes))


def doubled(weights: Weights) -> Weights:
    return {**weights, INHERITED: weights[INHERITED] * 2}


def invented(weights: Weights) -> Weights:
    return {**weights, OWN: torch.full_like(weights[OWN], 1000)}


def with_other_base(weights: Weights) -> Weights:
    return {**weights, "base.head.bias": weights["base.head.bias"] + 1}


def with_twice_the_weight(weights: Weights) -> Weights:
    """A part that would count twice in the mean of its descendants."""
    return {**weights, OWN: (2 * weights[OWN].long()).clamp(max=2**31 - 1).to(torch.int32)}


LIES: dict[str, tuple[str, Callable[[Weights], Weights], str]] = {
    "inherits more": ("analytic", doubled, "inherits others than its references'"),
    "of no samples": ("analytic", invented, "no sum over samples"),
    "inherits more changes": ("merged", doubled, "inherits others than its references'"),
    "another base": ("merged", with_other_base, "base is not the shared one, in 'base.head.bias'"),
    "twice the weight": (
        "merged",
        with_twice_the_weight,
        "own part of a merged model is no change",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_model_that_is_not_its_references_and_a_part_is_refused(
    chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    kind, lied, said = LIES[lie]

    def lying(weights: Weights, part: Any) -> Weights:
        return lied(with_part(weights, part))

    monkeypatch.setattr(f"blockful_py.learning.models.{kind}.with_part", lying)
    with pytest.raises(QuorumError, match=said):
        trained(settings(kind), tmp_path / "run", chains)
