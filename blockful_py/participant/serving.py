# SPDX-License-Identifier: Apache-2.0
"""Serves a participant: watches the chains and does each piece of work in a child process."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from prometheus_client import CollectorRegistry

from blockful_py.chain.participant_registry import Endpoint
from blockful_py.chain.signer import Signer
from blockful_py.child_process import ChildProcesses
from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError, RunError, SettingsError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.scenario import ModelSpec, holders_of, next_of, plan
from blockful_py.participant.auditors_turns import AuditorsTurn, AuditorsTurns
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.monitoring import ParticipantMetrics
from blockful_py.participant.sharing import Cores, turn_of
from blockful_py.participant.task import ParticipantTask
from blockful_py.pipeline.coordination.remote_committee import remote_committee_of
from blockful_py.pipeline.run.accounts import announce
from blockful_py.pipeline.run.catching_up import catch_up
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.record.built_on_old import built_on_old
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.request import Request
from blockful_py.record.request_state import Filed, RequestStage
from blockful_py.settings.learning import REVEALED
from blockful_py.settings.limits import OwnerLimits
from blockful_py.types import RequestState

_log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""Wait after a federation file could not be fetched or used."""
LOOK_SECONDS = 30.0
"""Longest time between two reads of the record while no new block arrives."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds to wait after failed work, doubled on each further failure."""


@dataclass(frozen=True, slots=True)
class NextWork:
    """A piece of due work: a model to train, or the participant's parts of a request.

    Attributes:
        by: account that filed the request.
    """

    models: tuple[str, ...]
    request: int | None = None
    by: bytes | None = None

    def __str__(self) -> str:
        names = ", ".join(self.models)
        return f"training {names}" if self.request is None else f"request {self.request}: unlearning {names}"


@dataclass(frozen=True, slots=True)
class RequestStatus:
    """A filed request as a participant sees it.

    Attributes:
        deadline: last block of the live chain's node in which parts may be handed in; 0 before admission.
        waits_for: models that the request has yet to replace and clean ones that it lacks, in topological
            order.
        withdrawn: models withdrawn by the request.
        built_on_old: later models trained from versions that the request replaced.
        due: own models whose parts can be done now.
        refused: why the owner refuses to take part; None if it does not.
        failed: error of this participant's last attempt, which is retried; None if it succeeded.
        problem: why the request cannot be read; None if it can.
        turns: auditors' turns to replay trainings for it, of any owner.
    """

    number: int
    stage: RequestStage
    deadline: int
    waits_for: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    built_on_old: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    refused: str | None = None
    failed: str | None = None
    problem: str | None = None
    turns: tuple[AuditorsTurn, ...] = ()

    def __str__(self) -> str:
        waits = f", waits for {', '.join(self.waits_for)}" if self.stage.is_open else ""
        gone = f"; withdrawn: {', '.join(self.withdrawn)}" if self.withdrawn else ""
        problem = f": {self.problem}" if self.problem else ""
        return f"request {self.number}: {self.stage}{waits}{gone}{problem}"


@dataclass(frozen=True, slots=True)
class _Pause:
    """Time of the next attempt at failed work, and the length of the pause (seconds)."""

    until: float
    seconds: float


class ParticipantService(Closable):
    """The main loop of one participant: a duty (`committee.service.duties`).

    Due work follows from the chains alone, so a restarted participant continues where it stopped.
    """

    name = "participant"

    def __init__(
        self,
        folder: ParticipantFolder,
        keys: ReaderKeys,
        processes: ChildProcesses,
        now: Callable[[], float] = time.monotonic,
        url: str | None = None,
        metrics: ParticipantMetrics | None = None,
    ) -> None:
        """Opens the participant's run.

        `url`: where others can fetch the files that this participant keeps; published on the chain.  Raises
        RunError if it has not joined yet, NodeError or DeploymentError.
        """
        self._folder = folder
        self._keys = keys
        self._processes = processes
        self._now = now
        self._metrics = metrics or ParticipantMetrics(CollectorRegistry())
        self._blocked: tuple[SettingsError, float] | None = None
        self._endpoint = None if url is None else Endpoint(keys.account, url)
        self._announced = False
        self._open()

    def _open(self) -> None:
        self.run, self.party = self._folder.opened()
        secret = self._keys.account_secret
        self._opened = OpenedRun.attach(self.run, account=Signer(secret.to_bytes(32, "big")), secret=secret)
        self.contracts = self._opened.contracts
        remote = remote_committee_of(self.run, self.contracts, secret)
        self._turns = AuditorsTurns(self.contracts, self._opened.stores.live, remote)
        self._plan = plan(self.run.settings.federation, holders_of(self.run.settings))
        self._seen = (-1, self._now())
        self._settled = ("", self._now())
        self._pauses: dict[int | None, _Pause] = {}
        self._served: dict[bytes, float] = {}
        self._logged: str | None = None
        self._cores = Cores()

    @property
    def user(self) -> int:
        """The participant's number."""
        return self.party.user or 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """Rules of the federation that its owner has to know."""
        return (REVEALED,) if self.run.settings.learning.reveals_samples else ()

    def catalogue(self) -> Catalogue:
        """The current models."""
        return self._opened.catalogue()

    def step(self) -> None:
        """Does one piece of due work, by the federation file and within the owner's limits.

        Raises the work's error.  Failed work is retried after a growing pause, and other work continues
        meanwhile.
        """
        if self._folder.is_paused:
            return
        with self._opened.nodes.one_look():
            allowed = self._allowed()
        if allowed is not None:
            limits = self._folder.limits()
            with turn_of(limits.turn) as is_ours:
                if is_ours:
                    self._do(allowed, limits)

    def _allowed(self) -> NextWork | None:
        """The first due work that the owner's limits allow; None without one, and while nothing changes."""
        block = self.contracts.live.newest_block()
        if block == self._settled[0] and self._now() < self._settled[1] + LOOK_SECONDS:
            return None
        self._follow()
        self._require_joined()
        self._announced = self._announced or announce(self.contracts, self._keys.account, self._endpoint)
        catalogue = self._opened.catalogue()
        waiting = self.waiting(catalogue)
        self._metrics.queue.set(sum(len(each.models) for each in waiting))
        ready = [work for work in waiting if not self._rests(work)]
        allowed = next((work for work in ready if not self._put_off(work, catalogue)), None)
        if allowed is None and len(ready) == len(waiting):
            self._settled = (block, self._now())
        return allowed

    def _rests(self, work: NextWork) -> bool:
        """Whether work is paused after a recent failure."""
        pause = self._pauses.get(work.request)
        return pause is not None and self._now() < pause.until

    def _put_off(self, work: NextWork, catalogue: Catalogue) -> bool:
        """Whether the owner's limits postpone work; logs the reason once."""
        why = self.withheld(work, catalogue)
        if why and why != self._logged:
            _log.info("%s: %s", work, why)
            self._logged = why
        return bool(why)

    def next_work(self, catalogue: Catalogue) -> NextWork | None:
        """The first piece of due work, if any."""
        waiting = self.waiting(catalogue)
        return waiting[0] if waiting else None

    def waiting(self, catalogue: Catalogue) -> tuple[NextWork, ...]:
        """All due work: parts of requests first, then the next model.

        Requesting accounts take turns, so that an account with many requests delays only its own.  Parts with
        less than half of their time left come before all others, in the order of request numbers.  A part
        that waits for an auditor's word is left out, and the model's next version with it.
        """
        admitted = tuple(self._opened.docket.admitted())
        awaiting = {each.number: self._turns.awaited(each, self._keys.account) for each in admitted}
        committed = {
            name for status in admitted for name in awaiting[status.number] if not status.hands_in(name)
        }
        parts = []
        for status in admitted:
            due = () if self._refused(status.request) else status.due(self._keys.account)
            waits = {*awaiting[status.number], *(name for name in committed if not status.hands_in(name))}
            names = tuple(name for name in due if name not in waits)
            if names:
                by = status.filed.by
                since = self._served.get(by, -math.inf)
                turn = (False, 0.0) if status.presses(names) else (True, since)
                parts.append((turn, NextWork(names, status.number, by)))
        work = [each for _, each in sorted(parts, key=itemgetter(0))]
        spec = self.next_model(catalogue)
        if spec is not None:
            work.append(NextWork((spec.name,)))
        return tuple(work)

    def withheld(self, work: NextWork, catalogue: Catalogue) -> str | None:
        """Why the owner's limits postpone work; None if it may begin.  Raises SettingsError."""
        limits, now = self._folder.limits(), datetime.now().astimezone()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if why := limits.withheld(now):
            return why
        if work.request is not None:
            return None
        own = sum(each.node.statement.user == self.user for each in catalogue.models.values())
        return limits.enough(own, self._folder.log.trained_since(midnight.timestamp()))

    def _refused(self, request: Request) -> str | None:
        """Why the owner refuses to take part in a request; None if it does not.  Raises SettingsError."""
        method = request.method.partition(" ")[0]
        if ":" in method and method not in self._folder.opened()[0].allowed_code:
            return f"its owner does not allow the code {method} (`blockful participant join --allow`)"
        return self._folder.limits().refused(request.forget.level, method)

    def _follow(self) -> None:
        """Switches to a new federation file after the committee has changed it.

        Raises SettingsError as long as the file cannot be fetched or used.
        """
        if self._blocked is not None and self._now() < self._blocked[1]:
            raise self._blocked[0]
        self._blocked = None
        current = self.contracts.participants.file_digest()
        if current in (None, bytes.fromhex(self.party.federation)):
            return
        try:
            if self._folder.opened()[1] == self.party:  # another process may have updated the run
                catch_up(self.run, self.contracts, self._opened.stores.live, self._opened.nodes)
        except SettingsError as error:
            self._blocked = (error, self._now() + RETRY_SECONDS)
            raise
        self._opened.close()
        self._open()
        _log.info("goes on with the federation file 0x%s", self.party.federation)

    def _require_joined(self) -> None:
        """Checks that the participant is still joined.  Raises RunError if it is barred or has left."""
        entry = self.contracts.participants.participant(self._keys.account)
        if entry.since:
            return
        account = "0x" + self._keys.account.hex()
        if entry.barred:
            raise RunError(
                f"the committee has barred {account}: it publishes nothing until it is readmitted."
            )
        raise RunError(
            f"{account} has left the federation, or was barred: `blockful participant join "
            f"{self._folder.path} --federation FILE --data DATA` joins it again."
        )

    def owed(self) -> dict[int, tuple[str, ...]]:
        """Own models whose parts open requests wait for, now or later, by request number."""
        parts = {each.number: each.owed(self._keys.account) for each in self._opened.docket.admitted()}
        return {number: names for number, names in parts.items() if names}

    def statuses(self, catalogue: Catalogue) -> tuple[RequestStatus, ...]:
        """All filed requests, by ascending number."""
        last = {each.request: each.error for each in self._folder.log.entries()}
        return tuple(
            self._status(each, catalogue, last.get(each.number)) for each in self._opened.docket.filed()
        )

    def _status(self, filed: Filed, catalogue: Catalogue, failed: str | None) -> RequestStatus:
        if filed.state is not RequestState.ADMITTED:
            stage = RequestStage.FILED if filed.state is RequestState.FILED else RequestStage.DISMISSED
            return RequestStatus(filed.number, stage, filed.deadline)
        try:
            status = self._opened.docket[filed.number]
        except BlockfulError as error:
            return RequestStatus(
                filed.number, RequestStage.OPEN, filed.deadline, problem=f"it cannot be read: {error}"
            )
        return RequestStatus(
            filed.number,
            status.stage,
            filed.deadline,
            status.waits_for,
            status.withdrawn,
            built_on_old(status, catalogue),
            status.due(self._keys.account),
            self._refused(status.request),
            failed,
            turns=tuple(self._turns.of(status)),
        )

    def next_model(self, catalogue: Catalogue) -> ModelSpec | None:
        """The next model to train, or None.

        A model is ready once its references are usable or `patience` has passed, and no request is about to
        replace them.  An owner that has asked to be forgotten trains no more.
        """
        spec = next_of(self.user, self._plan, catalogue.models)
        if spec is None or self.user in self._opened.docket.left():
            return None
        if len(catalogue.models) != self._seen[0]:
            self._seen = (len(catalogue.models), self._now())
        usable = catalogue.models.keys() - self._opened.docket.awaited()
        if spec.needs <= usable:
            return spec
        patient = self._now() - self._seen[1] < self.run.settings.federation.patience
        there = spec.needs & usable
        return None if patient or spec.references is not None or not there else spec

    def _do(self, work: NextWork, limits: OwnerLimits) -> None:
        """Does a piece of work in a child process, on the cores that the owner allows."""
        _log.info("begins: %s", work)
        keys = self._keys
        task = ParticipantTask(self.run.path, keys.account_secret, keys.encryption_secret, work.request)
        served, versions = self._served.get(work.by or b"", -math.inf), self._reference_versions(work)
        if work.by is not None:
            self._served[work.by] = self._now()
        self._cores.limit(limits.cores)
        try:
            with (
                self._metrics.working(len(work.models), work.request is None),
                self._folder.log.recording(work.models, work.request),
            ):
                if not self._processes.run(task.to_json()):
                    raise RunError("the participant was stopped before it was done.")
        except BlockfulError:
            if work.by is not None and self._reference_versions(work) != versions:
                self._served[work.by] = served  # another decision came first: the part keeps its turn
                raise
            before = self._pauses.get(work.request)
            seconds = FIRST_PAUSE if before is None else min(2 * before.seconds, LONGEST_PAUSE)
            self._pauses[work.request] = _Pause(self._now() + seconds, seconds)
            raise
        self._pauses.pop(work.request, None)
        _log.info("done: %s", work)

    def _reference_versions(self, work: NextWork) -> dict[str, int]:
        """Current versions of the models that the work's published models were trained from."""
        catalogue = self._opened.catalogue()
        published = [name for name in work.models if name in catalogue.models]
        return {
            reference: catalogue[reference].version
            for name in published
            for reference in catalogue.graph.references(name)
        }

    def close(self) -> None:
        self._opened.close()
