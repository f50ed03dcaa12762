# SPDX-License-Identifier: Apache-2.0
"""A parallel request over many models by passing, chains included, against retraining them.

    python -m benchmarks.against_retraining [--network alexnet] [--samples 3571] [--epochs 20] [--models 100]

The models are published untrained, on drawn images of 3 x 32 x 32 in 100 classes; four members and a node for
each chain share the machine.  The request retrains its start, for which its owner pays, and passes the change
to the others.  Retraining is the sequential method's training of `--timed` models, times the models of the
request.  Seconds of the processors, including the nodes', and by the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from benchmarks.growth import drawn, processors, publish
from benchmarks.stored import keep
from blockful_py.chain.devnet import NodeOptions, start_together
from blockful_py.forget import Forget
from blockful_py.learning.data import Dataset, Samples
from blockful_py.learning.streams import generator
from blockful_py.pipeline.federation import Federation
from blockful_py.settings import DataOptions, Settings
from blockful_py.unlearning.retraining import retrain_model
from blockful_py.unlearning.task import UnlearningTask

CLASSES, USERS = 100, 14


def load_images(seed: int, options: DataOptions) -> Dataset:
    """Noise, float32 (n, 3, 32, 32): `data_limit` training samples, and ten for testing a user."""
    stream = generator(seed, "against retraining")

    def part(count: int) -> Samples:
        return Samples(torch.randn(count, 3, 32, 32, generator=stream), torch.arange(count) % CLASSES)

    assert options.data_limit is not None
    return Dataset("noise", CLASSES, part(options.data_limit), part(10 * USERS), part(CLASSES))


def settings(network: str, samples: int, epochs: int, live: str, archive: str) -> Settings:
    return Settings.parse(
        {
            "federation": {"situation": "all_hold"},
            "learning": {
                "dataset": "benchmarks.against_retraining:load_images",
                "data_limit": USERS * samples,
                "model": network,
                "epochs": epochs,
                "root_factor": 1,
            },
            "committee": {"size": 4},
            "chain": {"packaging_interval": 0, "live_url": live, "archive_url": archive},
        }
    )


def retraining(federation: Federation, timed: int) -> tuple[float, float]:
    """Seconds of the processor and by the clock that retraining a model takes, mean of `timed` models."""
    setup = federation.setup
    names = [f"m{number}" for number in range(1 + timed)]
    models = [drawn(federation, name) for name in names]
    task = UnlearningTask.of(setup.federation, models, setup.users, ["m0"], Forget.of_classes([0]))
    began, spent = perf_counter(), process_time()
    for name in names[1:]:
        retrain_model(task, name, {})
    return (process_time() - spent) / timed, (perf_counter() - began) / timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--network", default="alexnet", help="alexnet, mobilenet_v2 or resnet18")
    parser.add_argument("--samples", type=int, default=3571, help="of a user (default: CIFAR-100 among 14)")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--timed", type=int, default=1, help="models that are retrained (default 1)")
    parser.add_argument("--devnet", choices=("anvil", "ganache"), default="anvil")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    live, archive = start_together(
        NodeOptions(1337, kind=options.devnet), NodeOptions(1338, kind=options.devnet)
    )
    with live, archive, tempfile.TemporaryDirectory() as folder:
        chosen = settings(options.network, options.samples, options.epochs, live.url, archive.url)
        with Federation.create(chosen, Path(folder) / "run") as federation:
            publish(federation, options.models)
            one = retraining(federation, options.timed)
            began, spent = perf_counter(), process_time() + processors(live, archive)
            done = federation.unlearn(["m0"], [0], "parallel", "gradient_ascent")
            request = process_time() + processors(live, archive) - spent, perf_counter() - began
            assert len(done.nodes) == options.models
    start = one[0]
    figures = {
        "retraining": [each * options.models for each in one],
        "request": list(request),
        "request without its start": [request[0] - start, request[1] - one[1]],
        "stages": dict(done.seconds),
        "ratio": one[0] * options.models / request[0],
        "ratio without its start": one[0] * options.models / (request[0] - start),
    }
    print(json.dumps(figures, indent=1))
    if options.output:
        machine = {"python": platform.python_version(), "cpus": os.cpu_count(), "load": os.getloadavg()}
        given = {key: value for key, value in vars(options).items() if key != "output"}
        report = {"machine": machine, **given, **figures}
        keep(options.output, "against_retraining", report)


if __name__ == "__main__":
    main()
