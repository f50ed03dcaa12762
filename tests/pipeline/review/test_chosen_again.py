# SPDX-License-Identifier: Apache-2.0
"""References chosen again on the record: accepted with the owner's signature and a request that says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from blockful_py.errors import SettingsError
from blockful_py.learning.selection import Selection
from blockful_py.pipeline.proving import prove
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.record.model_node import ModelNode, sign_statement
from blockful_py.record.proofs.checking import check_record
from blockful_py.record.request import Request, Start
from blockful_py.record.statement import Reference, Statement
from blockful_py.settings import Settings
from tests.colluders import Conspiracy
from tests.committee.plan import Plan
from tests.federations import put_back, readable, set_back, small, store_weights, trained

PASSING = 'gradient_ascent {"alpha":1.0,"epsilon":0.0}'


def organic(**unlearning: Any) -> Settings:
    scenario = {"scenario": "organic", "graph": None, "users": 8, "candidates": 4, "candidate_window": 6}
    asked = {"starts": ("r1", "r2"), "parallel": "retrain_ahead", "references": "chosen again", **unlearning}
    return small(federation=scenario, learning={"data_limit": 600, "epochs": 2}, unlearning=asked)


@pytest.fixture(scope="module")
def plan(chains: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """The redaction of an honest run, with the chains reset to the state before it."""
    with (
        put_back(chains.live, chains.archive),
        trained(organic(), tmp_path_factory.mktemp("again") / "run", chains) as federation,
    ):
        with readable(federation), set_back(federation, chains.live, chains.archive):
            unlearned = federation.unlearn()
            new = federation.models()
        for model in new.values():
            store_weights(federation, model.weights)
        places = {name: placed.position for name, placed in federation.catalogue().models.items()}
        yield Plan(federation, Conspiracy.of(federation), places, dict(unlearned.nodes))


def others(node: ModelNode, plan: Plan) -> tuple[Reference, ...]:
    """The references that a model was not published with."""
    published = {each.name for each in plan.federation.catalogue()[node.name].node.statement.references}
    return tuple(each for each in node.statement.references if each.name not in published)


def changed(plan: Plan) -> ModelNode:
    """The last model that chose another reference."""
    return [node for node in plan.nodes.values() if others(node, plan)][-1]


def restated(plan: Plan, node: ModelNode, references: tuple[Reference, ...], **statement: Any) -> ModelNode:
    """The node with other references, signed by its owner."""
    live, user = plan.federation.contracts.live, node.statement.user
    stated: Statement = node.statement.model_copy(update={"references": references, **statement})
    signed = sign_statement(stated, plan.roster.identities.user(user), live.chain_id, live.address)
    return signed.model_copy(update={"redaction": node.redaction})


def stranger(plan: Plan, node: ModelNode) -> tuple[Reference, ...]:
    """The references with one that was not drawn in the place of the last."""
    had = {each.name for each in node.statement.references}
    drawn = Selection(plan.federation.setup.federation).candidates(node.name, plan.nodes)
    other = next(name for name in plan.nodes if name not in {*had, *drawn})
    return (*node.statement.references[:-1], place(plan, other))


def keeping(plan: Plan) -> Request:
    """A request like the other, signed by the starts' owners, that keeps references."""
    live, redaction = plan.federation.contracts.live, plan.nodes["r1"].redaction
    assert redaction is not None
    secrets = [plan.roster.identities.user(user) for user in (1, 2)]
    request = redaction.request.model_copy(update={"paradigm": "sequential", "method": "retrain {}"})
    return request.signed(secrets, live.chain_id, live.address)


def place(plan: Plan, name: str) -> Reference:
    return Reference(name=name, position=str(plan.places[name]), accuracy=0.5, version=1)


def test_the_record_takes_other_references_and_keeps_the_old_ones(plan: Plan) -> None:
    federation, node = plan.federation, changed(plan)
    before = federation.catalogue()
    with set_back(federation, federation.nodes.live, federation.nodes.archive):
        coordinator = plan.roster.coordinator(plan.roster.members(plan.reviewer()))
        plan.roster.execute(coordinator.certify_redaction(plan.draft()), coordinator)
        assert federation.verify().passed
        after = federation.catalogue()
        used = {each.name for each in node.statement.references if each.used}
        assert set(after.used[node.name]) == used == {*after.trained_from.references(node.name)}
        assert {*after.graph.references(node.name)} == used | {*before.graph.references(node.name)}
        assert all(each.used or each.accuracy is None for each in node.statement.references)
        proof = prove(federation, [node.name])
        assert check_record(proof.record).nodes[plan.places[node.name]] == node


STATEMENTS: dict[str, tuple[Callable[[Plan, ModelNode], ModelNode], str]] = {
    "a reference that was not drawn": (
        lambda plan, node: restated(plan, node, stranger(plan, node)),
        "which it had not drawn",
    ),
    "itself": (
        lambda plan, node: restated(plan, node, (*node.statement.references[:-1], place(plan, node.name))),
        "which it had not drawn",
    ),
    "a published reference left out": (
        lambda plan, node: restated(plan, node, node.statement.references[1:]),
        "chose 1 references, eq. 1 chooses 2|states its references otherwise",
    ),
    "all that it had, and more": (
        lambda plan, node: restated(
            plan, node, tuple(each.model_copy(update={"used": True}) for each in node.statement.references)
        ),
        "references, eq. 1 chooses 2",
    ),
    "the score of a reference that is not used": (
        lambda plan, node: restated(
            plan,
            node,
            tuple(
                each if each.used else each.model_copy(update={"accuracy": 0.5})
                for each in node.statement.references
            ),
        ),
        "states its references otherwise than it chose them",
    ),
    "another version": (
        lambda plan, node: restated(
            plan,
            node,
            tuple(each.model_copy(update={"version": 7}) for each in node.statement.references),
        ),
        "states its references otherwise than it chose them",
    ),
    "weights that the owner did not sign": (
        lambda plan, node: restated(
            plan, node, node.statement.references, weights=plan.nodes["r1"].statement.weights
        ),
        "its owner has not signed the new weights",
    ),
}


@pytest.mark.parametrize("what", STATEMENTS)
def test_members_refuse(plan: Plan, what: str) -> None:
    forge, message = STATEMENTS[what]
    node = changed(plan)
    assert re.search(message, plan.refused(plan.draft(**{node.name: forge(plan, node)})))


def test_members_refuse_other_references_where_the_request_keeps_them(plan: Plan) -> None:
    node = changed(plan)
    draft = plan.roster.draft({plan.places[node.name]: kept(plan, node)})
    assert "lists other references" in plan.refused(draft)


def test_members_refuse_another_request_as_the_one_that_let_it_choose(plan: Plan) -> None:
    node = changed(plan)
    assert node.redaction is not None
    redaction = node.redaction.model_copy(update={"chosen_by": node.redaction.request})
    forged = node.model_copy(update={"redaction": redaction})
    assert "names another request as the one" in plan.refused(plan.draft(**{node.name: forged}))


def kept(plan: Plan, node: ModelNode) -> ModelNode:
    """Of a request that keeps references."""
    return plan.redone(node.name, keeping(plan))


def said_to_be_chosen(plan: Plan, node: ModelNode) -> ModelNode:
    """Of a request that keeps references, with another that kept them as the one that did not."""
    redone = kept(plan, node)
    assert redone.redaction is not None
    redaction = redone.redaction.model_copy(update={"chosen_by": redone.redaction.request})
    return redone.model_copy(update={"redaction": redaction})


def chosen_by_a_stranger(plan: Plan, node: ModelNode) -> ModelNode:
    """Of a request that keeps references, with one that nobody signed."""
    redone = kept(plan, node)
    assert redone.redaction is not None and node.redaction is not None
    unsigned = node.redaction.request.model_copy(update={"signatures": ()})
    redaction = redone.redaction.model_copy(update={"chosen_by": unsigned})
    return redone.model_copy(update={"redaction": redaction})


FORGERIES: dict[str, Callable[[Plan, ModelNode], ModelNode]] = {
    "a request that keeps references": kept,
    "a request that kept them, said to have let it choose": said_to_be_chosen,
    "a request to choose that nobody signed": chosen_by_a_stranger,
    "references that the owner did not sign": lambda plan, node: node.model_copy(
        update={"statement": node.statement.model_copy(update={"references": stranger(plan, node)})}
    ),
    "a later model": lambda plan, node: restated(
        plan, node, (*node.statement.references, place(plan, "r8").model_copy(update={"position": "999:0"}))
    ),
    "itself": lambda plan, node: restated(plan, node, (*node.statement.references, place(plan, node.name))),
    "a place without a model": lambda plan, node: restated(
        plan, node, (*node.statement.references, place(plan, "r1").model_copy(update={"position": "1:77"}))
    ),
    "a reference twice": lambda plan, node: restated(
        plan, node, (*node.statement.references, node.statement.references[-1])
    ),
    "a published reference left out": lambda plan, node: restated(plan, node, node.statement.references[1:]),
    "weights that the owner did not sign": lambda plan, node: restated(
        plan, node, node.statement.references, weights=plan.nodes["r1"].statement.weights
    ),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_verification_names_what_a_colluding_committee_certified(plan: Plan, what: str) -> None:
    federation, node = plan.federation, changed(plan)
    with set_back(federation, federation.nodes.live, federation.nodes.archive):
        nodes = {**plan.nodes, node.name: FORGERIES[what](plan, node)}
        plan.roster.collude({plan.places[name]: each for name, each in nodes.items()})
        failures = federation.verify().failures
        assert [(each.position, each.check) for each in failures] == [(plan.places[node.name], "signature")]


def test_the_advice_on_a_request_says_which_graph_it_is_exact_with(plan: Plan) -> None:
    redaction = plan.nodes["r1"].redaction
    assert redaction is not None
    kept = redaction.request.model_copy(update={"method": "retrain_ahead {}"})
    again, given = (str(plan.federation.advice(each).reason) for each in (redaction.request, kept))
    assert again.startswith("exact with the graph chosen again: ")
    assert given.startswith("exact given the graph: ")


def test_models_choose_again_one_by_one(plan: Plan) -> None:
    """Each owner fetches its candidates; a method that trains from no references is refused."""
    federation = plan.federation
    with readable(federation), set_back(federation, federation.nodes.live, federation.nodes.archive):
        with pytest.raises(SettingsError, match="'gradient_ascent' does not train models from their"):
            federation.unlearn(method="gradient_ascent")
        found = federation.unlearn(paradigm="sequential", method="retrain")
        assert found.request.chooses_again and federation.catalogue().used
        assert found.counted == found.formula
        assert federation.verify().passed


def test_later_requests_reach_a_model_by_its_new_references(plan: Plan) -> None:
    """Also by the old ones, since nobody can check that a reference is not used any more."""
    federation, node = plan.federation, changed(plan)
    with readable(federation), set_back(federation, federation.nodes.live, federation.nodes.archive):
        new, old = others(node, plan)[0], next(each for each in node.statement.references if not each.used)
        plan.roster.collude({plan.places[name]: each for name, each in plan.nodes.items()})
        for start, paradigm, method in ((new, "sequential", "retrain {}"), (old, "parallel", PASSING)):
            request = keeping(plan).model_copy(
                update={
                    "starts": (Start(name=start.name, position=start.position),),
                    "classes": (4,),
                    "paradigm": paradigm,
                    "method": method,
                    "signatures": (),
                }
            )
            assert node.name in federation.unlearn(request=request).affected
            assert federation.verify().passed
        current = federation.catalogue()[node.name].node
        assert current.redaction is not None and current.chosen_by is not None
        assert {each.name: each.used for each in current.statement.references} == {
            each.name: each.used for each in node.statement.references
        }
        assert check_record(prove(federation, [node.name]).record)
