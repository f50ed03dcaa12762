# SPDX-License-Identifier: Apache-2.0
"""Participants that lie: refused messages, ignored ones, and the record about the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.child_process import ChildProcesses
from blockful_py.errors import ContractError, QuorumError
from blockful_py.forget import Forget
from blockful_py.learning.federation import TrainedModel
from blockful_py.learning.weights import Weights
from blockful_py.participant.serving import ParticipantService
from blockful_py.participant.task import MODULE
from blockful_py.pipeline.coordination.motions import FileChanges
from blockful_py.pipeline.jobs.parts import OwnParts
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.pipeline.jobs.requesting import draft_request
from blockful_py.pipeline.party import PartyRun
from blockful_py.pipeline.review.claims import measure
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.stores import machines_of
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode
from blockful_py.record.parts import request_to_bytes
from blockful_py.record.request import Request
from blockful_py.record.request_state import RequestStage
from blockful_py.record.statement_parts import Claimed
from blockful_py.storage.store import ContentStore
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import Paradigm
from blockful_py.unlearning.gradient_ascent import GradientAscent
from tests.federations import promised
from tests.member.leaders import until
from tests.participant.conftest import Machines

pytestmark = pytest.mark.processes

BLOCKS = 100_000
WAIT_SECONDS = 600.0


@pytest.fixture(autouse=True)
def _once() -> Iterator[None]:
    """Proposes only once, without a retry after a refusal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
        yield


def publish(machines: Machines, name: str, lie: Callable[[TrainedModel], TrainedModel] | None = None) -> None:
    with machines.participants[name].run() as party, pytest.MonkeyPatch.context() as patch:
        if lie is not None:
            honest = party._trained

            def trained(catalogue: Catalogue) -> Any:
                made = honest(catalogue)
                (model,) = made.wave
                return replace(made, wave=(lie(model),))

            patch.setattr(party, "_trained", trained)
        party.train_next()


def versions(machines: Machines) -> dict[str, int]:
    with machines.participants["a"].run() as party:
        return {name: each.version for name, each in party.federation.catalogue().models.items()}


def asked(machines: Machines, name: str, forgotten: int, starts: Sequence[str] = ()) -> Request:
    """A model owner's request to forget a class, signed by the owners of all its starts."""
    names = starts or (name,)
    secrets = [machines.participants[each].keys.account_secret for each in names]
    with machines.participants[name].run() as party:
        context, catalogue = party.federation.context, party.federation.catalogue()
        drafted = draft_request(
            context, catalogue, names, Forget.of_classes([forgotten]), Paradigm.PARALLEL, None
        )
        return drafted.signed(secrets, context.contracts.live.chain_id, context.contracts.live.address)


def filed(machines: Machines, name: str, request: Request, blocks: int = BLOCKS) -> int:
    with machines.participants[name].run() as party:
        context = party.federation.context
        uri = context.stores.live.add(request_to_bytes(request))
        context.hand_out([uri])
        context.contracts.participants.file(uri, blocks)
    until(lambda: machines.contracts.participants.filed_requests()[-1].is_admitted)
    return len(machines.contracts.participants.filed_requests())


def hand_in(party: PartyRun, number: int, name: str) -> ModelNode:
    """Hands a part in, even a second time."""
    context = party.federation.context
    status = context.docket[number]
    with party._leading(), party._job(status.request):
        node = OwnParts(context).take(status, name)
        assert node is not None
        return node


def others_go_on(machines: Machines, forgotten: int) -> None:
    """Another request is executed while the first one waits."""
    before = versions(machines)
    with machines.participants["t"].run() as party:
        number = filed(machines, "t", asked(machines, "t", forgotten))
        party.take_part(number)
    until(lambda: versions(machines)["t"] > before["t"])


def noisy(weights: Weights, deviation: float) -> Weights:
    draws = torch.Generator().manual_seed(0)
    return {
        name: tensor + deviation * torch.randn(tensor.shape, generator=draws)
        for name, tensor in weights.items()
    }


def test_anothers_weights_are_not_published_as_ones_own(machines: Machines) -> None:
    publish(machines, "a")
    with machines.participants["b"].run() as reader:
        stolen = reader.federation.models()["a"].weights
    with pytest.raises(QuorumError, match="model b has the weights of a"):
        publish(machines, "b", lambda model: replace(model, weights=stolen))
    with pytest.raises(QuorumError, match="model b comes from a"):
        publish(machines, "b", lambda model: replace(model, weights=noisy(stolen, 1e-4)))
    assert versions(machines) == {"a": 0}


def test_anothers_statement_is_not_published_as_ones_own(machines: Machines) -> None:
    with machines.participants["b"].run() as reader:
        stolen = reader.federation.catalogue()["a"].node.to_bytes()
    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(QuorumError, match="model a is not signed by its owner"),
    ):
        patch.setattr(Publisher, "_node", lambda *arguments: stolen)
        publish(machines, "b")


def test_anothers_model_is_not_published_in_its_place(machines: Machines) -> None:
    with pytest.raises(QuorumError, match="model z belongs to user 5, not to 2"):
        publish(machines, "b", lambda model: replace(model, name="z"))
    for name in ("b", "s", "t", "x"):
        publish(machines, name)
    assert versions(machines).keys() == {"a", "b", "s", "t", "x"}


def test_wrong_claims_are_refused_until_the_part_is_handed_in_again(machines: Machines) -> None:
    before, number = versions(machines), filed(machines, "s", asked(machines, "s", 3))
    with machines.participants["s"].run() as party:
        with pytest.MonkeyPatch.context() as patch:
            claims = Claimed(ad_f=0.0, ad_r=1.0)
            patch.setattr(
                "blockful_py.pipeline.jobs.redaction.measure",
                lambda setup, models, *others: dict.fromkeys(models, claims),
            )
            hand_in(party, number, "s")
        until(lambda: any("model s claims" in alarm.reason for alarm in party.federation.alarms()))
        others_go_on(machines, 3)
        assert versions(machines)["s"] == before["s"]
        hand_in(party, number, "s")
    until(lambda: versions(machines)["x"] > before["x"])
    assert versions(machines)["s"] == before["s"] + 1


def test_a_part_whose_blocks_are_withheld_keeps_nobody_else_waiting(machines: Machines) -> None:
    before, number = versions(machines), filed(machines, "s", asked(machines, "s", 5))
    with machines.participants["s"].run() as party:
        context, position = party.federation.context, party.federation.catalogue()["s"].position
        context.contracts.participants.hand_in(number, position, file_uri(b"nobody has this"))
        others_go_on(machines, 5)
        assert versions(machines)["s"] == before["s"]
        hand_in(party, number, "s")
    until(lambda: versions(machines)["x"] > before["x"])


def test_a_part_for_anothers_model_does_not_count(machines: Machines) -> None:
    before, number = versions(machines), filed(machines, "s", asked(machines, "s", 6))
    with machines.participants["b"].run() as liar:
        context, catalogue = liar.federation.context, liar.federation.catalogue()
        node = catalogue["b"].uri
        context.contracts.participants.hand_in(number, catalogue["s"].position, node)
    with machines.participants["s"].run() as party:
        assert [each.name for each in party.take_part(number)] == ["s"]
    until(lambda: versions(machines)["x"] > before["x"])
    assert versions(machines) == {**before, "s": before["s"] + 1, "x": before["x"] + 1}


def test_a_late_part_is_refused_and_not_made_again(machines: Machines) -> None:
    before, number = versions(machines), filed(machines, "s", asked(machines, "s", 7), blocks=1)
    late = machines.participants["s"]
    machines.contracts.participants.announce(Endpoint(bytes(19) + b"\1", "http://127.0.0.1:1"))  # a block
    with late.run() as party:
        assert party.take_part(number) == ()
        with pytest.raises(ContractError, match="RequestClosed"):
            hand_in(party, number, "s")
    with (
        ChildProcesses(MODULE) as processes,
        ParticipantService(late.folder, late.keys, processes) as service,
    ):
        status = service.statuses(service.catalogue())[number - 1]
        assert (status.stage, status.due, status.waits_for) == (RequestStage.LAPSED, (), ("s", "x"))
    assert versions(machines) == before


def test_a_start_that_unlearned_nothing_is_certified_with_the_accuracy_that_shows_it(
    machines: Machines,
) -> None:
    before, number = versions(machines), filed(machines, "s", asked(machines, "s", 8))
    with machines.participants["s"].run() as party:
        kept = party.federation.models()["s"].weights
        left_out = {"s": party.federation.catalogue()["s"].node.removed_beside((8,))}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                GradientAscent,
                "unlearn",
                lambda *arguments: SimpleNamespace(weights={"s": kept}, increments=None),
            )
            hand_in(party, number, "s")
    until(lambda: versions(machines)["s"] > before["s"])
    with machines.participants["s"].run() as party:
        statement = party.certificate(number, seconds=WAIT_SECONDS).statement
        claims = measure(party.federation.setup, {"s": kept}, (8,), left_out, {"s": kept})["s"]
        open_requests = FileChanges(party.federation).open_requests()
    assert {each.name: each.claims for each in statement.replaced} == {"s": claims}
    assert claims.ad_f
    assert statement.left_alone == ("x",)
    assert versions(machines) == {**before, "s": before["s"] + 1}
    assert number not in open_requests


def test_members_keep_parts_of_requests_that_wait_for_others(machines: Machines) -> None:
    number = filed(machines, "s", asked(machines, "s", 9, starts=("s", "t")))
    with machines.participants["s"].run() as party:
        (node,) = party.take_part(number)
    stores = [ContentStore(RunDirectory.open(each.folder / "run").live_store) for each in machines.members]
    until(
        lambda: all(store.has(uri) for store in stores for uri in (node.weights, file_uri(node.to_bytes())))
    )


def test_a_stranger_that_announces_a_members_url_is_not_asked(machines: Machines) -> None:
    member = machines.members[0]
    machines.contracts.participants.announce(Endpoint(bytes(19) + b"\1", member.url))
    with machines.participants["a"].run() as party:
        asked = machines_of(party.federation.run, party.federation.contracts)()
    assert {(each.url, each.address) for each in asked} == {
        (each.url, each.address) for each in machines.members
    }


def test_the_record_verifies_after_all_that(machines: Machines) -> None:
    with machines.participants["y"].run() as party:
        assert party.federation.verify().passed
        assert party.federation.audit().passed
    promised(machines.contracts)
