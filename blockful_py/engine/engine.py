# SPDX-License-Identifier: Apache-2.0
"""Engines that run tasks: in this process, in local processes, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from blockful_py.engine.worker import carry_out
from blockful_py.errors import EngineError
from blockful_py.extras import needed_by
from blockful_py.settings import EngineSettings

ATTEMPTS = 5
"""Worker deaths per task before its engine gives up."""


@dataclass(frozen=True, slots=True)
class Order:
    """A task in the form that an engine accepts.

    Attributes:
        text: the message to the worker (`EngineTask.order`).
        title, cpus, gpu: as in the task.
    """

    text: str
    title: str
    cpus: int = 1
    gpu: float = 0.0


class Engine(Protocol):
    """Runs orders by `worker.carry_out`.

    Attributes:
        counts_cards: whether a worker counts the GPUs that it was given from 0, so that the driver's numbers
            mean nothing to it.
    """

    counts_cards: bool

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        """Yields each order's key with its answer, as answers arrive.

        If a worker dies, its current order is run again.
        Raises EngineError if no worker can run the orders.
        """

    def close(self) -> None:
        """Ends the workers, even busy ones."""


class InThisProcess:
    """Runs orders in this process, one after the other."""

    counts_cards = False

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        for key, order in orders.items():
            yield key, carry_out(order.text)

    def close(self) -> None:
        """See Engine."""


class LocalProcesses:
    """Runs orders in `workers` processes, which start with the first order."""

    counts_cards = False

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._alive: Connection | None = None

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        """See Engine.  The death of one worker ends the whole pool."""
        left, deaths = dict(orders), 0
        while left:
            try:
                for key, answer in self._attempt(left):
                    del left[key]
                    deaths = 0
                    yield key, answer
            except BrokenProcessPool:
                self.close()
                deaths += 1
                if deaths == ATTEMPTS:
                    raise EngineError(
                        f"{ATTEMPTS} times in a row a worker process died before any task was done: give it "
                        "more memory, lower engine.workers, or find the cause of its death."
                    ) from None

    def close(self) -> None:
        if self._alive is not None:
            self._alive.close()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._pool = self._alive = None

    def _attempt(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        pool = self._started()
        futures: dict[Future[str], str] = {
            pool.submit(carry_out, order.text): key for key, order in orders.items()
        }
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            watched, self._alive = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(self._workers, context, _prepare, (watched,))
        return self._pool


def _prepare(watched: Connection) -> None:
    """Ends the process together with its driver, and ignores Ctrl-C, which the driver handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()


def _end_with(watched: Connection) -> None:
    """Ends this process when the other end of the pipe closes."""
    with suppress(EOFError, OSError):
        watched.recv()
    os._exit(0)


ANSWERS_WITHIN = 10.0
"""Timeout, in seconds, of connecting to the head of a cluster."""

LEASE_MILLISECONDS = 10_000
"""How long the driver keeps a worker between tasks; another driver may wait this long, plus one task.

With Ray's default of 500, every longer task ends its worker's lease.  The next lease on a remote node then
waits for that node's resource report, one per 100 ms (src/ray/common/ray_config_def.h).
"""

IMPORT_FAILED = "failed to import on the worker"
"""Text of Ray's error, which has no class of its own, for a worker without a function's module."""


class RayCluster:
    """Runs orders on the cluster whose head is at `address`, "host:port"."""

    counts_cards = True

    def __init__(self, address: str) -> None:
        """Connects to the cluster.

        Raises EngineError if no cluster answers, MissingExtraError if Ray is not installed.
        """
        os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"})
        os.environ.setdefault("RAY_worker_lease_timeout_milliseconds", str(LEASE_MILLISECONDS))
        with needed_by("engine.kind = 'ray'"):
            import ray
        _require_answer(address)
        try:
            ray.init(address, log_to_driver=False, logging_level="error")
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise EngineError(
                f"the Ray cluster at {address} does not take this driver ({str(error).splitlines()[0]}): "
                "start Ray of the same version here too, with `ray start --address`."
            ) from None
        self._ray = ray

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        ray = self._ray
        self._require_room(orders)
        remote = ray.remote(carry_out)
        pending: dict[Any, str] = {}
        for key, order in orders.items():
            placed = remote.options(
                name=order.title, num_cpus=order.cpus, num_gpus=order.gpu, max_retries=ATTEMPTS
            )
            pending[placed.remote(order.text)] = key
        while pending:
            (done, *_), _ = ray.wait(list(pending), num_returns=1)
            try:
                answer: str = ray.get(done)
            except ray.exceptions.RayTaskError as error:
                if IMPORT_FAILED in str(error):
                    raise EngineError(
                        "a worker of the Ray cluster cannot import blockful_py.engine: install the same "
                        "version of blockful on every host."
                    ) from None
                raise error.as_instanceof_cause() from None
            except ray.exceptions.RayError as error:
                raise EngineError(
                    f"the Ray cluster did not carry out {orders[pending[done]].title!r} "
                    f"({type(error).__name__}: {str(error).splitlines()[0]}): see `ray status`, then run the "
                    "command again; finished tasks are not repeated."
                ) from None
            yield pending.pop(done), answer

    def close(self) -> None:
        self._ray.shutdown()

    def _require_room(self, orders: Mapping[str, Order]) -> None:
        """Checks that each order fits on a node, as Ray would wait for ever.  Raises EngineError."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        for order in orders.values():
            if not any(
                node.get("CPU", 0) >= order.cpus and node.get("GPU", 0) >= order.gpu for node in nodes
            ):
                gpu = " and a GPU" if order.gpu else ""
                raise EngineError(
                    f"no node of the Ray cluster has {order.cpus} CPUs{gpu} for {order.title!r}: add one "
                    "with `ray start --address`."
                )


def _require_answer(address: str) -> None:
    """Checks that the cluster accepts connections; Ray would retry for minutes.  Raises EngineError."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), ANSWERS_WITHIN).close()
    except (OSError, ValueError, OverflowError) as error:
        raise EngineError(
            f"no Ray cluster answers at engine.address = {address!r} ({error}): start its head with "
            "`ray start --head --port`, and give its host:port."
        ) from None


def engine_of(settings: EngineSettings) -> Engine:
    """The engine of these settings.

    Raises EngineError if the Ray cluster does not answer, MissingExtraError if Ray is not installed.
    """
    if settings.kind == "ray":
        return RayCluster(settings.address or "")
    if settings.kind == "processes":
        return LocalProcesses(settings.workers or os.cpu_count() or 1)
    return InThisProcess()
