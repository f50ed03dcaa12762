# SPDX-License-Identifier: Apache-2.0
"""Finding 3: a published model of another form would poison its whole line, so that nobody publishes one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from blockful_py.committee.drafting import NewModel
from blockful_py.committee.proposals import PublicationProposal
from blockful_py.errors import QuorumError, RefusedError, UnusableWeightsError
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.form import WeightsForm
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.jobs.training import train_next
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.model_node import sign_statement
from blockful_py.record.statement import Reference
from blockful_py.record.statement_parts import Increment
from blockful_py.storage.cid import cid_string
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm
from tests.colluders import Conspiracy
from tests.committee.plan import Plan
from tests.federations import put_back, small, store_weights, trained
from tests.learning.poison import POISONS, Poison

poisons = pytest.mark.parametrize("poison", POISONS, ids=lambda each: each.name)
HUGE = 1 << 22
"""Tensors without numbers, whose header has many megabytes."""


@pytest.fixture(scope="module")
def plan(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    with (
        put_back(chains.live, chains.archive),
        trained(small(), tmp_path_factory.mktemp("poison") / "run", chains) as federation,
    ):
        places = {name: placed.position for name, placed in federation.catalogue().models.items()}
        yield Plan(federation, Conspiracy.of(federation), places, {})


@pytest.fixture(scope="module")
def weights(plan: Plan) -> Weights:
    return plan.federation.models()["x"].weights


def publication(
    plan: Plan, weights: Weights, references: Sequence[str] = (), increments: Sequence[Increment] = ()
) -> PublicationProposal:
    """A proposal to publish weights as another model of x's owner."""
    federation, live = plan.federation, plan.federation.contracts.live
    statement = federation.catalogue()["x"].node.statement
    named = [Reference(name=each, position=str(plan.places[each]), accuracy=0.5) for each in references]
    changes = {
        "name": "another",
        "weights": cid_string(store_weights(federation, weights)),
        "references": tuple(named),
        "increments": tuple(increments),
    }
    secret = plan.roster.identities.user(statement.user)
    node = sign_statement(statement.model_copy(update=changes), secret, live.chain_id, live.address)
    federation.stores.live.add(node.to_bytes())
    owner = bytes.fromhex(statement.owner[2:])
    positions = tuple(sorted(plan.places[each] for each in references))
    return plan.roster.proposer().publication(
        [NewModel("another", file_uri(node.to_bytes()), owner, positions)], 0
    )


def refusal(plan: Plan, proposal: PublicationProposal) -> str:
    """The reason why a member does not vote for a publication."""
    with pytest.raises(RefusedError) as refused:
        plan.roster.members(plan.reviewer())[0].vote_publication(proposal)
    return str(refused.value)


@pytest.mark.parametrize("references", [(), ("a", "s")], ids=["root", "leaf"])
def test_a_model_of_the_form_is_voted_for(plan: Plan, weights: Weights, references: tuple[str, ...]) -> None:
    """No member refuses what `publication` makes of sound weights."""
    plan.roster.members(plan.reviewer())[0].vote_publication(publication(plan, weights, references))


@pytest.mark.parametrize("references", [(), ("a", "s")], ids=["root", "leaf"])
@poisons
def test_a_model_of_another_form_is_not_published(
    plan: Plan, weights: Weights, poison: Poison, references: tuple[str, ...]
) -> None:
    said = refusal(plan, publication(plan, poison.made_of(weights), references))
    assert "model another" in said
    with pytest.raises(AssertionError, match=poison.said):
        raise AssertionError(said)


def test_a_model_with_a_header_of_megabytes_is_refused_by_the_root_of_its_file(
    plan: Plan, weights: Weights
) -> None:
    huge = {**weights, "x" * HUGE: torch.zeros(0)}
    assert "longer than the" in refusal(plan, publication(plan, huge))


@poisons
def test_an_increment_of_another_form_is_not_published(plan: Plan, weights: Weights, poison: Poison) -> None:
    stored = cid_string(store_weights(plan.federation, poison.made_of(weights)))
    increment = Increment(label=3, weights=stored, base="00" * 32)
    said = refusal(plan, publication(plan, weights, increments=[increment]))
    with pytest.raises(AssertionError, match=poison.said):
        raise AssertionError(said)


@pytest.mark.parametrize(
    "labels", [(3, 3), (10,), tuple(range(1000))], ids=["twice", "no class", "a thousand"]
)
def test_increments_are_one_for_each_class_at_most(
    plan: Plan, weights: Weights, labels: tuple[int, ...]
) -> None:
    stored = cid_string(store_weights(plan.federation, weights))
    named = [Increment(label=label, weights=stored, base="00" * 32) for label in labels]
    said = refusal(plan, publication(plan, weights, increments=named))
    assert f"names {len(labels)} increments, one for each of 10 classes is allowed" in said


def test_an_owner_hears_of_an_odd_model_before_anything_is_stored(plan: Plan, weights: Weights) -> None:
    federation = plan.federation
    before, odd = list(federation.stores.live), POISONS[0].made_of(weights)
    model = replace(federation.models()["x"], name="another", weights=odd)
    with (
        pytest.raises(UnusableWeightsError, match=r"model another has another form .*'extra' is F32"),
        federation.leading(),
    ):
        Publisher(federation.context).publish([model], plan.places)
    assert list(federation.stores.live) == before


@pytest.mark.parametrize("paradigm", Paradigm)
def test_a_refused_poison_leaves_requests_on_its_ancestors_alone(
    plan: Plan, chains: Nodes, tmp_path: Any, paradigm: Paradigm
) -> None:
    publish = Publisher.publish

    def spoiling(publisher: Publisher, models: Sequence[TrainedModel], *rest: Any) -> Any:
        spoilt = [
            replace(model, weights=POISONS[0].made_of(model.weights)) if model.name == "y" else model
            for model in models
        ]
        return publish(publisher, spoilt, *rest)

    with (
        put_back(chains.live, chains.archive),
        Federation.create(small(), tmp_path / "run", nodes=chains) as federation,
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Publisher, "publish", spoiling)
            patch.setattr(WeightsForm, "require", lambda *_: None)
            with pytest.raises(QuorumError, match=r"model y: .*'extra' is F32 \[3\], expected none"):
                federation.train()
        assert "y" not in federation.catalogue().models
        unlearned = federation.unlearn(paradigm=paradigm)
        assert unlearned.nodes.keys() == {"s", "t", "x"}
        assert federation.verify().passed


@pytest.mark.parametrize("poison", POISONS[::4], ids=lambda each: each.name)
def test_a_poison_that_a_faulty_quorum_published_stops_nobody_who_would_refer_to_it(
    plan: Plan, weights: Weights, poison: Poison
) -> None:
    federation = plan.federation
    catalogue, placed = federation.catalogue(), federation.catalogue()["s"]
    spoilt = store_weights(federation, poison.made_of(weights))
    statement = placed.node.statement.model_copy(update={"weights": cid_string(spoilt)})
    poisoned = replace(placed, node=placed.node.model_copy(update={"statement": statement}))
    models = {name: each for name, each in catalogue.models.items() if name not in ("x", "y")}
    setup: TrainingSetup = replace(federation.setup, users=(federation.setup.user(6),))
    record = replace(catalogue, models={**models, "s": poisoned})
    wave, _ = train_next(setup, {}, record, federation.weights)
    assert [(model.name, [each.name for each in model.references]) for model in wave] == [("x", ["a"])]
