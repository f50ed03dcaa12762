# SPDX-License-Identifier: Apache-2.0
"""Participants that lie about sums: members add them up themselves, and name the lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from blockful_py.errors import QuorumError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.learning.forget_sets import retained_after
from blockful_py.learning.models import analytic
from blockful_py.learning.sums import INHERITED, OWN, with_part
from blockful_py.learning.weights import Weights
from blockful_py.pipeline.jobs.parts import OwnParts
from blockful_py.pipeline.jobs.sums import new_sums_of_owner
from blockful_py.pipeline.party import PartyRun
from blockful_py.record.request_stage import RequestStage
from blockful_py.types import Paradigm
from tests.federations import GRAPH, promised
from tests.member.leaders import until
from tests.participant.conftest import Machines
from tests.participant.test_lying import hand_in
from tests.participant.test_sums import LEARNING, UNLEARNING

pytestmark = pytest.mark.slow

ROWS = Forget.of_samples([(3, 0), (3, 1)])
"""Two samples of s, whose owner is user 3."""


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"learning": LEARNING, "unlearning": UNLEARNING}


@pytest.fixture(autouse=True)
def _once() -> Iterator[None]:
    """Proposes only once, without a retry after a refusal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
        yield


def publish(machines: Machines, *names: str) -> None:
    for name in names:
        with machines.participants[name].run() as party:
            party.train_next()


def test_an_owner_that_inherits_more_than_its_references_is_refused(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubled(weights: Weights, part: Any) -> dict[str, Any]:
        made = with_part(weights, part)
        return made | {INHERITED: made[INHERITED] * 2}

    publish(machines, "a", "b")
    monkeypatch.setattr(analytic, "with_part", doubled)
    with pytest.raises(QuorumError, match="model s: this model of sums inherits others than its references'"):
        publish(machines, "s")


def test_an_owner_whose_part_is_of_no_samples_is_refused(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    invented = np.full((10, 17 * 18 // 2), 1000, np.int32)
    with monkeypatch.context() as patch:
        patch.setattr(analytic, "part_of", lambda *_: invented)
        with pytest.raises(QuorumError, match=r"model s: the own part .* is no sum over samples"):
            publish(machines, "s")
    publish(machines, *list(GRAPH)[2:])


def weights(party: PartyRun, name: str) -> Weights:
    return party.federation.weights.read(party.federation.catalogue()[name].node.weights)


def proposed(party: PartyRun, number: int, new: Mapping[str, Weights], signed: Sequence[str]) -> None:
    """Proposes new versions in one decision, of which the participant signs some."""
    context = party.federation.context
    status = context.docket[number]
    with party._leading(), party._job(status.request):
        catalogue = context.record.catalogue.read()
        OwnParts(context)._redactor.replace(catalogue, new, status.request, signed)


def part_of(party: PartyRun, *forgets: Forget) -> torch.Tensor:
    """A part of the participant's samples that no request names."""
    setup = party.federation.setup
    (user,) = setup.users
    network = setup.architecture.sums(weights(party, "s"))
    return network.learned(retained_after(user, forgets))[OWN]


def test_a_part_that_does_not_lose_what_is_named_is_refused(machines: Machines) -> None:
    with machines.participants["s"].run() as party:
        number = party.request((), ROWS, Paradigm.SEQUENTIAL, None)
        old = weights(party, "s")
        strange = old[OWN].clone()
        strange[:, 0] //= 2  # one entry, while no sample is gone
        strange[0, -1] -= 255**2
        lies = {
            "nothing": old[OWN],
            "too much": part_of(party, Forget.of_samples([(3, row) for row in range(3)])),
            "everything": torch.zeros_like(old[OWN]),
            "another's sums": weights_of_another(party),
            "no sum": strange,
        }
        for part in lies.values():
            with pytest.raises(QuorumError, match=r"the announced part of s|is no sum over samples"):
                proposed(party, number, {"s": {**old, OWN: part}}, ("s",))
        with pytest.raises(QuorumError, match="the new weights of s are not the ones that its owner signed"):
            proposed(party, number, {"s": {**old, OWN: part_of(party, ROWS)}}, ())


def weights_of_another(party: PartyRun) -> torch.Tensor:
    return weights(party, "z")[OWN]


def test_a_leader_that_takes_too_little_or_anothers_is_refused(machines: Machines) -> None:
    (number,) = (each.number for each in machines.contracts.participants.filed_requests())
    with machines.participants["s"].run() as party:
        context = party.federation.context
        s, x = new_sums_of_owner(context, context.docket[number], "s"), weights(party, "x")
        less = {**x, OWN: x[OWN] // 2}
        for new, said in (
            ({"s": s, "x": x}, "the new weights of x differ from the result of subtract"),
            ({"s": s, "x": less}, "the new weights of x differ from the result of subtract"),
            ({"x": x}, "s would have to be unlearned before"),
            ({"s": s, "z": weights(party, "z")}, "z descends from no start"),
        ):
            with pytest.raises(QuorumError, match=said):
                proposed(party, number, new, ("s",))
    assert [node.name for node in [machines.take("s", number)]] == ["s"]
    with machines.participants["s"].run() as party:
        until(lambda: party.stage(number) is RequestStage.CARRIED_OUT)


def test_a_wrong_part_that_is_handed_in_is_made_again(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    with machines.participants["t"].run() as party:
        number = party.request((), Forget.of_samples([(4, 3)]), Paradigm.PARALLEL, None)
        kept = weights(party, "t")
        with monkeypatch.context() as patch:
            patch.setattr("blockful_py.pipeline.jobs.parts.new_sums_of_owner", lambda *_: kept)
            hand_in(party, number, "t")
        until(lambda: any("the announced part of t" in alarm.reason for alarm in party.federation.alarms()))
        assert party.stage(number) is RequestStage.OPEN
        hand_in(party, number, "t")
        until(lambda: party.stage(number) is RequestStage.CARRIED_OUT)
        again = party.request((), Forget.of_samples([(4, 3)]), Paradigm.SEQUENTIAL, None)
        with pytest.raises(UnlearningError, match=r"t has forgotten sample .* before"):
            party.take_part(again)


def test_a_method_for_networks_is_dismissed(machines: Machines) -> None:
    with (
        machines.participants["z"].run() as party,
        pytest.raises(UnlearningError, match="'retrain' changes the weights of a network"),
    ):
        party.request(("z",), Forget.of_classes([3]), Paradigm.SEQUENTIAL, "retrain")


def test_the_record_verifies_after_all_that(machines: Machines) -> None:
    with machines.participants["y"].run() as party:
        assert party.federation.verify().passed and party.federation.audit().passed
    promised(machines.contracts)
