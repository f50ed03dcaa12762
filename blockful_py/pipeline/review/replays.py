# SPDX-License-Identifier: Apache-2.0
"""Replays of trainings by drawn auditors: their turns, their words, and the consequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from blockful_py.crypto import eip712
from blockful_py.crypto.spot_check import drawn_order
from blockful_py.errors import InvalidSignatureError, RefusedError
from blockful_py.ledger.replay import ReplayFinding, ReplayWord, SignedWord
from blockful_py.pipeline.coordination.auditor_words import heard
from blockful_py.pipeline.coordination.remote_committee import RemoteCommittee
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.refusing import require
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.record.commitments import Turn, turn_blocks, turns_of
from blockful_py.record.docket import Docket
from blockful_py.record.request import request_key
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.statement_parts import SpotCheck
from blockful_py.record.waves import PartHandedIn
from blockful_py.types import Address, Point, Uri


@dataclass(frozen=True, slots=True)
class ReplayStanding:
    """The state of a replay.

    Attributes:
        order: the agreed auditors that are registered now, in the order drawn.
        turns: the turns that have begun.
        said: words by auditor and outcome, each by an auditor whose turn has begun.
        now: number of the newest block.
        blocks: blocks of a turn.
    """

    order: tuple[bytes, ...]
    turns: tuple[Turn, ...]
    said: Mapping[bytes, Mapping[ReplayFinding, SignedWord]]
    now: int
    blocks: int

    @property
    def current(self) -> Turn | None:
        """The turn that lasts; None before the first and between two."""
        last = self.turns[-1] if self.turns else None
        return last if last is not None and self.now < last.since + self.blocks else None

    @property
    def following(self) -> bytes | None:
        """The auditor to be shown the training next; None while another's turn lasts, or at the end."""
        left = self.order[len(self.turns) :]
        return left[0] if left and self.current is None else None

    @property
    def passed(self) -> tuple[Address, SignedWord] | None:
        """The first auditor that found the training right, with its word."""
        spoken = ((each.auditor, self.said.get(each.auditor, {})) for each in self.turns)
        return next(
            ((who, words[ReplayFinding.SAME]) for who, words in spoken if ReplayFinding.SAME in words), None
        )

    @property
    def disputed(self) -> tuple[int, ...]:
        """The intervals that auditors say differ."""
        words = (each.get(ReplayFinding.DIFFERS) for each in self.said.values())
        return tuple(sorted({each.word.interval for each in words if each is not None}))

    @property
    def is_unusable(self) -> bool:
        """Whether an auditor says that it was shown nothing usable, and has not been since."""
        return any({*words} == {ReplayFinding.UNUSABLE} for words in self.said.values())

    @property
    def is_given_up(self) -> bool:
        """Whether no auditor will say more, and none has found a difference."""
        silent = self.current is None and self.following is None
        return (silent or self.is_unusable) and not self.disputed

    @property
    def is_pending(self) -> bool:
        """Whether an auditor may still find the training right."""
        over = self.passed is not None or self.is_given_up
        return not over and (self.current is not None or self.following is not None)

    @property
    def awaited(self) -> Turn | None:
        """The turn of the auditor that the training's owner waits for; None if the owner can go on."""
        return self.current if self.is_pending else None


class Replays:
    """Reads replays from the chains, and judges auditors' words."""

    def __init__(self, contracts: Contracts) -> None:
        live = contracts.live
        self._contracts = contracts
        self.domain = eip712.Domain(live.chain_id, live.address)

    def key(self, auditor: Address) -> Point | None:
        """The encryption key of an auditor; None if the committee registers it no longer."""
        key = self._contracts.archive.auditor_key(auditor)
        return Point(*key) if any(key) else None

    def standing(
        self, status: RequestStanding, name: str, committed: PartHandedIn, words: Iterable[SignedWord] = ()
    ) -> ReplayStanding:
        """The state of the replay of a committed training; ignores words that do not belong to it."""
        agreed = [bytes.fromhex(each[2:]) for each in status.record[name].node.statement.auditors]
        beacon = self._contracts.live.node.block_hash(committed.block_number)
        drawn = drawn_order(beacon, committed.uri.digest, agreed)
        order = tuple(each for each in drawn if self.key(each) is not None)
        blocks = turn_blocks(status.rules.blocks, len(agreed))
        turns = turns_of(order, committed, status.handed_in, blocks)
        speakers, said = {each.auditor for each in turns}, dict[bytes, dict[ReplayFinding, SignedWord]]()
        for signed in words:
            with suppress(InvalidSignatureError, ValueError):
                auditor, word = signed.auditor(self.domain), signed.word
                about = self.word(status, name, committed, word.outcome, word.interval)
                if auditor in speakers and word == about:
                    said.setdefault(auditor, {}).setdefault(word.outcome, signed)
        return ReplayStanding(order, turns, said, status.now, blocks)

    def told(
        self, remote: RemoteCommittee, commitments: Commitments, status: RequestStanding, name: str
    ) -> ReplayStanding | None:
        """The state of a model's replay by all words that members have heard; None before the commitment."""
        committed = commitments.first(status, name)
        if committed is None:
            return None
        words = heard(remote, self._contracts.committee.current_epoch(), committed.uri.digest)
        return self.standing(status, name, committed, words)

    def word(
        self,
        status: RequestStanding,
        name: str,
        committed: PartHandedIn,
        outcome: ReplayFinding = ReplayFinding.SAME,
        interval: int = 0,
    ) -> ReplayWord:
        """An unsigned word on a committed training."""
        place = status.record[name].position.packed
        return ReplayWord(request_key(status.request), place, committed.uri.digest, outcome, interval)

    def speaker(self, docket: Docket, commitments: Commitments, signed: SignedWord) -> Address:
        """The auditor whose word on an open request this is.

        Raises RefusedError unless the auditor is registered, and its turn to replay the training has begun.
        """
        try:
            auditor, word = signed.auditor(self.domain), signed.word
        except (InvalidSignatureError, ValueError) as error:
            raise RefusedError(f"nobody signed this word: {error}") from None
        require(self.key(auditor) is not None, f"0x{auditor.hex()} is no auditor of this federation")
        for status in docket.admitted():
            if request_key(status.request) != word.request or not status.stage.is_open:
                continue
            for name in status.with_parts:
                if status.record[name].position.packed != word.position:
                    continue
                committed = commitments.first(status, name)
                if committed is not None and committed.uri.digest == word.commitment:
                    turns = self.standing(status, name, committed).turns
                    began = any(each.auditor == auditor for each in turns)
                    require(began, f"it is not the turn of 0x{auditor.hex()} to replay {name}")
                    return auditor
        raise RefusedError("the word is about no training that an open request waits for")

    def shown(self, status: RequestStanding, commitments: Commitments) -> Iterator[Uri]:
        """The files that owners handed in for the auditors of a request's trainings."""
        for name in status.with_parts:
            if status.record[name].node.statement.auditors:
                committed = commitments.first(status, name)
                turns = () if committed is None else self.standing(status, name, committed).turns
                yield from (each.shown for each in turns)

    def require_passed(
        self,
        status: RequestStanding,
        name: str,
        committed: PartHandedIn,
        said: SpotCheck,
        words: Iterable[SignedWord],
    ) -> None:
        """Checks that a version's replay was by an auditor whose turn had begun.

        No earlier auditor may have been passed over that was shown nothing usable, and all intervals that the
        auditors up to this one are known to dispute must be shown.  `words`: the words that this member has
        heard.  Raises RefusedError.
        """
        replay = said.replay
        if replay is None:
            raise RefusedError(f"no auditor replayed the training of {name}")
        auditor, signature = bytes.fromhex(replay.auditor[2:]), bytes.fromhex(replay.signature[2:])
        own = SignedWord(self.word(status, name, committed), signature)
        require(
            replay.commitment == committed.uri.digest.hex(), f"the replay of {name} is of another training"
        )
        standing = self.standing(status, name, committed, [own, *words])
        turns = [each.auditor for each in standing.turns]
        signed = standing.said.get(auditor, {}).get(ReplayFinding.SAME)
        require(signed is not None, f"no auditor whose turn it is signed the replay of {name}")
        until = turns[: turns.index(auditor) + 1]
        for earlier in until:
            outcomes = standing.said.get(earlier, {})
            require(
                {*outcomes} != {ReplayFinding.UNUSABLE},
                f"the auditor 0x{earlier.hex()} was shown nothing of {name} that it could use",
            )
            differing = outcomes.get(ReplayFinding.DIFFERS)
            require(
                differing is None
                or differing.word.interval in replay.disputed
                or differing.word.interval >= said.intervals,
                f"the auditor 0x{earlier.hex()} disputes the training of {name}, which its owner leaves open",
            )
