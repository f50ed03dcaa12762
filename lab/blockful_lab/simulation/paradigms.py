# SPDX-License-Identifier: Apache-2.0
"""The parallel and the sequential paradigm as SimPy processes.

Parallel (Algorithm 1): the requests that wait are merged, and all their models change under one certificate.
Sequential (Algorithm 2): one request after the other, a certificate for each of its models in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import simpy

from blockful_lab.simulation.chain import Ledger
from blockful_lab.simulation.world import World
from blockful_py.costs import Operations, expected_parallel, expected_sequential

Steps = Generator[Any, Any, None]
Advance = Callable[[int], None]


@dataclass(slots=True)
class SimulatedRequest:
    """Simulated seconds at which a request came and was done."""

    arrived: float
    done: float = float("nan")


class SimulatedExecution:
    """Serves the requests that wait in `waiting`; `served` happens after the last."""

    def __init__(self, world: World, advance: Advance) -> None:
        self._world, self._advance = world, advance
        self.waiting: simpy.Store = simpy.Store(world.env)
        self.served = world.env.event()
        self._left = world.settings.requests

    def parallel(self) -> Steps:
        world, settings, work = self._world, self._world.settings, self._world.work
        while True:
            merged = [(yield self.waiting.get())]
            while self.waiting.items:
                merged.append((yield self.waiting.get()))
            models = len(merged) * settings.depth
            passed = models - len(merged)
            starts = work.unlearn * (len(merged) if world.alone else 1)
            yield from self._learn(
                starts + passed * work.passing, len(merged) * work.unlearn + passed * work.passing
            )
            world.tally.operations += Operations(downloads=models)
            yield from self._redact(models, -(-models // settings.per_block))
            world.tally.formula += expected_parallel(models, -(-models // settings.per_block))
            self._finish(merged)

    def sequential(self) -> Steps:
        world, settings, work = self._world, self._world.settings, self._world.work
        while True:
            request = yield self.waiting.get()
            for number in range(settings.depth):
                if number:
                    yield from self._fetch(settings.references)
                yield from self._learn(work.retrain, work.retrain)
                world.tally.operations += Operations(downloads=1)
                yield from self._redact(1, 1)
                self._advance(1)
            world.tally.formula += expected_sequential(settings.depth, settings.references)
            self._finish([request])

    def _finish(self, requests: list[SimulatedRequest]) -> None:
        for request in requests:
            request.done = self._world.env.now
        self._left -= len(requests)
        if not self._left:
            self.served.succeed()
        if self._world.settings.paradigm == "parallel":
            self._advance(len(requests) * self._world.settings.depth)

    def _learn(self, seconds: float, processor: float) -> Steps:
        self._world.tally.worked("learning", processor)
        yield from self._stage("unlearn", seconds)

    def _fetch(self, models: int) -> Steps:
        """An owner fetches the references of its model."""
        world = self._world
        world.tally.operations += Operations(downloads=models)
        world.tally.model_bytes += models * world.work.bytes
        yield from self._stage("fetch", self._moved(models))

    def _moved(self, models: int) -> float:
        """Seconds to move models between an owner, or the leader, and storage, one after the other."""
        at, size = self._world.constants.at, models * self._world.work.bytes
        storing = size / at("store.rate")
        if self._world.alone:
            return storing
        latency = float(self._world.network.latency.draw(self._world.rng, 1)[0])
        return storing + latency + size / float(self._world.network.upload[0])

    def _redact(self, models: int, headers: int) -> Steps:
        """Takes new versions to storage, certificate, archive, release and live chain."""
        world, tally, work = self._world, self._world.tally, self._world.work
        at = world.constants.at
        claims = at("claims", models) + models * work.measuring
        tally.worked("consensus", claims)
        yield from self._stage("claims", claims)
        yield from self._stage("store", at("store", models) + self._moved(models))
        tally.operations += Operations(uploads=models)
        certificate = world.committee.certify(models, headers, work.bytes, work.measuring)
        for name, seconds in certificate.seconds.items():
            yield from self._stage(name, seconds)
        tally.operations += Operations(ch_transactions=models, ch_blocks=headers, consensus=1)
        tally.worked("collisions", certificate.collisions)
        tally.worked("consensus", certificate.consensus)
        # Like the paper, counts one upload and one download a model, for any number of members.
        tally.model_bytes += 2 * models * work.bytes
        tally.message_bytes += certificate.bytes - models * work.bytes
        yield from self._settle("archive", world.archive, models, 0)
        release = world.committee.release(models)
        tally.worked("consensus", release.consensus)
        tally.message_bytes += release.bytes
        yield from self._stage("release", release.seconds["release"])
        yield from self._settle("live", world.live, models, headers)

    def _settle(self, name: str, chain: Ledger, models: int, headers: int) -> Steps:
        """Sends transactions of at most `chunk` models each, and waits until all of them are final."""
        world = self._world
        at, begun = world.constants.at, world.env.now
        absent = at("gas.absent") * (world.committee.members - world.committee.quorum)
        sent = []
        for first in range(0, models, world.settings.chunk):
            part = min(world.settings.chunk, models - first)
            heads = -(-part * headers // models)
            gas = at(f"gas.{name}") + absent + part * at(f"gas.{name}.model")
            gas += heads * at("gas.live.header") if headers else 0
            size = at(f"bytes.{name}") + part * at(f"bytes.{name}.model") + heads * at("bytes.live.header")
            yield world.env.timeout(at(f"send.{name}", part))
            sent.append(chain.submit(size, gas))
        yield world.env.all_of(sent)
        world.tally.spent(name, world.env.now - begun)

    def _stage(self, name: str, seconds: float) -> Steps:
        self._world.tally.spent(name, seconds)
        yield self._world.env.timeout(seconds)
