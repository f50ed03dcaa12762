# SPDX-License-Identifier: Apache-2.0
"""A message counts for its chain, committee, epoch, subject, round, sender and recipient only."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blockful_py.committee import codec, wire
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import MessageError

DOMAIN = wire.domain(1337, bytes([7]) * 20)
SIGNER = wire.MessageSigner(curve.random_scalar(SeededRng(b"asks")), DOMAIN)
OTHER = wire.MessageSigner(curve.random_scalar(SeededRng(b"answers")), DOMAIN)
QUESTION = SIGNER.question("approve", 2, bytes([1]) * 32, 1, OTHER.address, b'{"x":"0x1"}')
ENVELOPE = codec.decode(wire.Envelope, QUESTION.envelope)


def test_a_message_is_received_as_it_was_sent() -> None:
    assert wire.receive(DOMAIN, QUESTION.envelope) == QUESTION


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "commit"},
        {"epoch": 3},
        {"subject": bytes([2]) * 32},
        {"round": 2},
        {"sender": OTHER.address},
        {"recipient": SIGNER.address},
        {"reference": bytes(32)},
        {"body": '{"x":"0x2"}'},
        {"version": "blockful-committee/2"},
        {"signature": ENVELOPE.signature[:-1] + bytes([ENVELOPE.signature[-1] ^ 1])},
        {"signature": ENVELOPE.signature[:-1]},
        {"signature": b""},
        {"subject": bytes(31)},
        {"sender": bytes(21)},
        {"epoch": 2**64},
        {"body": "\ud800"},
    ],
)
def test_an_altered_message_does_not_count(change: dict[str, object]) -> None:
    with pytest.raises(MessageError):
        wire.receive(DOMAIN, codec.encode(replace(ENVELOPE, **change)))


@pytest.mark.parametrize("domain", [wire.domain(1338, bytes([7]) * 20), wire.domain(1337, bytes([8]) * 20)])
def test_a_message_for_another_chain_or_committee_does_not_count(domain: eip712.Domain) -> None:
    with pytest.raises(MessageError, match="for this chain and committee"):
        wire.receive(domain, QUESTION.envelope)


def test_no_vote_is_a_message() -> None:
    votes = eip712.Domain(DOMAIN.chain_id, DOMAIN.contract)
    digest = eip712.digest(votes, QUESTION.message)
    assert signature.recover(digest, ENVELOPE.signature) != SIGNER.address


def test_too_long_a_message_is_not_looked_at() -> None:
    with pytest.raises(MessageError, match="are allowed"):
        wire.receive(DOMAIN, bytes(wire.MAX_MESSAGE + 1))


def test_an_answer_is_to_its_question_from_the_member_asked() -> None:
    answer = OTHER.answer(QUESTION, wire.ANSWERED, b"{}")
    wire.require_answer(QUESTION, answer, OTHER.address)
    again = SIGNER.question("approve", 2, bytes([1]) * 32, 1, OTHER.address, b'{"x":"0x1"}')
    assert again.digest != QUESTION.digest
    with pytest.raises(MessageError, match="not from the member asked"):
        wire.require_answer(again, answer, OTHER.address)
    with pytest.raises(MessageError, match="not from the member asked"):
        wire.require_answer(QUESTION, answer, SIGNER.address)
    with pytest.raises(MessageError, match="not from the member asked"):
        wire.require_answer(QUESTION, OTHER.answer(QUESTION, "approve", b"{}"), OTHER.address)


@pytest.mark.parametrize(
    "asking",
    [
        {"epoch": 3},
        {"subject": bytes([2]) * 32},
        {"sender": OTHER.address},
    ],
)
def test_an_answer_is_relayed_within_its_subject_and_by_its_leader_only(asking: dict[str, object]) -> None:
    answer = OTHER.answer(QUESTION, wire.ANSWERED, b"{}")
    wire.require_relayed(answer, QUESTION.message, OTHER.address, 1)
    with pytest.raises(MessageError, match="is not the answer of"):
        wire.require_relayed(answer, replace(QUESTION.message, **asking), OTHER.address, 1)
    with pytest.raises(MessageError, match="is not the answer of"):
        wire.require_relayed(answer, QUESTION.message, OTHER.address, 2)
    with pytest.raises(MessageError, match="is not the answer of"):
        wire.require_relayed(answer, QUESTION.message, SIGNER.address, 1)
