# SPDX-License-Identifier: Apache-2.0
"""A message is valid only for its chain, committee, epoch, subject, round, sender and recipient."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blockful_py.committee import codec, wire
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.crypto import curve, eip712, signature
from blockful_py.crypto.randomness import SeededRng
from blockful_py.errors import MessageError

DOMAIN = wire.domain(1337, bytes([7]) * 20)
SIGNER = wire.MessageSigner(curve.random_scalar(SeededRng(b"asks")), DOMAIN)
OTHER = wire.MessageSigner(curve.random_scalar(SeededRng(b"answers")), DOMAIN)
QUESTION = SIGNER.question("approve", 2, bytes([1]) * 32, 1, OTHER.address, b'{"x":"0x1"}')
LINE = codec.decode(wire.FirstLine, QUESTION.line[:-1])
BODY = QUESTION.message.body


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
        {"body_hash": bytes(32)},
        {"subject": bytes(31)},
        {"sender": bytes(21)},
        {"epoch": 2**64},
    ],
)
def test_an_altered_header_does_not_count(change: dict[str, Any]) -> None:
    altered = replace(LINE, header=replace(LINE.header, **change))
    with pytest.raises(MessageError):
        wire.open_line(DOMAIN, codec.encode(altered) + b"\n")


@pytest.mark.parametrize(
    "change",
    [
        {"version": "blockful-committee/1"},
        {"signature": LINE.signature[:-1] + bytes([LINE.signature[-1] ^ 1])},
        {"signature": LINE.signature[:-1]},
        {"signature": b""},
    ],
)
def test_an_altered_line_does_not_count(change: dict[str, Any]) -> None:
    with pytest.raises(MessageError):
        wire.open_line(DOMAIN, codec.encode(replace(LINE, **change)) + b"\n")


@pytest.mark.parametrize("body", [b"", b'{"x":"0x2"}', BODY + b" ", BODY[:-1]])
def test_another_body_than_the_signed_one_does_not_count(body: bytes) -> None:
    with pytest.raises(MessageError, match="not the one that its sender signed"):
        wire.receive(DOMAIN, QUESTION.line + body)


@pytest.mark.parametrize("domain", [wire.domain(1338, bytes([7]) * 20), wire.domain(1337, bytes([8]) * 20)])
def test_a_message_for_another_chain_or_committee_does_not_count(domain: eip712.Domain) -> None:
    with pytest.raises(MessageError, match="for this chain and committee"):
        wire.receive(domain, QUESTION.envelope)


def test_no_vote_is_a_message() -> None:
    votes = eip712.Domain(DOMAIN.chain_id, DOMAIN.contract)
    digest = eip712.digest(votes, LINE.header)
    assert signature.recover(digest, LINE.signature) != SIGNER.address


@pytest.mark.parametrize("data", [b"", b"{}", QUESTION.line[:-1], b" " * wire.MAX_LINE + b"\n"])
def test_bytes_without_a_first_line_are_not_looked_at(data: bytes) -> None:
    with pytest.raises(MessageError, match="does not begin with a line"):
        wire.receive(DOMAIN, data)


def test_the_longest_first_line_fits() -> None:
    label = max((kind.label for kind in MessageKind), key=len)
    longest = SIGNER.question(label, 2**64 - 1, bytes([255]) * 32, 2**32 - 1, OTHER.address, b"")
    assert len(longest.line) < wire.MAX_LINE


def test_an_answer_is_to_its_question_from_the_member_asked() -> None:
    answer = OTHER.answer(QUESTION, wire.ANSWERED, b"{}")
    wire.require_answer(QUESTION, answer.message, OTHER.address)
    again = SIGNER.question("approve", 2, bytes([1]) * 32, 1, OTHER.address, b'{"x":"0x1"}')
    assert again.digest != QUESTION.digest
    with pytest.raises(MessageError, match="not from the member asked"):
        wire.require_answer(again, answer.message, OTHER.address)
    with pytest.raises(MessageError, match="not from the member asked"):
        wire.require_answer(QUESTION, answer.message, SIGNER.address)
    with pytest.raises(MessageError, match="not from the member asked"):
        wire.require_answer(QUESTION, OTHER.answer(QUESTION, "approve", b"{}").message, OTHER.address)


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
