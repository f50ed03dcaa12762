# SPDX-License-Identifier: Apache-2.0
"""Auditors' words on trainings, which members keep and hand on."""

from __future__ import annotations

from blockful_py.committee import codec
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import IndexedClient
from blockful_py.committee.service.messages import Empty, Words, WordsRequest
from blockful_py.errors import QuorumError
from blockful_py.ledger.replay import SignedWord
from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee
from blockful_py.types import Bytes32


def heard(remote: RemoteCommittee, epoch: int, commitment: Bytes32) -> tuple[SignedWord, ...]:
    """The words on a training that any member has heard, unchecked."""

    def ask(member: IndexedClient) -> Words:
        asked = WordsRequest(commitment)
        answer = member.client.ask(MessageKind.READ_WORDS, epoch, bytes(32), asked)
        return codec.decode(Words, answer.message.body)

    members = remote.seated()
    answers = at_once(members, ask, len(members)).values()
    return tuple(
        dict.fromkeys(each for words in answers if not isinstance(words, Refusal) for each in words.words)
    )


def tell(remote: RemoteCommittee, epoch: int, quorum: int, signed: SignedWord) -> None:
    """Tells all members a word.  Raises QuorumError, with their reasons, unless a quorum keeps it."""

    def ask(member: IndexedClient) -> Empty:
        answer = member.client.ask(MessageKind.TELL_WORD, epoch, bytes(32), signed)
        return codec.decode(Empty, answer.message.body)

    members = remote.seated()
    answers = at_once(members, ask, len(members)).values()
    reasons = [str(each.reason) for each in answers if isinstance(each, Refusal)]
    kept = len(answers) - len(reasons)
    if kept < quorum:
        raise QuorumError(f"{kept} members keep the word, {quorum} are needed. {'; '.join(reasons)}")
