# SPDX-License-Identifier: Apache-2.0
"""Requests by waves whose trainings members repeat in part, from the initial weights on; and forged ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from blockful_py.committee.service.folder import VAULT, keys_in
from blockful_py.committee.vault import Vault
from blockful_py.errors import FormatError, QuorumError, RefusedError, RunError, UnlearningError
from blockful_py.forget import Forget
from blockful_py.keys.sealing import SealedFile
from blockful_py.pipeline.jobs.parts import OwnParts
from blockful_py.pipeline.jobs.redaction import Redactor
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.certificates.document import ErasureCertificate
from blockful_py.record.commitments import commitment_to
from blockful_py.record.model_node import ModelNode, parse_node
from blockful_py.record.request_stage import RequestStage
from blockful_py.record.shown import shown
from blockful_py.report.runs.certificate_page import page_of
from blockful_py.types import Checked, Paradigm
from blockful_py.unlearning.task import UnlearningTask
from tests.federations import GRAPH
from tests.limits import ANY_SIZE
from tests.member.leaders import until
from tests.member.processes import WORDS
from tests.participant.conftest import Machines
from tests.participant.test_spot_checks import Forger
from tests.participant.test_waves import do_parts, is_carried_out, wait_out

pytestmark = pytest.mark.processes

BLOCKS = 100


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"parallel": "auto", "sequential": "auto", "blocks": BLOCKS}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    """Every owner lets members repeat its training, some of them half of it."""
    for name in GRAPH:
        machines.participants[name].disclose(1.0 if name in "abyz" else 0.5)
        with machines.participants[name].run() as party:
            party.train_next()
    return machines


def asked(machines: Machines, name: str, label: int) -> int:
    """A parallel request by the default method, retrain_ahead."""
    with machines.participants[name].run() as party:
        return party.request((name,), Forget.of_classes([label]), Paradigm.PARALLEL, None)


def certified(machines: Machines, number: int) -> ErasureCertificate:
    with machines.participants["z"].run() as party:
        until(lambda: is_carried_out(party, number))
        assert party.federation.verify().passed and party.federation.audit().passed
        return party.certificate(number)


def parts_of(machines: Machines, number: int) -> dict[str, ModelNode]:
    with machines.participants["z"].run() as party:
        uris = party.federation.context.docket[number].parts
        return {
            name: parse_node(party.federation.stores.live.read(uri, ANY_SIZE)) for name, uri in uris.items()
        }


def test_a_request_by_waves_is_checked_from_the_initial_weights_on(published: Machines) -> None:
    number = asked(published, "s", 3)
    assert sorted(do_parts(published, number)) == ["a", "b", "s", "t", "x", "y"]
    certificate = certified(published, number)
    auxiliary = parts_of(published, number)
    assert auxiliary.keys() == {"a", "b", "t"}
    checked = check_certificate(certificate)
    nodes = {**auxiliary, **{node.name: node for node in checked.record.nodes.values()}}
    assert all(node.spot_check and node.spot_check.from_initial for node in nodes.values())
    told = shown(certificate.statement)
    assert told.review is Checked.SPOT_CHECKED
    assert told.kind.startswith("Exact given the graph, spot-checked: ")
    assert "The clean models that they start from were checked too, down to the initial weights" in told.kind
    assert [name for name, _ in page_of(certificate, checked, "erasure.json").spot_checks] == ["s", "x", "y"]
    disclosed = {uri.digest for node in auxiliary.values() for uri in node.sealed}
    assert len(disclosed) == 2 * len(auxiliary)
    for member in published.members:
        vault = Vault(member.folder / VAULT, keys_in(member.folder, WORDS).voting_secret)
        until(lambda vault=vault: not disclosed & vault.versions())


@contextmanager
def knowing() -> Iterator[None]:
    """The next trainings keep the data to be forgotten, and are recorded as they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UnlearningTask, "forgets", lambda task, name: ())
        yield


def test_clean_models_of_ancestors_that_fail_their_check_are_left_out(published: Machines) -> None:
    """a's knows the class; b's owner commits to a training, and then discloses nothing of it."""
    number = asked(published, "z", 4)
    with knowing():
        assert published.take("a", number).spot_check
    published.participants["b"].disclose(0.0)
    with published.participants["b"].run() as party:
        position = party.federation.catalogue()["b"].position
        party.federation.contracts.participants.hand_in(number, position, commitment_to(b"unwelcome"))
    assert published.take("b", number).spot_check is None
    published.participants["b"].disclose(1.0)
    with (
        published.participants["z"].run() as party,
        pytest.raises(RefusedError, match="is of class 4, which must be forgotten"),
    ):
        party.take_part(number)
    wait_out(published, BLOCKS // 2 + 1)
    check = published.take("z", number).spot_check
    assert check and check.from_initial
    assert shown(certified(published, number).statement).review is Checked.SPOT_CHECKED


def test_a_published_model_in_place_of_a_committed_training_is_left_out(published: Machines) -> None:
    """Else a's owner could stop z's request: members refuse what rests on a training that is not shown."""
    number = asked(published, "z", 5)
    assert published.take("b", number).spot_check
    with published.participants["a"].run() as party:
        placed, registry = party.federation.catalogue()["a"], party.federation.contracts.participants
        for each in (commitment_to(b"unwelcome"), placed.uri):
            registry.hand_in(number, placed.position, each)
    with (
        published.participants["z"].run() as party,
        pytest.raises(FormatError, match="its owner shows no training of a, and committed to one"),
    ):
        party.take_part(number)
    wait_out(published, BLOCKS // 2 + 1)
    check = published.take("z", number).spot_check
    assert check and check.from_initial
    assert shown(certified(published, number).statement).review is Checked.SPOT_CHECKED


def test_a_start_that_was_not_checked_is_named(published: Machines) -> None:
    """x's owner discloses nothing for one request; y's training starts from its clean model."""
    number = asked(published, "t", 5)
    published.participants["x"].disclose(0.0)
    assert sorted(do_parts(published, number)) == ["a", "b", "s", "t", "x", "y"]
    published.participants["x"].disclose(0.5)
    certificate = certified(published, number)
    nodes = check_certificate(certificate).record.nodes.values()
    checks = {node.name: node.spot_check.from_initial for node in nodes if node.spot_check}
    assert checks == {"t": True, "y": False}
    told = shown(certificate.statement)
    assert told.review is Checked.SPOT_CHECKED
    assert "Not all clean models that they start from were checked." in told.kind


def refused(machines: Machines, number: int, match: str) -> None:
    with (
        machines.participants["a"].run() as party,
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(QuorumError, match=match),
    ):
        patch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
        party.lead(number)


def crash(*arguments: Any, **options: Any) -> None:
    raise RunError("a crash after the commitment")


def test_a_commitment_cannot_be_taken_back(published: Machines) -> None:
    """Neither for another training, nor for a part that members only measure."""
    number = asked(published, "z", 6)
    for name in ("a", "b"):
        published.take(name, number)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(RunError, match="a crash after the commitment"):
        patch.setattr("blockful_py.pipeline.jobs.spot_check.Recorder", Forger)
        patch.setattr(OwnParts, "_hand_in", crash)
        published.take("z", number)
    with published.participants["z"].run() as party:
        position = party.federation.catalogue()["z"].position
        party.federation.contracts.participants.hand_in(number, position, commitment_to(b"another"))
    with pytest.raises(UnlearningError, match="has committed to another training for this request"):
        published.take("z", number)
    published.participants["z"].disclose(0.0)
    assert published.take("z", number).spot_check is None
    refused(published, number, "the owner of z discloses nothing of the training that it committed to")
    with published.participants["z"].run() as party:
        assert party.stage(number) is RequestStage.OPEN


def test_a_part_that_knows_the_class_is_refused(published: Machines) -> None:
    number = asked(published, "y", 7)
    for name in ("a", "b", "s", "t", "x"):
        published.take(name, number)
    with knowing():
        published.take("y", number)
    refused(published, number, r"is of class \d, which must be forgotten")


def test_nobody_builds_on_a_forged_part(published: Machines) -> None:
    number = asked(published, "x", 9)
    for name in ("a", "b", "s", "t"):
        published.take(name, number)
    published.participants["x"].disclose(1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.jobs.spot_check.Recorder", Forger)
        published.take("x", number)
    with (
        published.participants["y"].run() as party,
        pytest.raises(RefusedError, match="does not lead to the committed state"),
    ):
        party.take_part(number)


def test_nobody_reads_a_disclosure_by_naming_it_as_ones_part(published: Machines) -> None:
    """The owner of s would get the key of a file that shows samples of the owner of y."""
    number, make = asked(published, "s", 8), Redactor.make
    published.participants["a"].disclose(0.0)
    with published.participants["a"].run() as party:
        shown = party.federation.catalogue()["y"].node.spot_check
        assert shown is not None

    def naming(*arguments: Any, **options: Any) -> dict[str, tuple[SealedFile, ModelNode]]:
        ((name, (sealed, node)),) = make(*arguments, **options).items()
        redaction = node.redaction and node.redaction.model_copy(update={"weights": shown.disclosure})
        return {name: (sealed, node.model_copy(update={"redaction": redaction}))}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Redactor, "make", naming)
        published.take("a", number)
    with (
        published.participants["s"].run() as party,
        pytest.raises(RefusedError, match="the part of a: "),
    ):
        party.take_part(number)
