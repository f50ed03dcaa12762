# SPDX-License-Identifier: Apache-2.0
"""A participant at work: it watches the chains, and starts each piece of work in a process of its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry

from blockful_py.chain.participant_registry import Endpoint, FiledRequest
from blockful_py.chain.signer import Signer
from blockful_py.child_process import ChildProcesses
from blockful_py.closable import Closable
from blockful_py.errors import BlockfulError, RunError, SettingsError
from blockful_py.keys.reader_keys import ReaderKeys
from blockful_py.learning.scenario import ModelSpec, holders_of, next_of, plan
from blockful_py.participant.cores import Cores
from blockful_py.participant.folder import ParticipantFolder
from blockful_py.participant.monitoring import ParticipantMetrics
from blockful_py.participant.task import ParticipantTask
from blockful_py.participant.turn import turn_of
from blockful_py.pipeline.run.catching_up import catch_up
from blockful_py.pipeline.run.contracts import open_contracts
from blockful_py.pipeline.run.endpoints import announce
from blockful_py.pipeline.run.nodes import Nodes
from blockful_py.pipeline.run.stores import Stores
from blockful_py.record.catalogue import Catalogue, CatalogueReader
from blockful_py.record.model_node import Request
from blockful_py.record.parts import (
    due,
    has_lapsed,
    missing,
    newest_parts,
    request_from_bytes,
    with_parts,
    withdrawn_for,
)
from blockful_py.settings.limits import OwnerLimits
from blockful_py.types import Paradigm

_log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""Wait after a federation file could not be had or used."""
LOOK_SECONDS = 30.0
"""Longest time between two looks at the record, where no block is new."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds after work that failed, twice as many each time that it fails again."""


@dataclass(frozen=True, slots=True)
class NextWork:
    """Work that is due: models to train, or whose parts of a request are to be done."""

    models: tuple[str, ...]
    request: int | None = None

    def __str__(self) -> str:
        names = ", ".join(self.models)
        return f"training {names}" if self.request is None else f"request {self.request}: unlearning {names}"


@dataclass(frozen=True, slots=True)
class RequestState:
    """A filed request as a participant sees it.

    Attributes:
        deadline: last block of the live chain's node in which parts are handed in.
        waits_for: models that it has not replaced yet, in topological order.
        withdrawn: models that it has withdrawn.
        due: own models whose parts can be done now.
        refused: why the owner has no part of it done; None where it has.
        problem: why nobody carries it out any more; None where that can be done.
    """

    number: int
    deadline: int
    waits_for: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    refused: str | None = None
    problem: str | None = None

    def __str__(self) -> str:
        gone = f"; withdrawn: {', '.join(self.withdrawn)}" if self.withdrawn else ""
        told = f"waits for {', '.join(self.waits_for)}" if self.waits_for else "it is done"
        return f"request {self.number}: {self.problem or told}{gone}"


class ParticipantService(Closable):
    """The loop of one participant: a duty (`committee.service.duties`).

    What is due follows from the chains alone, so whoever restarts goes on where it was.
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
        """`url`: where others fetch the files that it keeps, as the chain then says.  `metrics`: of its work.

        Raises RunError before it has joined, NodeError or DeploymentError.
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
        account = Signer(self._keys.account_secret.to_bytes(32, "big"))
        self._nodes = Nodes(self.run.place, account)
        try:
            self.contracts = open_contracts(self._nodes, self.run.deployments)
        except BaseException:
            self._nodes.close()
            raise
        stores = Stores.of(self.run, self.contracts)
        self._store = stores.live
        self._catalogue = CatalogueReader(self.contracts.live, self._store, stores.archive)
        self._plan = plan(self.run.settings.federation, holders_of(self.run.settings))
        self._seen = (-1, self._now())
        self._settled = ("", self._now())
        self._pause = 0.0
        self._after = self._now()
        self._logged: str | None = None
        self._cores = Cores()

    @property
    def user(self) -> int:
        """The participant's number."""
        return self.party.user or 0

    def catalogue(self) -> Catalogue:
        """The models as they stand."""
        return self._catalogue.read()

    def step(self) -> None:
        """Does what is due, one piece of work, by the federation file and within the owner's limits.

        Raises the work's error; what failed is tried again after a pause, which grows.
        """
        if self._folder.is_paused or self._now() < self._after:
            return
        block = self.contracts.live.newest_block()
        if block == self._settled[0] and self._now() < self._settled[1] + LOOK_SECONDS:
            return
        self._follow()
        self._require_joined()
        self._announced = self._announced or announce(self.contracts, self._keys.account, self._endpoint)
        catalogue = self._catalogue.read()
        waiting = self.waiting(catalogue)
        self._metrics.queue.set(sum(len(each.models) for each in waiting))
        work = waiting[0] if waiting else None
        why = None if work is None else self.withheld(work, catalogue)
        if why and why != self._logged:
            _log.info("%s: %s", work, why)
        self._logged = why
        if work is None or why:
            self._settled = (block, self._now())
            return
        limits = self._folder.limits()
        with turn_of(limits.turn) as is_ours:
            if is_ours:
                self._do(work, limits)

    def next_work(self, catalogue: Catalogue) -> NextWork | None:
        """The first piece of work that waits; None when nothing is due."""
        waiting = self.waiting(catalogue)
        return waiting[0] if waiting else None

    def waiting(self, catalogue: Catalogue) -> tuple[NextWork, ...]:
        """Work that is due: the parts of requests, by number, then the next model."""
        work = []
        for filed in self.contracts.participants.filed_requests():
            names = () if self.refusal(filed, catalogue) else self.due(filed, catalogue)
            if names:
                work.append(NextWork(names, filed.number))
        spec = self.next_model(catalogue)
        if spec is not None:
            work.append(NextWork((spec.name,)))
        return tuple(work)

    def withheld(self, work: NextWork, catalogue: Catalogue) -> str | None:
        """The reason why the owner's limits put work off; None when it may begin.  Raises SettingsError."""
        limits, now = self._folder.limits(), datetime.now().astimezone()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if why := limits.withheld(now):
            return why
        if work.request is not None:
            return None
        own = sum(each.node.statement.user == self.user for each in catalogue.models.values())
        return limits.enough(own, self._folder.log.trained_since(midnight.timestamp()))

    def refusal(self, filed: FiledRequest, catalogue: Catalogue) -> str | None:
        """The reason why the owner lets this participant do no part of a request; None when it does.

        Raises SettingsError.
        """
        try:
            request = self._request(filed, catalogue)
        except BlockfulError:
            return None  # nobody does a part of it
        method = request.method.partition(" ")[0]
        if ":" in method and method not in self._folder.opened()[0].own_methods:
            return f"its owner does not name the code {method} (`blockful participant join --method`)"
        return self._folder.limits().refused(request.forget.level, method)

    def _follow(self) -> None:
        """Goes by another federation file once the committee has changed it.

        Raises SettingsError, as long as the file cannot be had or this participant cannot go by it.
        """
        if self._blocked is not None and self._now() < self._blocked[1]:
            raise self._blocked[0]
        self._blocked = None
        standing = self.contracts.participants.file_digest()
        if standing in (None, bytes.fromhex(self.party.federation)):
            return
        try:
            if self._folder.opened()[1] == self.party:  # no other process has brought the run to it
                catch_up(self.run, self.contracts, self._store, self._nodes)
        except SettingsError as error:
            self._blocked = (error, self._now() + RETRY_SECONDS)
            raise
        self._nodes.close()
        self._open()
        _log.info("goes on with the federation file 0x%s", self.party.federation)

    def _require_joined(self) -> None:
        """Raises RunError for a participant that the committee has barred, or that has left."""
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

    def due(self, filed: FiledRequest, catalogue: Catalogue) -> tuple[str, ...]:
        """Own models whose part of a request can be done now; none for a request that is unusable, nor for a
        parallel one that takes no parts any more."""
        try:
            request = self._request(filed, catalogue)
            over = self.contracts.live.node.block_number() >= filed.deadline
            if over and request.paradigm == Paradigm.PARALLEL:
                return ()
            hand_ins = self.contracts.participants.hand_ins(filed.number)
            return due(catalogue, request, self._keys.account, hand_ins)
        except BlockfulError:
            return ()

    def open_parts(self, filed: FiledRequest, catalogue: Catalogue) -> tuple[str, ...]:
        """Own models whose parts an open request waits for, now or later; none for one that is unusable."""
        registry = self.contracts.participants
        owner = "0x" + self._keys.account.hex()
        try:
            request = self._request(filed, catalogue)
        except BlockfulError:
            return ()
        handed_in, now = registry.hand_ins(filed.number), registry.node.block_number()
        if has_lapsed(catalogue, request, handed_in, filed.deadline, now):
            return ()
        done = newest_parts(catalogue, request, handed_in).keys()
        wanted = with_parts(catalogue, request) - done
        return tuple(
            name
            for name in missing(catalogue, request)
            if name in wanted and catalogue[name].node.statement.owner == owner
        )

    def states(self, catalogue: Catalogue) -> tuple[RequestState, ...]:
        """All filed requests, in the order of their numbers."""
        return tuple(self._state(each, catalogue) for each in self.contracts.participants.filed_requests())

    def _state(self, filed: FiledRequest, catalogue: Catalogue) -> RequestState:
        registry = self.contracts.participants
        try:
            request = self._request(filed, catalogue)
        except BlockfulError as error:
            return RequestState(filed.number, filed.deadline, problem=f"it cannot be used: {error}")
        handed_in, now = registry.hand_ins(filed.number), registry.node.block_number()
        lapsed = has_lapsed(catalogue, request, handed_in, filed.deadline, now)
        return RequestState(
            filed.number,
            filed.deadline,
            missing(catalogue, request),
            withdrawn_for(catalogue, request),
            self.due(filed, catalogue),
            self.refusal(filed, catalogue),
            "it has lapsed: not all who signed it did their parts in time" if lapsed else None,
        )

    def _request(self, filed: FiledRequest, catalogue: Catalogue) -> Request:
        live = self.contracts.live
        return request_from_bytes(self._store.read(filed.uri), live.chain_id, live.address, catalogue)

    def next_model(self, catalogue: Catalogue) -> ModelSpec | None:
        """The next model to train, if its references are there or have been waited for."""
        spec = next_of(self.user, self._plan, catalogue.models)
        if spec is None:
            return None
        if len(catalogue.models) != self._seen[0]:
            self._seen = (len(catalogue.models), self._now())
        if spec.needs <= catalogue.models.keys():
            return spec
        patient = self._now() - self._seen[1] < self.run.settings.federation.patience
        there = spec.needs & catalogue.models.keys()
        return None if patient or spec.references is not None or not there else spec

    def _do(self, work: NextWork, limits: OwnerLimits) -> None:
        """Does a piece of work in a child process, on the cores that the owner allows."""
        _log.info("begins: %s", work)
        keys = self._keys
        task = ParticipantTask(self.run.path, keys.account_secret, keys.encryption_secret, work.request)
        self._cores.limit(limits.cores)
        try:
            with (
                self._metrics.working(len(work.models), work.request is None),
                self._folder.log.recording(work.models, work.request),
            ):
                if not self._processes.run(task.to_json()):
                    raise RunError("the participant was stopped before it was done.")
        except BlockfulError:
            self._pause = min(max(FIRST_PAUSE, 2 * self._pause), LONGEST_PAUSE)
            self._after = self._now() + self._pause
            raise
        self._pause = 0.0
        _log.info("done: %s", work)

    def close(self) -> None:
        self._nodes.close()
