# SPDX-License-Identifier: Apache-2.0
"""The lifecycle of a run's jobs: opened, resumed after a crash, completed or aborted.

States and steps: docs/reference/jobs.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from blockful_py.engine.jobs import Act, Job, JobState, Kind, PlannedStep, Step, StepState
from blockful_py.engine.journal import unfinished
from blockful_py.errors import (
    BlockfulError,
    CommitteeError,
    ContractError,
    GraphError,
    LearningError,
    NodeError,
    ReorganisedError,
    RunError,
    StorageError,
    StoreUnreachableError,
    UnlearningError,
)
from blockful_py.monitoring import request_id
from blockful_py.pipeline.jobs.context import FederationContext
from blockful_py.pipeline.jobs.engine_tasks import clear_tasks
from blockful_py.pipeline.jobs.journaled_sends import journaled_executions
from blockful_py.pipeline.jobs.unstore import current_files, unstore
from blockful_py.pipeline.run.lease import request_of
from blockful_py.pipeline.run.operations import Counter
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.record.request import request_key
from blockful_py.storage.cid import parse_cid
from blockful_py.types import Certificate

_log = logging.getLogger(__name__)

REFUSALS = (UnlearningError, LearningError, GraphError, CommitteeError, StorageError, ContractError)
"""Errors that would recur on a repetition; they end a job unless it is half-done."""

Answer = TypeVar("Answer")


class JobLifecycle:
    """The jobs in one run's journal.  A caller that changes them holds the lease."""

    def __init__(self, context: FederationContext) -> None:
        self._context = context
        self._journal = context.journal

    @contextmanager
    def job(self, kind: Kind, request: str, begun: Callable[[], bool]) -> Iterator[dict[str, Any]]:
        """Opens a job, or continues the open one of this kind; closes it when the block succeeds.

        Yields the job's result, for the block to fill.  A refused job fails unless it is half-done.  A job
        that stops for another reason, such as an unreachable node, stays open.  `begun`: whether a chain
        shows a result of the job; called after a refusal.

        The block works under the job's request id (`monitoring.request_id`).  Raises RunError when a job of
        another kind is open, or when transactions of a decision are still unsent after `settle`.
        """
        job = self._journal.open_job()
        if job is None:
            job = self._journal.begin(kind, request)
        elif job.kind is not kind:
            raise unfinished(job)
        else:
            self._require_settled(job)
            self.withdraw()
        result: dict[str, Any] = {}
        with request_id.bound(self._request_id(job)):
            _log.info("job %d begins: %s", job.number, kind)
            try:
                yield result
            except StoreUnreachableError:
                raise
            except REFUSALS as error:
                with suppress(BlockfulError):  # the job stays open if it cannot be inspected or withdrawn
                    self._fail(error, begun)
                raise
            clear_tasks(self._context.run)
            self._journal.close_job(JobState.DONE, "", result)
            _log.info("job %d is done", job.number)

    def settle(self) -> tuple[str, ...]:
        """Sends the missing transactions of certified decisions; returns descriptions of them."""
        job = self._journal.open_job()
        if job is None:
            return ()
        return self._context.executor(Stopwatch()).finish(job, self._release)

    def _release(self, decision: Certificate) -> Certificate:
        return self._context.session(Counter()).coordinator.release(decision)

    def withdraw(self) -> None:
        """Deletes the open job's stored files that no model points to; drops the steps that stored them."""
        job = self._open()
        stored = {cid for step in job.steps if step.act is Act.STORE for cid in step.body.get("cids", ())}
        if stored:
            gone = sorted(stored - self._current_files())
            unstore(self._context.stores.live, self._context.keys, gone)
        self._journal.drop([step for step in job.valid if step.decision and step.state is not StepState.DONE])

    def confirm(self) -> None:
        """Asks both chains for every transaction sent.  Raises NodeError when one no longer holds it.

        Also reads and keeps their events, so that later changes are noticed.  Logs a reorganisation that
        removed none of the transactions.
        """
        with self._journal.taking(self._own(Act.CONFIRM, "both chains")):
            noticed = None
            try:
                self._context.contracts.require_unchanged()
            except ReorganisedError as error:
                noticed = error
            try:
                self._context.executor(Stopwatch()).confirm(self._open())
            except NodeError as lost:
                raise (lost if noticed is None else ReorganisedError(f"{noticed} {lost}")) from None
            if noticed is not None:
                _log.warning("%s", noticed)

    def forget(self) -> None:
        """Deletes from the live store the replaced files that no model points to."""
        replaced = {cid for step in self._open().steps for cid in step.body.get("forget", ())}
        gone = sorted(replaced - self._current_files())
        with self._journal.taking(self._own(Act.DELETE, f"{len(gone)} replaced files")):
            self._context.stores.live.delete(*map(parse_cid, gone))

    def erase(self, destroy: Callable[[], Answer]) -> Answer:
        """Calls `destroy`, which has the members destroy keys, as a step of the job."""
        with self._journal.taking(self._own(Act.ERASE, "keys of replaced versions")):
            return destroy()

    def excluded(self) -> tuple[str, ...]:
        """Members that were excluded from the open job's decisions, each with the reason."""
        return self._open().excluded

    def abort(self) -> Job:
        """Aborts the open job and deletes the files that it stored.

        Blocks that a training has published stay, as each is complete in itself.

        Raises RunError if no job is open, or if one of its transactions may be on a chain.
        """
        job = self._journal.open_job()
        if job is None:
            raise RunError("no job is unfinished: there is nothing to give up.")
        executions, stays = journaled_executions(job), job.kind in {Kind.TRAIN, Kind.ADOPT}
        sent = [
            each.settlement.note for each in executions if each.may_be_out and not (stays and each.is_sent)
        ]
        if sent:
            raise RunError(
                f"job {job.number} ({job.kind}) cannot be given up: transactions of it may be on the chains "
                f"already ({'; '.join(sent)}), and what is on them stays. Finish it with `blockful resume`."
            )
        self._journal.drop([step for each in executions if not each.is_sent for step in each.steps])
        self.withdraw()
        clear_tasks(self._context.run)
        self._journal.close_job(JobState.ABORTED, "given up before anything was sent")
        return next(each for each in self._journal.jobs() if each.number == job.number)

    def _current_files(self) -> frozenset[str]:
        return current_files(self._context.record.catalogue.read())

    def _fail(self, error: BlockfulError, begun: Callable[[], bool]) -> None:
        """Ends a refused job, unless it is half-done and can continue."""
        hopeless = isinstance(error, UnlearningError) and self._is_erasing()
        half_done = any(each.may_be_out and not each.is_sent for each in journaled_executions(self._open()))
        if hopeless or (not half_done and not begun()):
            self.withdraw()
            clear_tasks(self._context.run)
            self._journal.close_job(JobState.FAILED, str(error))
            _log.info("the job has failed: %s", error)

    @staticmethod
    def _require_settled(job: Job) -> None:
        for each in journaled_executions(job):
            if each.may_be_out and not each.is_sent:
                left = sum(step.state is not StepState.DONE for step in each.sends.values())
                raise RunError(
                    f"{each.settlement.note}: a contract refuses the next of {left} transaction(s) that are "
                    "left. Nothing is lost, and models that wait stay as they were: remove the cause "
                    "(`blockful resume` names it), then resume."
                )

    def _request_id(self, job: Job) -> str:
        request = request_of(job)
        if request is None:
            return request_id.of_job(self._context.run.identity, job.number)
        return request_id.of_request(request_key(request))

    def _is_erasing(self) -> bool:
        """Whether keys may be destroyed, after which this job cannot do the rest of the request."""
        return any(s.act is Act.ERASE and s.state is not StepState.PLANNED for s in self._open().steps)

    def _own(self, act: Act, subject: str) -> Step:
        """The job's own step of this kind; plans it if it is missing."""
        known = next((step for step in self._open().valid if step.act is act and not step.decision), None)
        return known or self._journal.plan([PlannedStep(act, subject)], 0)[0]

    def _open(self) -> Job:
        job = self._journal.open_job()
        if job is None:
            raise RunError("no job is open: begin one before its steps.")
        return job
