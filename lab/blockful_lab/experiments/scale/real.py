# SPDX-License-Identifier: Apache-2.0
"""Real requests of the figures' kind on two devnets of this machine, each beside a simulation of the same.

A federation of chains of models, each model by a user of its own, is trained once and kept; each measurement
is a request of its own for the first model of some chains, and has a file, so that a rerun goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blockful_lab.energy.meter import EnergyMeter
from blockful_lab.experiments.scale.plan import PANELS, Mode
from blockful_lab.experiments.scale.points import ScalePoint, keep, kept
from blockful_lab.simulation.constants import Constants
from blockful_lab.simulation.outcome import simulate_once
from blockful_lab.simulation.settings import SimulationSettings
from blockful_lab.simulation.summary import Figure
from blockful_py.chain.settlement import ARCHIVE
from blockful_py.learning.data import UserData
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.unlearning import Unlearned
from blockful_py.pipeline.resume import jobs_of, take_up
from blockful_py.pipeline.run.progress import Progress, Silent
from blockful_py.settings import Settings

MEMBERS = 4
CLASSES = 10
SAMPLES = 5
"""Samples of a user, for training and for testing; claims are measured on all test samples."""
LABORATORY = "laboratory"


@dataclass(frozen=True, slots=True)
class ModelChains:
    """A federation: `count` chains of `depth` models."""

    count: int
    depth: int

    @property
    def models(self) -> int:
        return self.count * self.depth

    def name(self, chain: int, place: int) -> str:
        return f"r{chain * self.depth + place + 1}"

    def starts(self, requests: int, depth: int) -> list[str]:
        """One model of each of the first `requests` chains, from which `depth` models change."""
        return [self.name(chain, self.depth - depth) for chain in range(requests)]

    @property
    def graph(self) -> dict[str, tuple[str, ...]]:
        return {
            self.name(chain, place): (self.name(chain, place - 1),) if place else ()
            for chain in range(self.count)
            for place in range(self.depth)
        }

    def settings(self, devnet: str | None) -> Settings:
        federation = {
            "scenario": "scripted",
            "situation": "all_hold",
            "users": self.models,
            "graph": self.graph,
        }
        learning = {
            "dataset": "blockful_lab.experiments.scale.blobs:load_blobs",
            "data_limit": SAMPLES * max(CLASSES, self.models),
            "epochs": 1,
            "root_factor": 1,
        }
        return Settings.parse(
            {
                "federation": federation,
                "learning": learning,
                "unlearning": {
                    "starts": ("r1",),
                    "classes": (0,),
                    "parallel": "gradient_ascent",
                    "sequential": "retrain",
                },
                "committee": {"size": MEMBERS},
                "chain": {"packaging_interval": 0} | ({"devnet": devnet} if devnet else {}),
            }
        )


@dataclass(frozen=True, slots=True)
class RealRequest:
    """A measurement on the chains of a federation; `across` names the meaning of x."""

    chains: ModelChains
    mode: Mode
    across: str
    requests: int
    depth: int

    @property
    def x(self) -> int:
        return self.requests if self.across == "requests" else self.depth


@dataclass(frozen=True, slots=True)
class RealRun:
    """One measured request, for `requests` starts together.

    Attributes:
        seconds, stages: by the clock, from the new weights to the last transaction.
        processor, joules, sources: of the whole request, with the erasure and the chains' processes.
        counted, formula: operations, by name.
        load: 1-minute load average at the end.
        simulated, error: s of a simulation with these settings on one processor; as a share of `seconds`.
    """

    paradigm: Mode
    across: str
    requests: int
    depth: int
    models: int
    seconds: float
    stages: dict[str, float]
    processor: float
    joules: dict[str, float]
    sources: tuple[str, ...]
    gas: dict[str, int]
    counted: dict[str, int]
    formula: dict[str, int]
    load: float
    simulated: float
    error: float

    def points(self) -> tuple[ScalePoint, ScalePoint]:
        """Points for the drawing: real and simulated."""
        x = self.requests if self.across == "requests" else self.depth
        panels = PANELS[self.across, self.paradigm]
        return (
            ScalePoint(panels, LABORATORY, x, "real", *self._figures(self.seconds)),
            ScalePoint(panels, LABORATORY, x, "simulated laboratory", *self._figures(self.simulated)),
        )

    def _figures(self, seconds: float) -> tuple[Figure, Figure, Figure]:
        """Sequential requests end one after the other, parallel ones together."""
        count = self.requests
        latency = seconds if self.paradigm == "parallel" else seconds * (count + 1) / (2 * count)
        return Figure.of([count / seconds]), Figure.of([latency]), Figure.of([seconds / count])


def plan(requests: int, sequential: int, deep: int) -> tuple[RealRequest, ...]:
    """Plans `requests` parallel and `sequential` sequential ones of depth 2 at most, `deep` of depth 8."""
    modes: tuple[tuple[Mode, int], ...] = (("parallel", requests), ("sequential", sequential))
    wide, long = ModelChains(max(requests, sequential), 2), ModelChains(deep, 8)
    found = [
        RealRequest(wide, mode, "requests", count, 2)
        for mode, most in modes
        for count in sorted({max(1, most // part) for part in (8, 4, 2, 1)})
        if most
    ]
    found += [
        RealRequest(long, mode, "depth", deep, depth)
        for mode, _ in modes
        for depth in (1, 2, 4, 5, 6, 8)
        if deep
    ]
    return tuple(found)


def measure(
    wanted: tuple[RealRequest, ...],
    constants: Constants,
    folder: Path,
    devnet: str | None,
    progress: Progress | None = None,
) -> list[RealRun]:
    """Carries out the requests without a file.  `devnet`: as in the settings of a chain.

    Raises:
        RunError, FormatError: the folder cannot be written; a file in it is damaged.
        NodeError, ToolchainError, MissingExtraError: the chains cannot be started.
    """
    progress, found = progress or Silent(), []
    for chains in dict.fromkeys(each.chains for each in wanted):
        requests = [each for each in wanted if each.chains == chains]
        paths = {each: _path(folder, each) for each in requests}
        done = {each: kept(paths[each], asdict(each)) for each in requests}
        if missing := [each for each in requests if done[each] is None]:
            with _federation(chains, folder, devnet, progress) as federation:
                for request in missing:
                    result = _measured(federation, request, constants, progress)
                    keep(paths[request], asdict(request), result)
                    done[request] = result
        found += [_run(request, done[request] or {}, constants) for request in requests]
    return found


def _path(folder: Path, request: RealRequest) -> Path:
    name = f"{request.mode}-{request.requests}x{request.depth}.json"
    return folder / "real" / f"{request.chains.count}x{request.chains.depth}" / name


@contextmanager
def _federation(
    chains: ModelChains, folder: Path, devnet: str | None, progress: Progress
) -> Iterator[Federation]:
    """Opens or creates the federation, finishes interrupted jobs, and publishes missing models."""
    path = folder / "real" / f"{chains.count}x{chains.depth}" / "run"
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        Federation.open(path)
        if path.exists()
        else Federation.create(chains.settings(devnet), path) as federation
    ):
        take_up(federation, progress)
        federation.train(progress)
        yield federation


def _measured(
    federation: Federation, request: RealRequest, constants: Constants, progress: Progress
) -> dict[str, Any]:
    forget = class_to_forget(federation.setup.users, len(jobs_of(federation.run)))
    with EnergyMeter(constants.at("energy.core")) as meter:
        unlearned = federation.unlearn(
            request.chains.starts(request.requests, request.depth), (forget,), request.mode, progress=progress
        )
    taken = meter.consumption
    return {
        "stages": dict(unlearned.seconds),
        "processor": taken.processor,
        "joules": dict(taken.joules),
        "sources": list(taken.sources),
        "gas": _gas(unlearned),
        "counted": asdict(unlearned.counted),
        "formula": asdict(unlearned.formula),
        "load": os.getloadavg()[0],
    }


def class_to_forget(users: Iterable[UserData], before: int) -> int:
    """Picks another class after each job, among the classes that users hold: a few users may lack some."""
    held = sorted({label for user in users for label in user.train.classes()})
    return held[before % len(held)]


def _gas(unlearned: Unlearned) -> dict[str, int]:
    gas = {"live": 0, "archive": 0}
    for each in unlearned.executed:
        gas["archive" if each.chain == ARCHIVE else "live"] += each.receipt.gas_used
    return gas


def _run(request: RealRequest, found: dict[str, Any], constants: Constants) -> RealRun:
    seconds = sum(found["stages"].values())
    simulated = simulate_once(_twin(request, found["counted"]), constants, 1).seconds
    return RealRun(
        paradigm=request.mode,
        across=request.across,
        requests=request.requests,
        depth=request.depth,
        models=request.requests * request.depth,
        seconds=seconds,
        simulated=simulated,
        error=simulated / seconds - 1,
        **{**found, "sources": tuple(found["sources"])},
    )


def _twin(request: RealRequest, counted: dict[str, int]) -> SimulationSettings:
    """The same on one processor, with blocks at once."""
    per_block = max(1, min(128, round(counted["ch_transactions"] / counted["ch_blocks"])))
    return SimulationSettings(
        paradigm=request.mode,
        members=MEMBERS,
        requests=request.requests,
        depth=request.depth,
        per_block=per_block,
        network="cnn-blobs",
        samples=SAMPLES,
        epochs=1,
        claim_samples=SAMPLES * max(CLASSES, request.chains.models),
        interval=0.0,
        machines="one",
    )
