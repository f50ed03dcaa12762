# SPDX-License-Identifier: Apache-2.0
"""A member's notes: what it writes down, and what it forgets when an epoch is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.committee.certificates import Cast
from blockful_py.committee.memory import Ballot
from blockful_py.committee.outbox_store import Notebook
from blockful_py.committee.service.outbox import ALARM, EVIDENCE, MAX_ALARMS, TOPICS, VOTE, Clerk
from blockful_py.crypto import curve, eip712, signature
from blockful_py.errors import RefusedError
from tests.committee.remember import BALLOT

SECRETS = (11, 12, 13, 14)
ROSTER = tuple(curve.address(curve.multiply_base(secret)) for secret in SECRETS)
DOMAIN = eip712.Domain(BALLOT.chain_id, BALLOT.committee)
LATER = replace(BALLOT, epoch=BALLOT.epoch + 1)
ELSEWHERE = replace(LATER, committee=b"\x12" * 20)
PRESENT = (LATER.chain_id, LATER.committee, LATER.epoch)


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[Notebook]:
    with Notebook(tmp_path / "notes.sqlite") as notebook:
        yield notebook


def cast(ballot: Ballot, index: int, content: bytes) -> Cast:
    domain = eip712.Domain(ballot.chain_id, ballot.committee)
    digest = eip712.decision_digest(domain, ballot.epoch, ballot.proposal, content)
    return Cast(index, content, signature.sign(SECRETS[index - 1], digest))


def see(clerk: Clerk, ballot: Ballot) -> None:
    """Two members vote, one of them twice, and the proposal is refused."""
    votes = [cast(ballot, 1, b"\1" * 32), cast(ballot, 2, b"\1" * 32), cast(ballot, 2, b"\2" * 32)]
    domain = eip712.Domain(ballot.chain_id, ballot.committee)
    clerk.witness(ballot, votes, ROSTER, domain)
    clerk.refuse(ballot, "it is wrong")


def written(notebook: Notebook) -> dict[str, list[tuple[int, bytes, int]]]:
    """Epoch, committee and number of each note, by topic."""
    notes = {topic: notebook.read(topic) for topic in TOPICS}
    found = {
        topic: sorted((each.ballot.epoch, each.ballot.committee, each.number) for each in some)
        for topic, some in notes.items()
    }
    return {topic: some for topic, some in found.items() if some}


def test_only_evidence_outlives_its_epoch(notebook: Notebook) -> None:
    clerk = Clerk(notebook)
    for ballot in (BALLOT, LATER, ELSEWHERE):
        see(clerk, ballot)
    for alarm in clerk.alarms():
        clerk.raised(alarm)
    before = written(notebook)
    assert {topic: len(notes) for topic, notes in before.items()} == {ALARM: 6, VOTE: 6, EVIDENCE: 3}
    clerk.forget_before(*PRESENT)
    present, home = LATER.epoch, LATER.committee
    assert written(notebook) == {
        ALARM: [(present, home, 0), (present, home, 1)],
        VOTE: [(present, home, 1), (present, home, 2)],
        EVIDENCE: before[EVIDENCE],
    }
    assert [(alarm.ballot, alarm.raised) for alarm in clerk.alarms()] == [(LATER, True)]


def test_a_second_vote_in_the_present_epoch_is_evidence_after_tidying_too(notebook: Notebook) -> None:
    clerk = Clerk(notebook)
    clerk.witness(LATER, [cast(LATER, 3, b"\1" * 32)], ROSTER, DOMAIN)
    clerk.forget_before(*PRESENT)
    clerk.witness(LATER, [cast(LATER, 3, b"\2" * 32)], ROSTER, DOMAIN)
    (evidence,) = clerk.evidence()
    assert (evidence.index, evidence.first.content, evidence.second.content) == (3, b"\1" * 32, b"\2" * 32)
    clerk.punished(evidence)
    assert clerk.evidence() == ()


def test_epoch_after_epoch_the_notes_do_not_grow(notebook: Notebook) -> None:
    clerk, sizes = Clerk(notebook), set()
    for epoch in range(1, 6):
        ballot = replace(BALLOT, epoch=epoch)
        clerk.forget_before(ballot.chain_id, ballot.committee, epoch)
        clerk.witness(ballot, [cast(ballot, index, b"\1" * 32) for index in (1, 2, 3, 4)], ROSTER, DOMAIN)
        for number in range(2 * MAX_ALARMS):
            clerk.refuse(replace(ballot, proposal=number.to_bytes(32, "big")), "nonsense")
        sizes.add(sum(len(notes) for notes in written(notebook).values()))
    assert sizes == {4 + MAX_ALARMS}


def test_a_vote_that_its_member_did_not_sign_is_not_noted(notebook: Notebook) -> None:
    clerk = Clerk(notebook)
    for strange in (
        replace(cast(LATER, 1, b"\1" * 32), index=2),
        replace(cast(LATER, 1, b"\1" * 32), index=5),
    ):
        with pytest.raises(RefusedError, match="not signed by member"):
            clerk.witness(LATER, [strange], ROSTER, DOMAIN)
    assert written(notebook) == {}
