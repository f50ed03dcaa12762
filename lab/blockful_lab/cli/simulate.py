# SPDX-License-Identifier: Apache-2.0
"""Simulates requests, committee and chains in virtual time (`blockful simulate`)."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blockful_py.cli.console import Output
from blockful_py.cli.options import AsJson, Quiet
from blockful_py.errors import SettingsError

if TYPE_CHECKING:
    from blockful_lab.simulation.summary import SimulationSummary


class ParadigmName(StrEnum):
    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class ConsensusName(StrEnum):
    PBFT = "pbft"
    QBFT = "qbft"
    POW = "pow"


class Machines(StrEnum):
    OWN = "own"
    ONE = "one"


def simulate(
    paradigm: Annotated[
        ParadigmName, typer.Option(help="One certificate for all waiting requests, or one per model.")
    ] = ParadigmName.PARALLEL,
    consensus: Annotated[
        ConsensusName, typer.Option(help="Consensus protocol of both chains.")
    ] = ConsensusName.PBFT,
    members: Annotated[int, typer.Option(help="Members of the committee, who also make the blocks.")] = 4,
    requests: Annotated[int, typer.Option(help="Number of requests.")] = 100,
    rate: Annotated[float, typer.Option(help="Requests per second (Poisson); 0: all at the start.")] = 0.0,
    depth: Annotated[int, typer.Option(help="Models per request: a start and a chain of heirs.")] = 1,
    references: Annotated[int, typer.Option(help="Models that an owner fetches before retraining.")] = 1,
    per_block: Annotated[int, typer.Option(help="Models of one live block that change together.")] = 1,
    network: Annotated[str, typer.Option(help="Measured network, such as resnet18-cifar100.")] = "cnn-digits",
    samples: Annotated[int, typer.Option(help="Samples that an owner trains on.")] = 500,
    epochs: Annotated[int, typer.Option(help="Epochs of retraining a model (sequential).")] = 10,
    start_epochs: Annotated[int, typer.Option(help="Epochs of unlearning a start (parallel).")] = 1,
    claim_samples: Annotated[int, typer.Option(help="Test samples that measure a model's claims.")] = 100,
    interval: Annotated[float, typer.Option(help="Seconds between blocks; 0: no delay.")] = 15.0,
    block_bytes: Annotated[int, typer.Option(help="Bytes of a block.")] = 1_000_000,
    block_gas: Annotated[int, typer.Option(help="Gas of a block.")] = 30_000_000,
    chunk: Annotated[int, typer.Option(help="Models per transaction, at most 128.")] = 100,
    confirmations: Annotated[int, typer.Option(help="Blocks that settle a mined block.")] = 12,
    latency: Annotated[str, typer.Option(help="Distribution of a message's seconds.")] = "lognormal:0.05,0.5",
    bandwidth: Annotated[str, typer.Option(help="Distribution of a member's Mbit/s.")] = "1000",
    power: Annotated[str, typer.Option(help="Distribution of a member's hash power.")] = "1",
    machines: Annotated[
        Machines, typer.Option(help="One machine per member, or one core for all.")
    ] = Machines.OWN,
    seed: Annotated[int, typer.Option(help="First seed.")] = 1,
    repeats: Annotated[int, typer.Option(help="Number of seeds.")] = 5,
    constants: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Constants in place of the package's.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Simulate requests to forget: throughput, latency, energy.

    Distributions are a number, uniform:low,high, exponential:mean, or lognormal:median,sigma.

    Example: blockful simulate --paradigm parallel --consensus qbft --members 100 --requests 1000 --depth 8
    """
    from blockful_lab.simulation.constants import Constants
    from blockful_lab.simulation.settings import SimulationSettings
    from blockful_lab.simulation.summary import simulate_seeds
    from blockful_lab.simulation.validation import MEASURED

    if repeats < 1 or seed < 0:
        raise SettingsError(f"--repeats is 1 or more and --seed 0 or more, not {repeats} and {seed}.")
    settings = SimulationSettings(
        paradigm=paradigm.value, consensus=consensus.value, members=members, requests=requests, rate=rate,
        depth=depth, references=references, per_block=per_block, network=network, samples=samples,
        epochs=epochs, start_epochs=start_epochs, claim_samples=claim_samples, interval=interval,
        block_bytes=block_bytes, block_gas=block_gas, chunk=chunk, confirmations=confirmations,
        latency=latency, bandwidth=bandwidth, power=power, machines=machines.value,
    )  # fmt: skip
    out = Output(as_json, quiet)
    with out.stage("simulate", settings.models * repeats) as advance:
        summary = simulate_seeds(settings, Constants.load(constants), range(seed, seed + repeats), advance)
    out.result({**summary.document(), "measured_errors": [asdict(each) for each in MEASURED]})
    for text in _lines(summary):
        out.say(text)


def _lines(summary: SimulationSummary) -> list[str]:
    figures, settings = summary.figures, summary.settings
    units = {"seconds": "s", "throughput": "requests/s", "stale blocks": ""}
    from blockful_lab.simulation.validation import MEASURED
    from blockful_py.crypto.roster import MAX_MEMBERS

    lines = [
        f"{settings.requests:,} requests, {settings.models:,} models, {settings.paradigm}, "
        f"{settings.consensus}, {settings.members:,} members"
    ]
    for name, figure in figures.items():
        unit = "J" if name.startswith("energy") else units.get(name, "s")
        lines.append(f"{name:28} {figure} {unit}".rstrip())
    if settings.members > MAX_MEMBERS:
        lines.append(f"The contracts allow at most {MAX_MEMBERS} members: more are simulated only.")
    return [
        *lines,
        *(f"measured error: {each}" for each in MEASURED),
        "Members on separate machines were not validated.",
    ]
