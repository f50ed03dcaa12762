# SPDX-License-Identifier: Apache-2.0
"""Leaders as processes that die before a chosen transaction."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import SIGKILL, SIGSTOP

from blockful_py.engine.journal import Journal
from blockful_py.pipeline.jobs.journaled_sends import journaled_executions
from blockful_py.pipeline.run.directory import RunDirectory
from blockful_py.pipeline.run.nodes import ChainEndpoints, Nodes
from tests.forks import FORKS
from tests.member.processes import MemberProcess

SECONDS = 600.0


def until(what: Callable[[], bool]) -> None:
    """Waits for a condition; fails if it does not become true."""
    end = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def unsettled(run: RunDirectory) -> int:
    """Decisions of the open job that may be missing on a chain."""
    with Journal(run.journal) as journal:
        job = journal.open_job()
    return sum(not given.is_sent for given in journaled_executions(job)) if job else 0


def lead_until(
    run: Path, chains: Nodes, transaction: int, classes: tuple[int, ...], frozen: Sequence[MemberProcess] = ()
) -> None:
    """Has a process unlearn and die before a transaction, counted from 0; without classes it trains.

    `frozen` members do nothing from that moment on.
    """
    urls = (chains.live.url, chains.archive.url)
    pids = tuple(member.pid for member in frozen)
    _see_die(FORKS.Process(target=_lead, args=(run, urls, transaction, classes, pids)))


def request_and_die(run: Path, chains: Nodes, classes: tuple[int, ...]) -> None:
    """Has a process make a request and die before it asks the members."""
    _see_die(FORKS.Process(target=_request, args=(run, (chains.live.url, chains.archive.url), classes)))


def _see_die(process: BaseProcess) -> None:
    process.start()
    process.join(SECONDS)
    assert process.exitcode == -SIGKILL


def _request(run: Path, urls: tuple[str, str], classes: tuple[int, ...]) -> None:
    from blockful_py.committee.coordinator import Coordinator
    from blockful_py.pipeline.federation import Federation
    from tests.faults.fuse import die

    Coordinator.certify_redaction = lambda self, *_: die()  # type: ignore[assignment,return-value,method-assign]
    with Nodes(ChainEndpoints(1337, 1338, *urls)) as nodes, Federation.open(run, nodes=nodes) as federation:
        federation.unlearn(classes=classes)


def _lead(
    run: Path, urls: tuple[str, str], transaction: int, classes: tuple[int, ...], pids: tuple[int, ...]
) -> None:
    from tests.faults.fuse import die, fused

    def freeze_and_die() -> None:
        for pid in pids:
            os.kill(pid, SIGSTOP)
        die()

    with Nodes(ChainEndpoints(1337, 1338, *urls)) as nodes:
        federation = fused(run, nodes, sending=transaction, blow=freeze_and_die)
        if classes:
            federation.unlearn(classes=classes)
        else:
            federation.train()
