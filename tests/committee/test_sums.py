# SPDX-License-Identifier: Apache-2.0
"""Members recompute models of sums: at publication, at every level of a request, in both paradigms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blockful_py.crypto.signature import sign
from blockful_py.engine.jobs import JobState
from blockful_py.errors import QuorumError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.models import analytic
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


def settings() -> Settings:
    learning = {"epochs": 20, "root_factor": 3, "model": "analytic", "options": {"features": 16}}
    return small(learning=learning, unlearning={"parallel": "auto", "sequential": "auto"})


@pytest.fixture(scope="module")
def origin(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return trained(settings(), tmp_path_factory.mktemp("sums") / "run", chains)


@pytest.fixture
def federation(origin: Federation) -> Iterator[Federation]:
    with readable(origin), put_back(origin.nodes.live, origin.nodes.archive):
        yield origin
    if origin.context.journal.open_job() is not None:
        origin.context.journal.close_job(JobState.ABORTED)


LEVELS = {
    "class": (Forget.of_classes([3]), None, Checked.EXACT),
    "client": (Forget.of_clients([3]), ["s"], Checked.EXACT),
    "sample": (Forget.of_samples([(3, 0), (4, 1)]), None, Checked.RECOMPUTED),
}


@pytest.mark.parametrize("level", LEVELS)
def test_both_paradigms_give_the_same_bits_at_every_level(federation: Federation, level: str) -> None:
    forget, starts, expected = LEVELS[level]
    found: list[dict[str, Weights]] = []
    for paradigm in Paradigm:
        with readable(federation), set_back(federation, federation.nodes.live, federation.nodes.archive):
            done = federation.unlearn(starts=starts, forget=forget, paradigm=paradigm)
            assert done.request.method.startswith("subtract ")
            assert checked_by_members(done.request) is expected
            assert federation.verify().passed
            found.append({name: model.weights for name, model in federation.models().items()})
    parallel, sequential = found
    assert all(equal(parallel[name], sequential[name]) for name in parallel)
    assert (3 in held(parallel["y"])) == (level != "class")
    assert parallel["s"][OWN].any() == (level != "client")


def test_a_request_that_leaves_a_part_is_refused_before_it_is_signed(federation: Federation) -> None:
    with pytest.raises(UnlearningError, match="a would keep sums of client 1"):
        federation.unlearn(starts=["x"], forget=Forget.of_clients([1]))
    with pytest.raises(UnlearningError, match="'gradient_ascent' changes the weights of a network"):
        federation.unlearn(method="gradient_ascent")


@pytest.fixture(scope="module")
def plan(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """The request for two samples as an honest leader carries it out, and the chains before it."""
    with trained(settings(), tmp_path_factory.mktemp("refusals") / "run", chains) as federation:
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


def test_an_owner_that_inherits_more_than_its_references_is_refused(
    chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubled(weights: Weights, part: Any) -> dict[str, Any]:
        made = with_part(weights, part)
        return made | {INHERITED: made[INHERITED] * 2}

    monkeypatch.setattr(analytic, "with_part", doubled)
    with pytest.raises(QuorumError, match="inherits others than its references'"):
        trained(settings(), tmp_path / "run", chains)


def test_an_owner_whose_part_is_of_no_samples_is_refused(
    chains: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    invented = np.full((10, 17 * 18 // 2), 1000, np.int32)
    monkeypatch.setattr(analytic, "part_of", lambda features, labels, classes: invented)
    with pytest.raises(QuorumError, match="no sum over samples"):
        trained(settings(), tmp_path / "run", chains)
