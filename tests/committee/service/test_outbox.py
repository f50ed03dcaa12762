# SPDX-License-Identifier: Apache-2.0
"""A member's notes: their content, and their removal after an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blockful_py.committee.certificates import CastVote
from blockful_py.committee.memory import Ballot
from blockful_py.committee.outbox_store import OutboxStore
from blockful_py.committee.service.outbox import ALARM, EVIDENCE, MAX_ALARMS, TOPICS, VOTE, Outbox
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
def store(tmp_path: Path) -> Iterator[OutboxStore]:
    with OutboxStore(tmp_path / "notes.sqlite") as store:
        yield store


def cast(ballot: Ballot, index: int, content: bytes) -> CastVote:
    domain = eip712.Domain(ballot.chain_id, ballot.committee)
    digest = eip712.decision_digest(domain, ballot.epoch, ballot.proposal, content)
    return CastVote(index, content, signature.sign(SECRETS[index - 1], digest))


def see(outbox: Outbox, ballot: Ballot) -> None:
    """Two members vote, one of them twice, and the proposal is refused."""
    votes = [cast(ballot, 1, b"\1" * 32), cast(ballot, 2, b"\1" * 32), cast(ballot, 2, b"\2" * 32)]
    domain = eip712.Domain(ballot.chain_id, ballot.committee)
    outbox.witness(ballot, votes, ROSTER, domain)
    outbox.refuse(ballot, "it is wrong")


def written(store: OutboxStore) -> dict[str, list[tuple[int, bytes, int]]]:
    """Epoch, committee and number of each note, by topic."""
    notes = {topic: store.read(topic) for topic in TOPICS}
    found = {
        topic: sorted((each.ballot.epoch, each.ballot.committee, each.number) for each in some)
        for topic, some in notes.items()
    }
    return {topic: some for topic, some in found.items() if some}


def test_only_evidence_outlives_its_epoch(store: OutboxStore) -> None:
    outbox = Outbox(store)
    for ballot in (BALLOT, LATER, ELSEWHERE):
        see(outbox, ballot)
    for alarm in outbox.alarms():
        outbox.raised(alarm)
    before = written(store)
    assert {topic: len(notes) for topic, notes in before.items()} == {ALARM: 6, VOTE: 6, EVIDENCE: 3}
    outbox.forget_before(*PRESENT)
    present, home = LATER.epoch, LATER.committee
    assert written(store) == {
        ALARM: [(present, home, 0), (present, home, 1)],
        VOTE: [(present, home, 1), (present, home, 2)],
        EVIDENCE: before[EVIDENCE],
    }
    assert [(alarm.ballot, alarm.raised) for alarm in outbox.alarms()] == [(LATER, True)]


def test_a_second_vote_in_the_current_epoch_is_evidence_after_pruning_too(store: OutboxStore) -> None:
    outbox = Outbox(store)
    outbox.witness(LATER, [cast(LATER, 3, b"\1" * 32)], ROSTER, DOMAIN)
    outbox.forget_before(*PRESENT)
    outbox.witness(LATER, [cast(LATER, 3, b"\2" * 32)], ROSTER, DOMAIN)
    (evidence,) = outbox.evidence()
    assert (evidence.index, evidence.first.content, evidence.second.content) == (3, b"\1" * 32, b"\2" * 32)
    outbox.punished(evidence)
    assert outbox.evidence() == ()


def test_epoch_after_epoch_the_notes_do_not_grow(store: OutboxStore) -> None:
    outbox, sizes = Outbox(store), set()
    for epoch in range(1, 6):
        ballot = replace(BALLOT, epoch=epoch)
        outbox.forget_before(ballot.chain_id, ballot.committee, epoch)
        outbox.witness(ballot, [cast(ballot, index, b"\1" * 32) for index in (1, 2, 3, 4)], ROSTER, DOMAIN)
        for number in range(2 * MAX_ALARMS):
            outbox.refuse(replace(ballot, proposal=number.to_bytes(32, "big")), "nonsense")
        sizes.add(sum(len(notes) for notes in written(store).values()))
    assert sizes == {4 + MAX_ALARMS}


def test_a_vote_that_its_member_did_not_sign_is_not_noted(store: OutboxStore) -> None:
    outbox = Outbox(store)
    for strange in (
        replace(cast(LATER, 1, b"\1" * 32), index=2),
        replace(cast(LATER, 1, b"\1" * 32), index=5),
    ):
        with pytest.raises(RefusedError, match=f"attributed to member {strange.index} is not signed by it"):
            outbox.witness(LATER, [strange], ROSTER, DOMAIN)
    assert written(store) == {}
