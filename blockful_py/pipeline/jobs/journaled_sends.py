# SPDX-License-Identifier: Apache-2.0
"""Executes certified proposals; the journal plans all their transactions before the first is sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from blockful_py.chain.settlement import (
    ARCHIVE,
    LIVE,
    Executed,
    Record,
    Release,
    Settlement,
    SettlementCall,
    SettlementContract,
    Sides,
    is_untouched,
    is_whole,
    send_missing,
)
from blockful_py.committee.certified import CertifiedProposal, CertifiedPublication
from blockful_py.engine.jobs import Act, Job, PlannedStep, Step, StepState
from blockful_py.engine.journal import Journal, StepResult
from blockful_py.errors import ContractError, NodeError, RunError
from blockful_py.ledger.signed import unsigned
from blockful_py.pipeline.run.contracts import Contracts
from blockful_py.pipeline.run.progress import Stopwatch
from blockful_py.types import Certificate, Receipt

_log = logging.getLogger(__name__)

Certified = TypeVar("Certified")


@dataclass(frozen=True, slots=True)
class Decided(Generic[Certified]):
    """A certified proposal, and the transactions that carry it out.

    `excluded`: members that were excluded from the decision, each with the reason.
    """

    certified: Certified
    settlement: Settlement
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JournaledExecution:
    """A settlement, with its steps in the journal.

    Attributes:
        tell: the step that hands it to the members; None if they live in this process.
        sends: its transactions, by chain and chunk.
    """

    settlement: Settlement
    certify: Step
    tell: Step | None
    sends: Mapping[tuple[str, int], Step]

    @property
    def steps(self) -> tuple[Step, ...]:
        return (self.certify, *((self.tell,) if self.tell else ()), *self.sends.values())

    @property
    def is_sent(self) -> bool:
        return all(step.state is StepState.DONE for step in self.sends.values())

    @property
    def may_be_out(self) -> bool:
        """Whether this process, or a member that has the certificate, may have sent a transaction."""
        rest = self.steps[1:]
        return any(step.state in {StepState.BEGUN, StepState.DONE} for step in rest)


def journaled_executions(job: Job) -> tuple[JournaledExecution, ...]:
    """The certified decisions of a job that were not withdrawn, in order."""
    certified = [
        step for step in job.valid if step.act is Act.CERTIFY and step.state is StepState.DONE and step.body
    ]
    return tuple(_journaled(job, step) for step in certified)


class JournaledExecutor:
    """Certifies and executes decisions of the run's open job."""

    def __init__(
        self, journal: Journal, archive: SettlementContract, live: SettlementContract, stopwatch: Stopwatch
    ) -> None:
        self._journal = journal
        self._stopwatch = stopwatch
        self._sides: Sides = {ARCHIVE: archive, LIVE: live}

    def certify(
        self, decision: int, subject: str, keepers: int, decide: Callable[[], Decided[Certified]]
    ) -> tuple[Certified, JournaledExecution]:
        """Calls `decide` for a certificate, and plans its transactions in the same commit.

        `keepers`: number of members that are to receive the certificate.
        """
        (step,) = self._journal.plan([PlannedStep(Act.CERTIFY, subject)], decision)
        with self._journal.taking(step) as entry:
            decided = decide()
            settlement = decided.settlement
            entry.body = {
                "proposal": settlement.proposal.hex(),
                "epoch": settlement.decision.epoch,
                "content": settlement.decision.content_hash.hex(),
                "forget": list(settlement.forget),
                "note": settlement.note,
            }
            entry.plans = list(_plans(settlement, subject, keepers))
            entry.excluded = decided.excluded
            _log.info("certified: %s", subject, extra=_fields(settlement.decision))
        job = self._journal.open_job()
        for execution in journaled_executions(job) if job else ():
            if execution.certify.number == step.number:
                return decided.certified, execution
        raise RunError("the journal lost a step that was just written: see that nobody else changes it.")

    def send(
        self, execution: JournaledExecution, announce: Callable[[], object], release: Release
    ) -> tuple[Executed, ...]:
        """Tells the members, then sends the calls that the contracts have not executed.

        Drops the steps if a contract refuses the first call and no state has changed.
        """
        if execution.tell is not None:
            with self._journal.taking(execution.tell):
                announce()
        sent: list[Executed] = []
        try:
            sent.extend(self._missing(execution, release))
        except ContractError:
            if is_untouched(execution.settlement, self._sides):
                self._journal.drop(execution.steps)
            raise
        return tuple(sent)

    def finish(self, job: Job, release: Release) -> tuple[str, ...]:
        """Sends the calls that a crash or a reorganised chain left unsent; returns descriptions of them.

        Drops a decision that can no longer run because its epoch has ended or the chains have moved on; the
        committee decides again when the job is resumed.  Keeps a decision that the live chain has executed in
        part, since no other decision could replace the rest of its models.
        """
        finished = []
        for execution in journaled_executions(job):
            if execution.is_sent and is_whole(execution.settlement, self._sides):
                continue
            try:
                for _ in self._missing(execution, release):
                    pass
                finished.append(execution.settlement.note)
            except ContractError as error:
                note, live = execution.settlement.note, self._sides[LIVE]
                done, chunks = live.progress(execution.settlement.proposal)
                if done:
                    waits = f"transaction {done + 1} of {chunks} to the live chain was refused, and waits"
                    finished.append(f"{note}: {waits} ({error})")
                    continue
                self._journal.drop(execution.steps)
                finished.append(f"{note}: given up, as it can no longer run ({error})")
        return tuple(finished)

    def confirm(self, job: Job) -> None:
        """Checks that the chains still hold all sent transactions.  Raises NodeError if one is lost."""
        lost = [
            each.settlement.note
            for each in journaled_executions(job)
            if not is_whole(each.settlement, self._sides)
        ]
        if lost:
            raise NodeError(
                f"a chain no longer holds what it held ({'; '.join(lost)}): it was reorganised. Nothing was "
                "deleted or destroyed; run `blockful resume`."
            )

    def _missing(self, execution: JournaledExecution, release: Release) -> Iterator[Executed]:
        """Sends the missing calls, and records in the journal the calls that others sent."""

        @contextmanager
        def around(chain: str) -> Iterator[Record]:
            with self._stopwatch(chain):
                yield _Sending(self._journal, execution, self._sides[chain])

        def released(decision: Certificate) -> Certificate:
            with self._stopwatch("certify"):
                return release(decision)

        return send_missing(execution.settlement, self._sides, around, released)


@dataclass(slots=True)
class _Sending:
    """Journals the calls to one chain as they are sent."""

    journal: Journal
    execution: JournaledExecution
    side: SettlementContract

    def begin(self, calls: Sequence[SettlementCall]) -> None:
        self.journal.take([self._step(call) for call in calls])

    def done(self, call: SettlementCall, receipt: Receipt | None) -> None:
        step, settlement = self._step(call), self.execution.settlement
        if receipt is not None:
            sent: bytes | None = receipt.transaction_hash
        elif step.state is StepState.DONE:
            return
        else:
            self.journal.take([step])
            sent = self.side.executed_in(settlement.proposal, call.chunk)
        self.journal.finish(step, StepResult(transaction=sent))
        fields = _fields(settlement.decision) | {"transaction": sent}
        _log.info("executed: %s chain, %s", call.chain, settlement.note, extra=fields)

    def _step(self, call: SettlementCall) -> Step:
        return self.execution.sends[call.chain, call.chunk]


def _fields(decision: Certificate) -> dict[str, Any]:
    """A decision's fields in a log record."""
    return {"proposal": decision.proposal, "epoch": decision.epoch}


def _plans(settlement: Settlement, subject: str, keepers: int) -> Iterator[PlannedStep]:
    proposal = settlement.proposal.hex()
    if keepers:
        yield PlannedStep(Act.TELL, f"{subject}, {keepers} members", {"proposal": proposal})
    chunks = {chain: sum(call.chain == chain for call in settlement.calls) for chain in (ARCHIVE, LIVE)}
    for call in settlement.calls:
        yield PlannedStep(
            Act.SEND,
            f"{subject}, {call.chain} {call.chunk + 1} of {chunks[call.chain]}",
            {"proposal": proposal, "chain": call.chain, "chunk": call.chunk, "data": call.data.hex()},
        )


def _journaled(job: Job, certify: Step) -> JournaledExecution:
    body: Mapping[str, Any] = certify.body
    mine = [
        step
        for step in job.valid
        if step.decision == certify.decision and step.body.get("proposal") == body["proposal"]
    ]
    sends = {(s.body["chain"], s.body["chunk"]): s for s in mine if s.act is Act.SEND}
    calls = tuple(
        SettlementCall(chain, chunk, bytes.fromhex(s.body["data"])) for (chain, chunk), s in sends.items()
    )
    decision = unsigned(body["epoch"], bytes.fromhex(body["proposal"]), bytes.fromhex(body["content"]))
    settlement = Settlement(decision, calls, tuple(body["forget"]), body["note"])
    return JournaledExecution(settlement, certify, next((s for s in mine if s.act is Act.TELL), None), sends)


def settlement_of(
    contracts: Contracts, certified: CertifiedProposal, note: str, forget: tuple[str, ...] = ()
) -> Settlement:
    """The archive's transactions, then the live chain's."""
    decided = certified.proposal if isinstance(certified, CertifiedPublication) else certified.draft
    calls = [
        SettlementCall(
            ARCHIVE,
            action.chunk,
            contracts.archive.append_data(chunk.expected_head, chunk.timestamp, chunk.records, action),
        )
        for chunk, action in zip(decided.archive, certified.archive, strict=True)
    ]
    if isinstance(certified, CertifiedPublication):
        data = contracts.live.append_data(certified.proposal.block, certified.live)
        calls.append(SettlementCall(LIVE, 0, data))
        return Settlement(certified.live.certificate, tuple(calls), forget, note)
    for part, action in zip(certified.chunks, certified.live, strict=True):
        data = contracts.live.redact_data(part.updates, part.header_updates, action)
        calls.append(SettlementCall(LIVE, action.chunk, data))
    return Settlement(certified.live[0].certificate, tuple(calls), forget, note)
