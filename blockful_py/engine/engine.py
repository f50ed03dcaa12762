# SPDX-License-Identifier: Apache-2.0
"""Engines, which have tasks carried out: in this process, in local processes, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from blockful_py.engine.worker import carry_out

ATTEMPTS = 5
"""Workers that a task may lose before its engine gives up."""


@dataclass(frozen=True, slots=True)
class Order:
    """A task as an engine takes it.

    Attributes:
        text: what the worker is told (`EngineTask.order`).
        title, cpus, gpu: those of the task.
    """

    text: str
    title: str
    cpus: int = 1
    gpu: float = 0.0


class Engine(Protocol):
    """Has orders carried out by `worker.carry_out`."""

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        """Yields the key of each order with its answer, in the order in which they come.

        A worker that dies costs what it was doing, which is done again.

        Raises EngineError where no worker can carry the orders out.
        """

    def close(self) -> None:
        """Ends the workers, whatever they do."""


class InThisProcess:
    """Carries orders out here, one after the other."""

    def answers(self, orders: Mapping[str, Order]) -> Iterator[tuple[str, str]]:
        """See Engine."""
        for key, order in orders.items():
            yield key, carry_out(order.text)

    def close(self) -> None:
        """See Engine."""
