# SPDX-License-Identifier: Apache-2.0
"""Requests reach the models that existed at their filing, and publications avoid them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from blockful_py.child_process import ChildProcesses
from blockful_py.errors import QuorumError, RunError
from blockful_py.forget import Forget
from blockful_py.participant.auditors_turns import AuditorsTurns
from blockful_py.participant.serving import ParticipantService
from blockful_py.participant.task import MODULE
from blockful_py.pipeline.party import _Trained
from blockful_py.pipeline.run.clock import tick
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.model_node import PlacedNode
from blockful_py.record.request_stage import RequestStage
from blockful_py.types import Paradigm
from tests.participant.conftest import Machines

BLOCKS = 20
CLASS = Forget.of_classes([5])


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"starts": ["s", "t"], "blocks": BLOCKS}}


def placed(machines: Machines, name: str) -> PlacedNode:
    with machines.participants["a"].run() as party:
        return party.federation.catalogue()[name]


@pytest.fixture(scope="module")
def carried_out(machines: Machines) -> int:
    """A finished sequential request of the owner of a; x was trained before it and published later."""
    for name in ("a", "b", "s"):
        with machines.participants[name].run() as party:
            party.train_next()
    with machines.participants["x"].run() as party:
        Stale.trained = party._trained(party.federation.catalogue())
    with machines.participants["a"].run() as party:
        number = party.request(("a",), CLASS, Paradigm.SEQUENTIAL, None)
        assert party.stage(number) is RequestStage.OPEN
    for name in ("a", "s"):
        with machines.participants[name].run() as party:
            assert [node.name for node in party.take_part(number)] == [name]
    return number


class Stale:
    """The training of x's owner before the request."""

    trained: _Trained


def test_what_was_trained_from_a_replaced_version_is_refused_and_trained_again(
    machines: Machines, carried_out: int
) -> None:
    assert Stale.trained.versions == {"a": 0, "s": 0}
    with machines.participants["x"].run() as party, pytest.MonkeyPatch.context() as patch:
        patch.setattr("blockful_py.pipeline.party.ATTEMPTS", 1)
        patch.setattr(party, "_trained", lambda catalogue: Stale.trained)
        with pytest.raises(QuorumError, match="was trained from version 0 of a, which is at version 1"):
            party.train_next()
        assert party.federation.alarms() == ()
    made = []
    with machines.participants["x"].run() as party, pytest.MonkeyPatch.context() as patch:
        honest = party._trained

        def trained(catalogue: Catalogue) -> _Trained:
            made.append(catalogue)
            return honest(catalogue) if made[1:] else Stale.trained

        patch.setattr(party, "_trained", trained)
        party.train_next()
    assert len(made) == 2
    statement = placed(machines, "x").node.statement
    assert {each.name: each.version for each in statement.references} == {"a": 1, "s": 1}


def test_a_model_that_was_published_after_a_request_is_never_withdrawn_for_it(
    machines: Machines, carried_out: int
) -> None:
    """Regression 1: the honest committee withdrew it for a finished request."""
    with machines.participants["z"].run() as party:
        party.train_next()
    for _ in range(3 * BLOCKS):
        tick(machines.contracts.live.node)
    with machines.participants["a"].run() as party:
        assert party.stage(carried_out) is RequestStage.CARRIED_OUT
        certificate = party.certificate(carried_out)
        assert party.federation.verify().passed
    check_certificate(certificate)
    assert {each.name for each in certificate.statement.replaced} == {"a", "s"}
    assert certificate.statement.left_alone == ()
    for name in ("x", "z"):
        assert (placed(machines, name).version, placed(machines, name).node.is_withdrawn) == (0, False)


class FailingAt(ChildProcesses):
    """Fails at the parts of one request."""

    request: int | None = None

    def run(self, task: str) -> bool:
        if self.request is not None and json.loads(task)["request"] == self.request:
            raise RunError("this part cannot be done")
        return super().run(task)


@dataclass
class Due:
    """A filed request of an account, with a due part."""

    number: int
    by: bytes
    is_pressing: bool = False
    request: None = None
    waits_for: tuple[str, ...] = ()
    stage: RequestStage = RequestStage.OPEN
    is_parallel: bool = False

    @property
    def filed(self) -> Due:
        return self

    def due(self, account: bytes) -> tuple[str, ...]:
        return ("x",)

    def owed(self, account: bytes) -> tuple[str, ...]:
        return self.due(account)

    def presses(self, names: Sequence[str]) -> bool:
        return self.is_pressing

    def hands_in(self, name: str) -> bool:
        return self.is_parallel


class Doing(ChildProcesses):
    """Does each piece of work at once, in a second."""

    def __init__(self, waiting: list[Due]) -> None:
        super().__init__(MODULE)
        self.waiting = waiting
        self.done: list[int] = []

    def now(self) -> float:
        return float(len(self.done))

    def admitted(self) -> list[Due]:
        return self.waiting

    def awaited(self) -> frozenset[str]:
        return frozenset()

    def run(self, task: str) -> bool:
        self.done.append(json.loads(task)["request"])
        self.waiting = [each for each in self.waiting if each.number != self.done[-1]]
        return True


def test_accounts_that_filed_take_turns_and_what_presses_comes_first(
    machines: Machines, carried_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An honest request had to wait for all requests that two accounts had filed before it."""
    one, two, honest = b"1" * 20, b"2" * 20, b"3" * 20
    waiting = [Due(1, one), Due(2, one), Due(3, one), Due(4, two), Due(5, two), Due(6, honest)]
    participant = machines.participants["x"]
    monkeypatch.setattr(ParticipantService, "_refused", lambda service, request: None)
    monkeypatch.setattr(ParticipantService, "next_model", lambda service, catalogue: None)

    def order(waiting: list[Due]) -> list[int]:
        with (
            Doing(waiting) as doing,
            ParticipantService(participant.folder, participant.keys, doing, doing.now) as service,
        ):
            monkeypatch.setattr(service._opened, "docket", doing)
            while work := service.next_work(service.catalogue()):
                service._do(work, participant.folder.limits())
            return doing.done

    assert order(waiting) == [1, 4, 6, 2, 5, 3]
    assert order([*waiting[:4], Due(5, two, is_pressing=True), waiting[5]]) == [5, 1, 6, 4, 2, 3]


def test_a_model_that_waits_for_an_auditor_waits_in_all_sequential_requests(
    machines: Machines, carried_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner has committed to the training of its next version, for whichever of them."""
    participant = machines.participants["x"]
    waiting = [Due(number, b"1" * 20) for number in (1, 2)] + [Due(3, b"2" * 20, is_parallel=True)]
    monkeypatch.setattr(ParticipantService, "_refused", lambda service, request: None)
    monkeypatch.setattr(ParticipantService, "next_model", lambda service, catalogue: None)
    for at, done in ((1, [3]), (3, [1, 2])):
        held = {at: frozenset({"x"})}

        def awaited(turns: AuditorsTurns, each: Due, account: bytes) -> frozenset[str]:
            return held.get(each.number, frozenset())  # noqa: B023

        monkeypatch.setattr(AuditorsTurns, "awaited", awaited)
        with (
            Doing(waiting) as doing,
            ParticipantService(participant.folder, participant.keys, doing, doing.now) as service,
        ):
            monkeypatch.setattr(service._opened, "docket", doing)
            assert [work.request for work in service.waiting(service.catalogue())] == done


class Overtaken(Doing):
    """Fails the first piece of work."""

    def run(self, task: str) -> bool:
        first, waiting = not self.done, self.waiting
        super().run(task)
        if first:
            self.waiting = waiting
            raise RunError("another decision came first")
        return True


@pytest.mark.parametrize(("moves", "done"), [(True, [1, 1, 2]), (False, [1, 2, 1])])
def test_a_part_whose_references_were_replaced_meanwhile_keeps_its_turn(
    machines: Machines, carried_out: int, monkeypatch: pytest.MonkeyPatch, moves: bool, done: list[int]
) -> None:
    """An honest request fell behind those of two accounts whenever a reference was replaced meanwhile."""
    participant, versions = machines.participants["x"], count()
    monkeypatch.setattr(ParticipantService, "_refused", lambda service, request: None)
    monkeypatch.setattr(ParticipantService, "next_model", lambda service, catalogue: None)
    monkeypatch.setattr(
        ParticipantService, "_reference_versions", lambda service, work: next(versions) if moves else 0
    )
    with (
        Overtaken([Due(1, b"1" * 20), Due(2, b"2" * 20)]) as doing,
        ParticipantService(participant.folder, participant.keys, doing, doing.now) as service,
    ):
        monkeypatch.setattr(service._opened, "docket", doing)
        while work := service.next_work(service.catalogue()):
            with suppress(RunError):
                service._do(work, participant.folder.limits())
        assert doing.done == done


@pytest.mark.slow
def test_a_participant_goes_on_with_other_work_when_a_part_fails(
    machines: Machines, carried_out: int
) -> None:
    """Regression 7: a part that could not be done starved all others."""
    numbers = []
    for owner, label, parts in (("a", 6, ("a", "s")), ("s", 7, ("s",))):
        with machines.participants[owner].run() as party:
            numbers.append(party.request((owner,), Forget.of_classes([label]), Paradigm.SEQUENTIAL, None))
        for name in parts:
            with machines.participants[name].run() as party:
                assert [node.name for node in party.take_part(numbers[-1])] == [name]
    first, second = numbers
    participant = machines.participants["x"]
    with (
        FailingAt(MODULE) as processes,
        ParticipantService(participant.folder, participant.keys, processes) as service,
    ):
        processes.request = first
        with pytest.raises(RunError, match="this part cannot be done"):
            service.step()
        service.step()
        found = {each.number: each for each in service.statuses(service.catalogue())}
    assert found[second].stage is RequestStage.CARRIED_OUT
    assert (found[first].failed, found[first].due) == ("this part cannot be done", ("x",))
    with participant.run() as party:
        assert [node.name for node in party.take_part(first)] == ["x"]
