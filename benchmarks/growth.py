# SPDX-License-Identifier: Apache-2.0
"""Publication, one parallel request over all models, and a check of the record, against the number of models.

    python -m benchmarks.growth [--models 100 --models 1000 ...] [--width 3400] [--devnet ganache]
    python -m benchmarks.growth --models 3 --width 2500 --depth 4     # 100 MB a model; 4000 and 16: 1 GB

All models inherit from one, in waves of WAVE whose models have two references each in the wave before.  They
are published untrained; the request passes the start's change to all of them.  Publication, request and check
are processes of their own, with four members and a node for each chain, and so is `alone`, the check without
other processes ahead of it; peaks of memory leave out nodes and processes ahead.  With a width of 3400 a
model has 1 MB.  The exponents are least-squares fits of log(figure) over log(models).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from torch import Tensor, nn

from benchmarks.stored import keep
from blockful_py.chain.devnet import Devnet, NodeOptions, start_together
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.federation import TrainedModel, initial_weights
from blockful_py.on_demand import OnDemand
from blockful_py.pipeline.federation import Federation
from blockful_py.record import ahead
from blockful_py.settings import Settings

WAVE = 400
STEPS = ("publish", "request", "verify", "alone")


class Layers(nn.Module):
    """A network of `width` hidden units, 75 numbers each for the digits, and of `depth` more such layers."""

    def __init__(
        self, input_shape: tuple[int, ...], class_count: int, device: torch.device, width: int, depth: int
    ) -> None:
        super().__init__()
        self.dense = nn.Linear(math.prod(input_shape), width, device=device)
        self.more = nn.ModuleList(nn.Linear(width, width, device=device) for _ in range(depth))
        self.head = nn.Linear(width, class_count, device=device)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(self.dense(x.flatten(1)))
        for layer in self.more:
            hidden = torch.relu(layer(hidden))
        out: Tensor = self.head(hidden)
        return out


@dataclass(frozen=True, slots=True)
class Taken:
    """The cost of a step.

    Attributes:
        seconds: by the clock.
        own, nodes: of the processors, by the process and its children, and by both nodes.
        before_mb, peak_mb: memory of the process, when the step began and at most.
        disk_mb: the run's folder afterwards.
    """

    step: str
    models: int
    seconds: float
    own: float
    nodes: float
    before_mb: float
    peak_mb: float
    disk_mb: float


def settings(urls: Sequence[str], size: Mapping[str, int]) -> Settings:
    live, archive = urls
    return Settings.parse(
        {
            "learning": {"model": "benchmarks.growth:Layers", "options": dict(size), "epochs": 1},
            "committee": {"size": 4},
            "chain": {"packaging_interval": 0, "live_url": live, "archive_url": archive},
        }
    )


def drawn(federation: Federation, name: str) -> TrainedModel:
    """Model `m<i>`, untrained, which differs from the shared initialisation by one number."""
    setup, number = federation.setup, int(name[1:])
    begin = 1 + (number - 1) // WAVE * WAVE
    before = range(max(0, begin - WAVE), begin) if number else range(0)
    references = {before[(number + each) % len(before)] for each in (0, 1)} if number else set()
    first = initial_weights(setup.federation)
    layer = next(iter(first))
    weights = {**first, layer: first[layer].clone()}
    weights[layer].view(-1)[0] += number / 1_000
    return TrainedModel(
        name,
        1 + number % setup.federation.scenario.users,
        1,
        tuple(ScoredModel(f"m{each}", 0.1) for each in sorted(references)),
        weights,
        0.1,
        setup.federation.training,
    )


def publish(federation: Federation, models: int) -> None:
    names = [f"m{number}" for number in range(models)]
    federation.adopt(OnDemand(names, lambda name: drawn(federation, name)))


def carry_out(step: str, folder: Path, models: int, urls: Sequence[str], size: Mapping[str, int]) -> Taken:
    """A step in this process."""
    opened = Federation.create(settings(urls, size), folder) if step == "publish" else Federation.open(folder)
    with opened as federation:
        before, began, spent = resident("VmRSS"), perf_counter(), spent_so_far()
        if step == "publish":
            publish(federation, models)
        elif step == "request":
            assert len(federation.unlearn(["m0"], [0], "parallel", "gradient_ascent").nodes) == models
        else:
            ahead.MOST = 0 if step == "alone" else ahead.MOST
            assert federation.verify().passed
        seconds, own = perf_counter() - began, spent_so_far() - spent
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    return Taken(step, models, seconds, own, 0.0, before, resident("VmHWM"), disk)


def spent_so_far() -> float:
    """Processor seconds of this process and its ended children."""
    return sum(os.times()[:4])


def resident(field: str) -> float:
    """MB of this process, now (VmRSS) or at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024 / 1e6


def processors(*nodes: Devnet) -> float:
    """Seconds of the processor that nodes have taken."""
    stats = (Path(f"/proc/{node.pid}/stat").read_text(encoding="utf-8") for node in nodes)
    fields = [stat.rpartition(")")[2].split() for stat in stats]
    return sum(int(each[11]) + int(each[12]) for each in fields) / int(os.sysconf("SC_CLK_TCK"))


def measure(
    models: int, devnet: str, size: Mapping[str, int], report: Callable[[Taken], None]
) -> list[Taken]:
    """The steps one after the other, each in a process of its own, on the same two nodes."""
    taken = []
    folder = Path(tempfile.mkdtemp())
    live, archive = start_together(NodeOptions(1337, kind=devnet), NodeOptions(1338, kind=devnet))
    with live, archive:
        try:
            for step in STEPS:
                spent = processors(live, archive)
                arguments = ["--step", step, "--folder", f"{folder}/run", "--models", str(models)]
                arguments += ["--urls", f"{live.url},{archive.url}"]
                arguments += [part for name, each in size.items() for part in (f"--{name}", str(each))]
                command = [sys.executable, "-m", "benchmarks.growth", *arguments]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                found = json.loads(done.stdout.splitlines()[-1])
                found["nodes"] = processors(live, archive) - spent
                taken.append(Taken(**found))
                report(taken[-1])
        finally:
            shutil.rmtree(folder)
    return taken


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """b of y = a x^b, fitted to the logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x, mean_y = (sum(axis) / len(logs) for axis in zip(*logs, strict=True))
    spread = math.fsum((x - mean_x) ** 2 for x, _ in logs)
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in logs) / spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, action="append", help="give it once for each size")
    parser.add_argument("--width", type=int, default=180, help="hidden units (default 180: 54 kB)")
    parser.add_argument("--depth", type=int, default=0, help="more layers of as many units")
    parser.add_argument("--devnet", choices=("anvil", "ganache"), default="anvil")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--urls", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = options.models or [100, 300, 1_000, 3_000, 10_000]
    size = {"width": options.width, "depth": options.depth}
    if options.step:
        urls = options.urls.split(",")
        print(json.dumps(asdict(carry_out(options.step, options.folder, sizes[0], urls, size))))
        return
    print(f"{'step':9}{'models':>8}{'s':>9}{'own':>9}{'nodes':>9}{'MB before':>11}{'most':>8}{'disk':>9}")

    def report(row: Taken) -> None:
        print(
            f"{row.step:9}{row.models:>8}{row.seconds:>9.1f}{row.own:>9.1f}{row.nodes:>9.1f}"
            f"{row.before_mb:>11.0f}{row.peak_mb:>8.0f}{row.disk_mb:>9.0f}",
            flush=True,
        )

    rows = [row for models in sizes for row in measure(models, options.devnet, size, report)]
    for step in STEPS:
        of_step = [row for row in rows if row.step == step]
        fits = {
            "processors": [(row.models, row.own + row.nodes) for row in of_step],
            "clock": [(row.models, row.seconds) for row in of_step],
            "memory": [(row.models, row.peak_mb) for row in of_step],
        }
        if len(of_step) > 1:
            print(step, ", ".join(f"{name} {exponent(points):.2f}" for name, points in fits.items()))
    if options.output:
        machine = {"python": platform.python_version(), "cpus": os.cpu_count(), "load": os.getloadavg()}
        given = {"devnet": options.devnet, **size}
        report_of_all = {"machine": machine, **given, "rows": [asdict(row) for row in rows]}
        keep(options.output, "growth", report_of_all)


if __name__ == "__main__":
    main()
