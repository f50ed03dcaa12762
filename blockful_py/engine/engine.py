# SPDX-License-Identifier: Apache-2.0
"""Engines that run tasks: in this process, in local processes, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from blockful_py.engine.worker import carry_out

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
    """Runs orders by `worker.carry_out`."""

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        """Yields each order's key with its answer, as answers arrive.

        If a worker dies, its current order is run again.
        Raises EngineError if no worker can run the orders.
        """

    def close(self) -> None:
        """Ends the workers, even busy ones."""


class InThisProcess:
    """Runs orders in this process, one after the other."""

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        for key, order in orders.items():
            yield key, carry_out(order.text)

    def close(self) -> None:
        """See Engine."""
