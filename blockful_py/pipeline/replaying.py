# SPDX-License-Identifier: Apache-2.0
"""An auditor's work: replays the trainings that it is drawn for, and tells the members its findings."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from blockful_py.errors import BlockfulError, FormatError, StorageError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.keys.shown_files import MAX_SHOWN_BYTES, context_of, read_shown
from blockful_py.learning.disclosure import Disclosure
from blockful_py.learning.spot_check import first_fault
from blockful_py.learning.training_setup import TrainingSetup
from blockful_py.ledger.replay import ReplayFinding, ReplayWord
from blockful_py.pipeline.coordination.auditor_words import heard, tell
from blockful_py.pipeline.coordination.remote_committee import remote_committee_of
from blockful_py.pipeline.review.commitments import Commitments
from blockful_py.pipeline.review.replays import Replays, ReplayStanding
from blockful_py.pipeline.review.spot_checks import requested_training
from blockful_py.pipeline.run.catching_up import catch_up
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.training_data import setup_of
from blockful_py.record.commitments import Turn, commitment_to
from blockful_py.record.request_state import RequestStanding
from blockful_py.record.training_trace import parse_trace
from blockful_py.record.waves import PartHandedIn
from blockful_py.types import Uri

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DrawnTraining:
    """A training that this auditor is to replay.

    Attributes:
        status: the request that it was done for.
        committed: the owner's commitment.
        turn: this auditor's turn.
    """

    status: RequestStanding
    name: str
    committed: PartHandedIn
    turn: Turn
    standing: ReplayStanding


class AuditorWork:
    """Replays trainings for one auditor."""

    name = "replays"

    def __init__(self, run: RunDirectory, nodes: Nodes, keys: ReaderKeys) -> None:
        """Follows a federation with the auditor's keys in a run that holds nobody's data.

        Raises as `OpenedRun.attach` and `setup_of`.
        """
        self._keys = keys
        self._nodes = nodes
        self._told: set[tuple[bytes, Uri]] = set()
        self._open(run)

    def _open(self, run: RunDirectory) -> None:
        self._opened = opened = OpenedRun.attach(run, self._nodes)
        self._replays = Replays(opened.contracts)
        self._setup: TrainingSetup = setup_of(opened.run, opened.stores.live)
        self._commitments = Commitments(opened.contracts.participants, opened.stores.live)
        self._remote = remote_committee_of(opened.run, opened.contracts, self._keys.account_secret)

    def drawn(self) -> Iterator[DrawnTraining]:
        """The trainings shown to this auditor whose requests are open, and on which it has not spoken."""
        account = "0x" + self._keys.account.hex()
        for status in self._opened.docket.admitted():
            names = status.with_parts if status.stage.is_open else ()
            for name in sorted(names):
                if account not in status.record[name].node.statement.auditors:
                    continue
                committed = self._commitments.first(status, name)
                if committed is None:
                    continue
                standing = self._replays.standing(status, name, committed)
                own = (turn for turn in standing.turns if turn.auditor == self._keys.account)
                for turn in own:
                    if (committed.uri.digest, turn.shown) not in self._told:
                        yield DrawnTraining(status, name, committed, turn, standing)

    def step(self) -> None:
        """Replays the trainings shown to it, by the federation's present file (a duty)."""
        self.replay()

    def replay(self) -> tuple[ReplayWord, ...]:
        """Does as `step`; returns the words that it told the members.

        Raises the last error if it told none, once it has tried all trainings.
        """
        opened = self._opened
        changed = catch_up(opened.run, opened.contracts, opened.stores.live, self._nodes)
        if changed is not None:
            self._open(changed)
        told, problem = list[ReplayWord](), None
        for drawn in self.drawn():
            try:
                word = self._word(drawn)
                if word is not None:
                    told.append(word)
            except BlockfulError as error:
                problem = error
        if problem is not None and not told:
            raise problem
        return tuple(told)

    def _word(self, drawn: DrawnTraining) -> ReplayWord | None:
        """Replays a training and tells the members the finding; None if they know it already."""
        contracts, committed = self._opened.contracts, drawn.committed
        epoch = contracts.committee.current_epoch()
        words = heard(self._remote, epoch, committed.uri.digest)
        known = self._replays.standing(drawn.status, drawn.name, committed, words)
        said = known.said.get(self._keys.account, {})
        done = (committed.uri.digest, drawn.turn.shown)
        if {*said} - {ReplayFinding.UNUSABLE}:
            self._told.add(done)
            return None
        outcome, interval = self._found(drawn)
        word = self._replays.word(drawn.status, drawn.name, committed, outcome, interval)
        _, quorum = contracts.committee.roster(epoch)
        signed = word.signed(self._keys.account_secret, self._replays.domain)
        tell(self._remote, epoch, quorum, signed)
        self._told.add(done)
        self._opened.stores.live.delete(drawn.turn.shown)
        _log.info("request %d, %s: %s", drawn.status.number, drawn.name, _spelt(word))
        return word

    def _found(self, drawn: DrawnTraining) -> tuple[ReplayFinding, int]:
        """The finding of a replay, and the interval that differs.

        Raises StorageError while the file may still arrive, in the first half of the turn.
        """
        try:
            data = self._opened.stores.live.read(drawn.turn.shown, MAX_SHOWN_BYTES)
        except StorageError:
            if 2 * (drawn.status.now - drawn.turn.since) < drawn.standing.blocks:
                raise
            _log.warning("the training of %s is shown in a file that nobody has", drawn.name)
            return ReplayFinding.UNUSABLE, 0
        try:
            fault = self._first_fault(drawn, data)
        except Exception as error:  # else a strange file would silence an auditor, and another would be drawn
            _log.warning("the training of %s is not shown: %s", drawn.name, error)
            return ReplayFinding.UNUSABLE, 0
        return (ReplayFinding.SAME, 0) if fault is None else (ReplayFinding.DIFFERS, fault)

    def _first_fault(self, drawn: DrawnTraining, data: bytes) -> int | None:
        committed, live = drawn.committed, self._opened.contracts.live
        context = context_of(live.chain_id, live.address, committed.uri.digest, drawn.turn.auditor)
        disclosure = Disclosure.of(read_shown(data, self._keys.encryption_secret, context))
        if commitment_to(disclosure.trace) != committed.uri:
            raise FormatError("the trace that is shown is not the committed one.")
        training = requested_training(self._setup, drawn.status, drawn.name, committed)
        return first_fault(training, disclosure, parse_trace(disclosure.trace))


def _spelt(word: ReplayWord) -> str:
    if word.outcome is ReplayFinding.SAME:
        return "the training is as committed"
    return (
        f"interval {word.interval} differs"
        if word.outcome is ReplayFinding.DIFFERS
        else "nothing usable is shown"
    )
