# SPDX-License-Identifier: Apache-2.0
"""Requests to the chains' nodes of 10 to 1,000 parties of one machine, which wait and read.

    python -m benchmarks.stand_ins [--parties 10 --parties 100 ...] [--rounds 3]

A stand-in asks a waiting participant's questions once a second, and reads the models of each round; it does
not train.  All ask one follower, a process, which asks the nodes.  The models are `benchmarks.growth`'s.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.growth import drawn, exponent, resident, settings
from benchmarks.processes import usage
from benchmarks.relays import HOST, Relay, Relays
from benchmarks.stored import FIGURES, keep
from blockful_py.chain.devnet import NodeOptions, start_together
from blockful_py.chain.processes import take_port
from blockful_py.on_demand import OnDemand
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.opened import OpenedRun

MODELS = 10
"""Models that a round brings."""
LOOK = "eth_getBlockByNumber"
STEPS = 10
"""Looks of each party while nothing happens."""


@contextmanager
def following(ports: Sequence[int]) -> Iterator[tuple[int, tuple[str, str]]]:
    """The process of a follower of the nodes at these ports, and its URLs."""
    live, archive = (f"http://{HOST}:{port}" for port in ports)
    command = (sys.executable, "-m", "blockful_py.cli.main", "follower", "--json")
    place = ("--live-url", live, "--archive-url", archive)
    with subprocess.Popen((*command, *place), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            yield process.pid, (said["live"], said["archive"])
        finally:
            process.terminate()


def look(party: OpenedRun) -> None:
    """A participant's question of each second (`participant.serving`)."""
    with party.nodes.one_look():
        party.contracts.live.newest_block()


def read(party: OpenedRun) -> None:
    with party.nodes.one_look():
        party.contracts.live.newest_block()
        catalogue = party.catalogue()
        assert len(catalogue.models) % MODELS == 0
        assert not list(party.docket.admitted())


def measure(parties: int, rounds: int) -> dict[str, float]:
    nodes = start_together(NodeOptions(1337, kind="anvil"), NodeOptions(1338, kind="anvil"))
    with ExitStack() as stack:
        for node in nodes:
            stack.enter_context(node)
        ports = [stack.enter_context(take_port()).number for _ in nodes]
        between = zip(ports, nodes, strict=True)
        relays = stack.enter_context(Relays([Relay("nodes", port, node.port) for port, node in between]))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        size = {"width": 1, "depth": 0}
        made = Federation.create(settings([node.url for node in nodes], size), folder / "run")
        federation = stack.enter_context(made)
        follower, (live, archive) = stack.enter_context(following(ports))
        place = replace(federation.run.place, live_url=live, archive_url=archive)
        add(federation, 0)
        before = resident("VmRSS")
        standing = [
            stack.enter_context(
                OpenedRun.attach(federation.run.path, place=place, kept=folder / "kept" / str(number))
            )
            for number in range(parties)
        ]

        def counted(work: Callable[[], object]) -> tuple[int, int, float, float]:
            """Looks at both nodes and other calls, processor seconds of the parties and of the follower."""
            looks, calls = counts(relays)
            own, spent = time.process_time(), cpu(follower)
            work()
            later = counts(relays)
            return later[0] - looks, later[1] - calls, time.process_time() - own, cpu(follower) - spent

        def all_read() -> None:
            for party in standing:
                read(party)

        def looked() -> None:
            for _ in range(STEPS):
                until = time.monotonic() + 1
                for party in standing:
                    look(party)
                time.sleep(max(0.0, until - time.monotonic()))

        all_read()
        each = []
        for number in range(1, rounds + 1):
            add(federation, number)
            each.append(counted(all_read))
        idle = counted(looked)
        _, asked, spent, served = (sum(column) / rounds for column in zip(*each, strict=True))
        return {
            "parties": parties,
            "calls": asked,
            "round_cpu": spent / parties,
            "round_follower": served / parties,
            "looks": idle[0] / STEPS,
            "idle_calls": idle[1],
            "idle_cpu": idle[2] / STEPS / parties,
            "idle_follower": idle[3] / STEPS / parties,
            "memory": (resident("VmRSS") - before) / parties,
        }


def add(federation: Federation, number: int) -> None:
    """Publishes a round's models."""
    names = [f"m{index}" for index in range(number * MODELS, (number + 1) * MODELS)]
    federation.adopt(OnDemand(names, lambda name: drawn(federation, name)))


def counts(relays: Relays) -> tuple[int, int]:
    """Looks at the newest block, and other calls, that have reached the nodes."""
    calls = [call for each in relays.counts().values() for call in each.items() if call[0].startswith("eth_")]
    looks = sum(count for name, count in calls if name == LOOK)
    return looks, sum(count for _, count in calls) - looks


def cpu(pid: int) -> float:
    found = usage(pid)
    assert found is not None
    return found.cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parties", type=int, action="append", help="give it once for each number")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=FIGURES)
    given = parser.parse_args()
    rows = [measure(parties, given.rounds) for parties in given.parties or (10, 100, 1_000)]
    heads = ("calls a round", "looks a second", "a read, ms", "a look, ms", "MB")
    print(f"{'parties':>8}" + "".join(f"{head:>15}" for head in heads))
    for row in rows:
        reads, looked = (1e3 * (row[f"{each}_cpu"] + row[f"{each}_follower"]) for each in ("round", "idle"))
        figures = (row["calls"], row["looks"], reads, looked, row["memory"])
        print(f"{row['parties']:>8}" + "".join(f"{figure:>15.2f}" for figure in figures))
    if len(rows) > 1:
        print(f"exponent {exponent([(row['parties'], row['calls']) for row in rows]):.2f}")
    keep(given.output, "stand_ins", rows)


if __name__ == "__main__":
    main()
