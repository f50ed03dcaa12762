# SPDX-License-Identifier: Apache-2.0
"""Rounds of federated averaging in Flower's simulation and in stacks of this package, side by side.

    python -m benchmarks.flower_simulation [--repeats 3] [--output FILE]

Both train the small network on the digits of 14 users with the same batches a step, epochs and rates, and
take the mean of the users' weights after each round.  Each run is a process of its own; both sides run in
turn.  Processor time includes the run's children and compares on a busy machine too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.stored import keep

USERS = 14
ROUNDS = 6
EPOCHS = 4
SIDES = ("flower", "stacks")


def users_data() -> Any:
    """The architecture, and the training samples of each user."""
    import torch

    from blockful_py.learning.datasets import load_dataset
    from blockful_py.learning.models import Architecture
    from blockful_py.learning.partitions import Division, partition
    from blockful_py.settings import FederationSettings

    data = load_dataset("digits", 0, torch.device("cpu"))
    settings = FederationSettings(users=USERS, situation="all_hold")
    users = partition(data, Division(settings, (5, 7), (3,)), 0)
    return Architecture.of("cnn", data), [user.train for user in users]


def run_stacks() -> list[float]:
    """Seconds of each round."""
    from blockful_py.learning.streams import generator
    from blockful_py.learning.together import TrainingJob, train_together
    from blockful_py.learning.weights import aggregate

    architecture, parts = users_data()
    settings = phi()
    weights = architecture.initial(generator(0, "initial"))
    seconds = []
    for number in range(ROUNDS):
        begun = perf_counter()
        jobs = [
            TrainingJob(weights, part, settings, generator(0, user, number))
            for user, part in enumerate(parts)
        ]
        weights = aggregate(train_together(architecture, jobs))
        seconds.append(perf_counter() - begun)
    return seconds


def phi() -> Any:
    from blockful_py.settings import TrainingSettings

    return TrainingSettings(epochs=EPOCHS, learning_rate=0.05, final_rate_share=1.0)


def run_flower() -> list[float]:
    """Seconds of each round, a plain PyTorch loop in each client."""
    import torch
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    client, server = ClientApp(), ServerApp()

    @client.train()
    def train(message: Message, context: Context) -> Message:
        from torch import nn

        torch.set_num_threads(1)
        architecture, parts = users_data()
        part = parts[int(context.node_config["partition-id"])]
        weights = message.content.array_records["arrays"].to_torch_state_dict()
        model = architecture.module(weights, torch.device("cpu")).train()
        settings = phi()
        optimiser = torch.optim.SGD(
            model.parameters(),
            settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
        )
        loss = nn.CrossEntropyLoss()
        for _ in range(settings.epochs):
            for rows in torch.split(torch.randperm(len(part)), settings.batch_size):
                optimiser.zero_grad()
                loss(model(part.x[rows]), part.y[rows]).backward()
                optimiser.step()
        content = RecordDict(
            {
                "arrays": ArrayRecord(model.state_dict()),
                "metrics": MetricRecord({"num-examples": 1}),
            }
        )
        return Message(content=content, reply_to=message)

    times: list[float] = []

    class Timed(FedAvg):
        def configure_train(self, *given: Any, **named: Any) -> Any:
            times.append(perf_counter())
            return super().configure_train(*given, **named)

        def aggregate_train(self, *given: Any, **named: Any) -> Any:
            found = super().aggregate_train(*given, **named)
            times[-1] = perf_counter() - times[-1]
            return found

    @server.main()
    def main(grid: Grid, context: Context) -> None:
        from blockful_py.learning.streams import generator

        architecture, _ = users_data()
        strategy = Timed(fraction_evaluate=0.0, min_available_nodes=USERS)
        initial = ArrayRecord(architecture.initial(generator(0, "initial")))
        strategy.start(grid=grid, initial_arrays=initial, num_rounds=ROUNDS)

    backend: Any = {
        "init_args": {"address": "local", "num_cpus": os.cpu_count()},
        "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
    }
    run_simulation(server, client, USERS, backend_config=backend)
    return times


def measured(side: str) -> dict[str, Any]:
    """One run in a process of its own: wall clock of all, processor time, seconds of each round."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.flower_simulation", "--side", side],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        text=True,
        env=os.environ | {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"},
    )
    seconds = perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rounds = json.loads(done.stdout.splitlines()[-1])
    assert len(rounds) == ROUNDS
    processor = after.ru_utime + after.ru_stime - spent.ru_utime - spent.ru_stime
    return {"seconds": seconds, "processor": processor, "rounds": rounds, "warm": median(rounds[1:])}


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side (default 3)")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args(None if arguments is None else list(arguments))
    if options.side:
        print(json.dumps(run_flower() if options.side == "flower" else run_stacks()))
        return
    runs: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    for turn in range(options.repeats):
        for side in SIDES if turn % 2 else reversed(SIDES):
            runs[side].append(measured(side))
    for side, listed in runs.items():
        for what in ("seconds", "processor", "warm"):
            found = sorted(each[what] for each in listed)
            print(f"{side:8}{what:10}{median(found):8.2f} ({found[0]:.2f} to {found[-1]:.2f})")
    pairs = list(zip(runs["flower"], runs["stacks"], strict=True))
    for what in ("seconds", "processor", "warm"):
        ratios = sorted(flower[what] / stacks[what] for flower, stacks in pairs)
        print(f"flower over stacks, {what}: {median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})")
    if options.output:
        machine = {"python": platform.python_version(), "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
        keep(options.output, "flower_simulation", {"machine": machine, "runs": runs})


if __name__ == "__main__":
    main()
