# SPDX-License-Identifier: Apache-2.0
"""Owners whose trainings a drawn auditor replays: accepted and refused ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Event
from typing import Any

import pytest

from blockful_py.committee.motions import AGREED, Agreements
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import QuorumError
from blockful_py.forget import Forget
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.ledger.replay import ReplayFinding, ReplayWord
from blockful_py.pipeline.coordination.motions import read_motion
from blockful_py.pipeline.replaying import AuditorWork
from blockful_py.pipeline.run.entering import enter
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.record.certificates.checking import check_certificate
from blockful_py.record.model_node import ModelNode
from blockful_py.record.shown import shown
from blockful_py.report.runs.certificate_page import page_of
from blockful_py.types import Checked, Paradigm
from tests.participant.conftest import Machines, nodes_for

pytestmark = pytest.mark.processes

AUDITORS = [ReaderKeys.generate(SeededRng(name)) for name in (b"first auditor", b"second auditor")]


@pytest.fixture(scope="module")
def rules() -> Mapping[str, Any]:
    return {"unlearning": {"starts": ["s", "t"], "blocks": 400}}


@pytest.fixture(scope="module")
def published(machines: Machines) -> Machines:
    register(machines, AUDITORS)
    for name in ("t", "y"):
        machines.participants[name].agree_to(AUDITORS)
    return machines.publish()


def register(machines: Machines, auditors: Sequence[ReaderKeys]) -> None:
    """Has a quorum of the members' operators agree to auditors."""
    with machines.participants["a"].run() as party:
        for keys in auditors:
            administration = party.federation.administration()
            with pytest.raises(QuorumError, match="has not agreed to register"):
                administration.set_auditor(keys.account, keys.encryption_key)
            (path,) = party.federation.run.motions.glob("*.json")
            for member in machines.members[:3]:
                Agreements(member.folder / AGREED).agree(read_motion(path))
            administration.set_auditor(keys.account, keys.encryption_key)


@contextmanager
def auditing(machines: Machines, keys: ReaderKeys) -> Iterator[AuditorWork]:
    """An auditor that has the federation file and nodes, and nothing else."""
    own = machines.folder / f"auditor-{keys.account.hex()}"
    chains = machines.participants["a"].nodes
    with ExitStack() as stack:
        nodes = stack.enter_context(nodes_for(chains, keys.account_secret))
        run = enter(own, machines.file.read_bytes(), nodes, own={})
        yield AuditorWork(stack.enter_context(OpenedRun.attach(run, nodes)), keys)


@contextmanager
def at_work(machines: Machines, auditors: Sequence[ReaderKeys] = AUDITORS) -> Iterator[list[ReplayWord]]:
    """Auditors in threads of their own, until the block ends; yields the words that they tell."""
    told, done = list[ReplayWord](), Event()

    def work(keys: ReaderKeys) -> None:
        with auditing(machines, keys) as auditor:
            while not done.wait(0.5):
                told.extend(auditor.step())

    with ThreadPoolExecutor(len(auditors)) as pool:
        working = [pool.submit(work, keys) for keys in auditors]
        try:
            yield told
        finally:
            done.set()
        for each in working:
            each.result()


def asked(machines: Machines, name: str, label: int, method: str | None = None) -> int:
    with machines.participants[name].run() as party:
        return party.request((name,), Forget.of_classes([label]), Paradigm.SEQUENTIAL, method)


def take(machines: Machines, name: str, number: int) -> ModelNode:
    with machines.participants[name].run() as party:
        (node,) = party.take_part(number)
        return node


def test_a_drawn_auditor_replays_all_and_the_certificate_names_it(published: Machines) -> None:
    number = asked(published, "t", 5)
    with at_work(published) as told:
        nodes = [take(published, name, number) for name in ("t", "y")]
    accounts = {"0x" + each.account.hex() for each in AUDITORS}
    for node in nodes:
        assert node.spot_check is not None and node.spot_check.replay is not None
        assert node.spot_check.replay.auditor in accounts
        assert node.spot_check.challenged == node.spot_check.intervals > 1
    assert [word.outcome for word in told] == [ReplayFinding.SAME] * 2
    with published.participants["t"].run() as party:
        certificate = party.certificate(number)
        assert party.federation.verify().passed
    checked = check_certificate(certificate)
    said = shown(certificate.statement)
    assert said.review is Checked.REPLAYED
    assert "an auditor, drawn by lot for each new training, repeated all of it" in said.kind
    page = page_of(certificate, checked, "erasure.json")
    assert "replayed whole, all" in dict(page.spot_checks)["t"]
