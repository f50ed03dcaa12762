# SPDX-License-Identifier: Apache-2.0
"""Leads a key generation among processes: relays the members' messages and excludes members that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from blockful_py.committee import codec, wire
from blockful_py.committee.polling import Refusal, at_once
from blockful_py.committee.service.generation import Charter
from blockful_py.committee.service.kinds import MessageKind
from blockful_py.committee.service.member_client import IndexedClient, MemberClient
from blockful_py.committee.service.messages import Empty, RelayedAnswers
from blockful_py.crypto.threshold.keys import CommitteeKey
from blockful_py.errors import CheaterError, QuorumError
from blockful_py.types import Bytes32

STEPS = (
    MessageKind.KEY_REVEAL,
    MessageKind.KEY_DEAL,
    MessageKind.KEY_RECEIVE,
    MessageKind.KEY_ANSWER,
    MessageKind.KEY_CONFIRM,
    MessageKind.KEY_FINISH,
)


@dataclass(frozen=True, slots=True)
class Generated:
    """A key confirmed by every dealer of the charter, and the excluded members with reasons."""

    charter: Charter
    key: CommitteeKey
    excluded: tuple[str, ...]


def generate_among(
    clients: Sequence[MemberClient], charter_for: Callable[[tuple[bytes, ...]], Charter], minimum: int
) -> Generated:
    """Generates a key among the responsive members; excludes members that fail and starts again.

    `charter_for` returns a charter whose dealers are the members with the given addresses, with a fresh salt
    each time.

    Raises QuorumError when fewer than `minimum` members remain.
    """
    left = list(clients)
    excluded: list[str] = []
    while len(left) >= minimum:
        charter = charter_for(tuple(client.address for client in left))
        try:
            return Generated(charter, _attempt(charter, left), tuple(excluded))
        except CheaterError as error:
            failed = [client for client in left if charter.index(client.address) in error.members]
            excluded += [f"0x{client.address.hex()} at {client.url}: {error.what}" for client in failed]
            left = [client for client in left if client not in failed]
    raise QuorumError(
        f"{len(left)} members remain for the key generation, {minimum} are needed; no key was made. "
        + "; ".join(excluded)
    )


def _attempt(charter: Charter, clients: Sequence[MemberClient]) -> CommitteeKey:
    candidates = sorted(
        (IndexedClient(index, line) for line in clients if (index := charter.index(line.address))),
        key=lambda each: each.index,
    )
    answers = _round(charter, candidates, MessageKind.KEY_COMMIT, charter)
    for kind in STEPS:
        relayed = RelayedAnswers(tuple(answers[each.index].envelope.decode() for each in candidates))
        answers = _round(charter, candidates, kind, relayed)
    bodies = [answers[each.index].message.body for each in candidates]
    key = codec.decode(CommitteeKey, max(bodies, key=bodies.count))
    others = [each.index for each, body in zip(candidates, bodies, strict=True) if body != codec.encode(key)]
    if others:
        raise CheaterError(others, "the confirmed key")
    return key


def _round(
    charter: Charter, candidates: Sequence[IndexedClient], kind: MessageKind, body: Any
) -> dict[int, wire.Received]:
    """Collects every member's answer.

    Raises CheaterError with the members that most accuse, or else with the members that failed.
    """
    subject = charter.digest()
    replies = at_once(
        candidates, lambda each: each.client.ask(kind, charter.epoch, subject, body), len(candidates)
    )
    refusals = {index: each.reason for index, each in replies.items() if isinstance(each, Refusal)}
    if not refusals:
        return {index: each for index, each in replies.items() if not isinstance(each, Refusal)}
    accusations = [reason for reason in refusals.values() if isinstance(reason, CheaterError)]
    named = Counter(member for reason in accusations for member in reason.members)
    guilty = [member for member, times in named.items() if 2 * times > len(candidates)]
    if guilty:
        raise CheaterError(guilty, f"{accusations[0].what} was found wrong by most members")
    reasons = "; ".join(str(reason) for reason in refusals.values())
    raise CheaterError(list(refusals), f"{kind.label} failed: {reasons}")


def settle(clients: Sequence[MemberClient], epoch: int, key_id: Bytes32, quorum: int) -> int:
    """Proves to the members that a quorum has shares of a key, so that they confirm it on chain.

    Returns the number of members with shares; below `quorum`, sends nothing to them.  Anyone can repeat it,
    also for a key whose generation had another leader.
    """
    places = [IndexedClient(number, client) for number, client in enumerate(clients, start=1)]
    replies = at_once(
        places, lambda each: each.client.ask(MessageKind.KEY_HELD, epoch, key_id, Empty()), quorum
    )
    held = {index: each for index, each in replies.items() if not isinstance(each, Refusal)}
    if len(held) >= quorum:
        shown = RelayedAnswers(tuple(each.envelope.decode() for each in held.values()))
        holders = [place for place in places if place.index in held]
        at_once(
            holders, lambda each: each.client.ask(MessageKind.KEY_SETTLE, epoch, key_id, shown), len(holders)
        )
    return len(held)
