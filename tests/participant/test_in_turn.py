# SPDX-License-Identifier: Apache-2.0
"""Ten requests of all levels, one after the other among machines: none undoes another."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from blockful_py.forget import Forget
from blockful_py.pipeline.party import PartyRun
from blockful_py.record.request_stage import RequestStage
from blockful_py.types import Paradigm
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_waves import do_parts

pytestmark = [pytest.mark.processes, pytest.mark.timeout(3_600)]

PARALLEL, SEQUENTIAL = Paradigm.PARALLEL, Paradigm.SEQUENTIAL
IN_TURN = (
    ("s", "class 3", PARALLEL),
    ("t", "samples", SEQUENTIAL),
    ("a", "class 5", SEQUENTIAL),
    ("x", "samples", PARALLEL),
    ("b", "client", SEQUENTIAL),
    ("z", "class 7", PARALLEL),
    ("a", "samples", PARALLEL),
    ("t", "class 1", SEQUENTIAL),
    ("y", "client", PARALLEL),
    ("s", "samples", SEQUENTIAL),
)
"""Owner and start, what is to be forgotten, paradigm."""


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {
        "learning": {"epochs": 12, "root_factor": 3},
        "unlearning": {"parallel": "auto", "sequential": "auto", "blocks": 100_000},
    }


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    for participant in machines.participants.values():
        participant.disclose(0.1)
    return machines.publish()


def forget_of(said: str, user: int, turn: int) -> Forget:
    if said == "client":
        return Forget.of_clients([user])
    if said == "samples":
        return Forget.of_samples([(user, 2 * turn), (user, 2 * turn + 1)])
    return Forget.of_classes([int(said.split()[1])])


def accuracies(party: PartyRun) -> dict[str, float]:
    """AD_r of each model that has weights, as members measured it for its last request."""
    models = party.federation.catalogue().with_weights
    nodes = {name: placed.node for name, placed in models.items()}
    return {
        name: node.redaction.claims.ad_r
        for name, node in nodes.items()
        if node.redaction and node.redaction.claims
    }


def carried_out(machines: Machines, number: int) -> bool:
    """Does the parts that are due; members withdraw models of a leaving client meanwhile."""
    do_parts(machines, number)
    with machines.participants["a"].run() as party:
        return party.stage(number) is RequestStage.CARRIED_OUT


def test_ten_requests_in_turn_undo_none_of_each_other(published: Machines) -> None:
    done: list[tuple[int, Forget]] = []
    for turn, (name, said, paradigm) in enumerate(IN_TURN):
        with published.participants[name].run() as party:
            user = party.federation.setup.users[0].index
            forget = forget_of(said, user, turn)
            starts = (name,) if forget.classes else ()
            number = party.request(starts, forget, paradigm, None)
        until(partial(carried_out, published, number))
        with published.participants["a"].run() as party:
            assert party.federation.verify().passed
        done.append((number, forget))
    with published.participants["a"].run() as party:
        history, catalogue = party.federation.context.history, party.federation.catalogue()
        for number, forget in done:
            assert party.stage(number) is RequestStage.CARRIED_OUT
            asked = party.filed(number)
            starts = [start.name for start in asked.starts]
            for name in {*starts, *catalogue.graph.descendants(starts)} & catalogue.with_weights.keys():
                assert forget in [each.forget for each in history.requests(catalogue[name])]
        reached = accuracies(party)
        assert reached["a"] > 0.8  # a root that two classes and samples have left
        assert min(reached.values()) > 0.5
        assert party.federation.audit().passed
