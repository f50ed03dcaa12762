# SPDX-License-Identifier: Apache-2.0
"""A simulated chain: transactions wait in order, blocks fill up to their bytes and gas, members agree."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import simpy

from blockful_lab.simulation.consensus.mining import Mining
from blockful_py.errors import SettingsError

Steps = Generator[Any, Any, None]


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """Limits of a block: `interval` s between two blocks, bytes, and gas."""

    interval: float
    size: float
    gas: float

    def check(self, transaction: SimulatedTransaction) -> None:
        """Checks a transaction.  Raises SettingsError if it fits into no block."""
        if transaction.size > self.size or transaction.gas > self.gas:
            raise SettingsError(
                f"a transaction of {transaction.size:,.0f} bytes and {transaction.gas:,.0f} gas fits no "
                f"block of {self.size:,.0f} bytes and {self.gas:,.0f} gas: "
                "put fewer models into one (--chunk)."
            )


@dataclass(frozen=True, slots=True)
class SimulatedTransaction:
    """A transaction: `size` in bytes; `settled` happens once it is final."""

    size: float
    gas: float
    settled: simpy.Event


class Agreement(Protocol):
    """Members who vote on blocks."""

    def decide(self, block: int, size: float, gas: float) -> float:
        """Seconds from the proposal of the block with this number to its finality."""
        ...


class Ledger(Protocol):
    """Where transactions are sent.

    Attributes:
        blocks, transactions, bytes, gas: on the chain.
        peak: most transactions that waited at once.
    """

    blocks: int
    transactions: int
    bytes: float
    gas: float
    peak: int

    def submit(self, size: float, gas: float) -> simpy.Event:
        """An event that happens when the transaction is final."""
        ...


class VotedChain:
    """Makes blocks at the interval, or later if the last one is not final; none without transactions."""

    def __init__(self, env: simpy.Environment, limits: BlockLimits, agreement: Agreement) -> None:
        self._env, self._limits, self._agreement = env, limits, agreement
        self._waiting: deque[SimulatedTransaction] = deque()
        self._arrived = env.event()
        self.blocks = self.transactions = self.peak = 0
        self.bytes = self.gas = 0.0
        env.process(self._run())

    def submit(self, size: float, gas: float) -> simpy.Event:
        transaction = SimulatedTransaction(size, gas, self._env.event())
        self._limits.check(transaction)
        self._waiting.append(transaction)
        self.peak = max(self.peak, len(self._waiting))
        if not self._arrived.triggered:
            self._arrived.succeed()
        return transaction.settled

    def _run(self) -> Steps:
        last = -self._limits.interval
        while True:
            periods = 1
            if not self._waiting:
                self._arrived = self._env.event()
                yield self._arrived
                periods = self._periods(self._env.now - last)
            due = last + periods * self._limits.interval
            yield self._env.timeout(max(0.0, due - self._env.now))
            last = self._env.now
            packed = self._fill()
            size, gas = sum(each.size for each in packed), sum(each.gas for each in packed)
            yield self._env.timeout(self._agreement.decide(self.blocks, size, gas))
            self.blocks += 1
            self.transactions += len(packed)
            self.bytes += size
            self.gas += gas
            for each in packed:
                each.settled.succeed()

    def _periods(self, idle: float) -> int:
        """Blocks without transactions keep the rhythm, and are not simulated."""
        return max(1, math.ceil(idle / self._limits.interval)) if self._limits.interval else 1

    def _fill(self) -> list[SimulatedTransaction]:
        packed: list[SimulatedTransaction] = []
        size = gas = 0.0
        while self._waiting:
            first = self._waiting[0]
            size, gas = size + first.size, gas + first.gas
            if size > self._limits.size or gas > self._limits.gas:
                break
            packed.append(self._waiting.popleft())
        return packed


class MinedChain:
    """A chain by proof of work; its blocks count only as far as they settled transactions."""

    def __init__(self, env: simpy.Environment, limits: BlockLimits, execution: float) -> None:
        """Seconds of `execution` are for a unit of gas.  `mine` completes the chain."""
        self._env, self._limits, self._execution = env, limits, execution
        self._sent: deque[SimulatedTransaction] = deque()
        self._dropped = 0
        self._arrived = env.event()
        self.mining: Mining
        self.blocks = self.transactions = self.peak = 0
        self.bytes = self.gas = 0.0

    def mine(self, mining: Mining) -> None:
        self.mining = mining
        self._env.process(self._run())

    def submit(self, size: float, gas: float) -> simpy.Event:
        transaction = SimulatedTransaction(size, gas, self._env.event())
        self._limits.check(transaction)
        self._sent.append(transaction)
        self.peak = max(self.peak, len(self._sent))
        if not self._arrived.triggered:
            self._arrived.succeed()
        return transaction.settled

    def pack(self, held: int) -> tuple[int, float, float]:
        """Transactions of a branch of `held` ones after one more block; the block's bytes and seconds."""
        size = gas = 0.0
        held = max(held, self._dropped)
        for transaction in islice(self._sent, held - self._dropped, None):
            if size + transaction.size > self._limits.size or gas + transaction.gas > self._limits.gas:
                break
            size, gas, held = size + transaction.size, gas + transaction.gas, held + 1
        return held, size, gas * self._execution

    def _run(self) -> Steps:
        while True:
            if not self._sent:
                self._arrived = self._env.event()
                yield self._arrived
            yield self._env.timeout(self.mining.wait())
            settled = self.mining.find(self._env.now)
            self.blocks = self.mining.found - self.mining.stale
            while self._dropped < settled:
                transaction = self._sent.popleft()
                self._dropped += 1
                self.transactions += 1
                self.bytes += transaction.size
                self.gas += transaction.gas
                transaction.settled.succeed()
