# SPDX-License-Identifier: Apache-2.0
"""A member's outbox: decisions to finish, alarms to raise and equivocations to report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockful_py.closable import Closable
from blockful_py.committee import codec
from blockful_py.committee.certificates import CastVote
from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication, CertifiedRedaction
from blockful_py.committee.memory import Ballot
from blockful_py.committee.outbox_store import OutboxStore
from blockful_py.crypto import eip712, signature
from blockful_py.errors import RefusedError
from blockful_py.types import Address

PUBLICATION, REDACTION = "publication", "redaction"
ALARM, VOTE, EVIDENCE = "alarm", "vote", "evidence"
TOPICS = (PUBLICATION, REDACTION, ALARM, VOTE, EVIDENCE)
DECISIONS: dict[type[CertifiedProposal], str] = {
    CertifiedPublication: PUBLICATION,
    CertifiedRedaction: REDACTION,
}
MAX_ALARMS = 32
"""Maximum alarms of a member in an epoch; each costs gas, and leaders can propose without limit."""
MAX_REASON = 256
"""Maximum length of an alarm's reason in bytes (IAlarms)."""


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A certified decision that may be unfinished."""

    ballot: Ballot
    certified: CertifiedProposal


@dataclass(frozen=True, slots=True)
class RefusedProposal:
    """A proposal that this member refused; `raised` is true once the chain has the alarm."""

    ballot: Ballot
    reason: str
    raised: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """Two votes of the member at `index` for different contents of one proposal."""

    ballot: Ballot
    index: int
    first: CastVote
    second: CastVote


class Outbox(Closable):
    """Typed access to an `OutboxStore`.  Every method raises MemoryLostError when the store fails."""

    def __init__(self, store: OutboxStore) -> None:
        self._store = store

    def close(self) -> None:
        self._store.close()

    def keep(self, ballot: Ballot, certified: CertifiedProposal) -> None:
        """Stores a certified decision durably.

        Raises RefusedError when another decision on the same proposal is stored.
        """
        body = codec.encode(certified)
        if self._store.write(DECISIONS[type(certified)], ballot, body) != body:
            raise RefusedError("this member keeps another certificate of the same proposal")

    def kept(self) -> tuple[PendingDecision, ...]:
        return tuple(
            PendingDecision(note.ballot, codec.decode(kind, note.body))
            for kind, topic in DECISIONS.items()
            for note in self._store.read(topic)
        )

    def finished(self, kept: PendingDecision) -> None:
        self._store.strike(DECISIONS[type(kept.certified)], kept.ballot)

    def refuse(self, ballot: Ballot, reason: str) -> None:
        """Stores an alarm: the first reason for each proposal, at most MAX_ALARMS for each epoch."""
        known = [alarm.ballot for alarm in self.alarms()]
        if ballot not in known and sum(each.epoch == ballot.epoch for each in known) < MAX_ALARMS:
            text = reason.encode()[:MAX_REASON].decode(errors="ignore")
            self._store.write(ALARM, ballot, text.encode())

    def alarms(self) -> tuple[RefusedProposal, ...]:
        """All stored alarms."""
        raised = {note.ballot for note in self._store.read(ALARM) if note.number}
        return tuple(
            RefusedProposal(note.ballot, note.body.decode(), note.ballot in raised)
            for note in self._store.read(ALARM)
            if not note.number
        )

    def raised(self, alarm: RefusedProposal) -> None:
        """Records that the chain has this alarm or can no longer accept it."""
        self._store.write(ALARM, alarm.ballot, b"", number=1)

    def witness(
        self, ballot: Ballot, ballots: Sequence[CastVote], roster: Sequence[bytes], domain: eip712.Domain
    ) -> None:
        """Stores votes, and evidence when a member voted for two contents of one proposal.

        Raises RefusedError when a vote is not signed by its member.
        """
        for cast in ballots:
            digest = eip712.decision_digest(domain, ballot.epoch, ballot.proposal, cast.content)
            if not 1 <= cast.index <= len(roster) or not signature.is_by(
                roster[cast.index - 1], digest, cast.vote
            ):
                raise RefusedError(f"a vote attributed to member {cast.index} is not signed by it")
        for cast in ballots:
            noted = self._store.write(VOTE, ballot, codec.encode(cast), number=cast.index)
            first = codec.decode(CastVote, noted)
            if first.content != cast.content:
                both = codec.encode(Evidence(ballot, cast.index, first, cast))
                self._store.write(EVIDENCE, ballot, both, number=cast.index)

    def evidence(self) -> tuple[Evidence, ...]:
        """Evidence that the chain may lack."""
        notes = self._store.read(EVIDENCE)
        return tuple(codec.decode(Evidence, note.body) for note in notes if note.body)

    def punished(self, evidence: Evidence) -> None:
        """Removes evidence after the chain has slashed the member or can no longer do so."""
        self._store.strike(EVIDENCE, evidence.ballot, evidence.index)

    def forget_before(self, chain_id: int, committee: Address, epoch: int) -> None:
        """Removes notes on earlier epochs of this committee and on other committees.

        Evidence stays, because it is valid in every epoch.
        """
        self._store.strike_before((PUBLICATION, REDACTION, ALARM, VOTE), chain_id, committee, epoch)
