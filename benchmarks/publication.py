# SPDX-License-Identifier: Apache-2.0
"""Models published a second through a laboratory's committee, by stage, and a bare contract on the same node.

    python -m benchmarks.publication [--models 400] [--repeats 3] [--devnet anvil] [--block-time 0]

All models are published at once, each with two references; training is left out.  Members, leader and both
chains share this machine.  Seconds by the clock, and of the processor: of this process, and of both nodes.

    seal     encrypting the weights and signing the statements
    store    both stores, the journal's steps and the data keys
    draft    reading the chains, and a fresh chameleon hash for each model
    vote     all members: reading the models, checking every opening, voting
    sign     the archive's certificate and the live chain's
    archive, live  signing, sending and awaiting the transactions
    other    the journal's commits, and the rest

`bare` is a contract that does as much: it stores as many words as both contracts do (two a record in the
archive; a URI and a quarter of an entry on the live chain) and recovers a key for each URI, as an opening
takes, in transactions of as many models, all of them prepared before and sent in one batch.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.chains import add_options, chains
from benchmarks.instruments import replaced
from blockful_py.chain.archive_registry import ArchiveRegistryContract
from blockful_py.chain.calls import Call
from blockful_py.chain.interface import interface_of
from blockful_py.chain.live_chain import LiveChainContract
from blockful_py.chain.sender import Sender
from blockful_py.committee.coordinator import Coordinator
from blockful_py.committee.drafting import Proposer
from blockful_py.committee.member import Member
from blockful_py.keys.weight_keys import WeightKeys
from blockful_py.learning.candidates import ScoredModel
from blockful_py.learning.federation import TrainedModel, initial_weights
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.jobs.publishing import Publisher
from blockful_py.settings import Settings
from blockful_py.storage.store import ContentStore

STAGES: tuple[tuple[type, str, str], ...] = (
    (WeightKeys, "seal", "seal"),
    (Publisher, "_node", "seal"),
    (ContentStore, "add_each", "store"),
    (WeightKeys, "give", "store"),
    (Proposer, "publication", "draft"),
    (Member, "vote_publication", "vote"),
    (Coordinator, "certify_publication", "sign"),
    (Coordinator, "release", "sign"),
    (ArchiveRegistryContract, "send_each", "archive"),
    (LiveChainContract, "send_each", "live"),
)
ORDER = ("seal", "store", "draft", "vote", "sign", "archive", "live", "other")
WORDS_ARCHIVE, WORDS_HEADERS = 2.0, 0.25
"""Storage words that the contracts write for a model, beside its URI."""
RECOVERABLE = bytes.fromhex(
    "601b602052"  # v = 27
    "7f79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798604052"  # r, the generator's x
    "6001606052"  # s = 1
)
"""mstore of the inputs of `ecrecover`; the hash, at 0, is zero, later the last recovered key."""
RECOVER = bytes.fromhex("602060006080600060015afa50")
"""staticcall(gas(), 1, 0, 128, 0, 32)"""


def bare_code(recovers: bool) -> bytes:
    """for (i = 32; i < calldatasize; i += 32) sstore(calldataload(0) + i, calldataload(i)) [, ecrecover]"""
    begin, once = (RECOVERABLE, RECOVER) if recovers else (b"", b"")
    loop = len(begin) + 2
    return b"".join(
        (
            begin,
            bytes.fromhex("6020"),  # PUSH1 32                                 i
            bytes.fromhex("5b36811060") + bytes([loop + 8]),  # JUMPDEST, i < CALLDATASIZE, PUSH1 the body
            bytes.fromhex("5700"),  # JUMPI, STOP
            bytes.fromhex("5b8035"),  # JUMPDEST, CALLDATALOAD(i)
            bytes.fromhex("8160003501"),  # i + CALLDATALOAD(0)
            bytes.fromhex("55"),  # SSTORE
            once,
            bytes.fromhex("60200160") + bytes([loop]) + bytes.fromhex("56"),  # i + 32, JUMP
        )
    )


@dataclass
class Spent:
    """Seconds by the clock, of this process and of the nodes."""

    clock: float = 0.0
    own: float = 0.0
    nodes: float = 0.0

    def add(self, other: Spent, sign: int = 1) -> None:
        self.clock += sign * other.clock
        self.own += sign * other.own
        self.nodes += sign * other.nodes

    @classmethod
    def now(cls) -> Spent:
        return cls(perf_counter(), process_time(), sum(map(_seconds, _nodes())))


@cache
def _nodes() -> frozenset[Path]:
    """Where the kernel counts the processor time of this process's children, the nodes."""
    tasks = Path("/proc/self/task").iterdir()
    return frozenset(
        Path(f"/proc/{pid}/stat") for task in tasks for pid in (task / "children").read_text().split()
    )


def _seconds(path: Path) -> float:
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Splits:
    """Time of each stage, less the time of stages inside it."""

    def __init__(self) -> None:
        self.spent: dict[str, Spent] = {stage: Spent() for stage in ORDER}
        self._inside: list[Spent] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, stage in STAGES:
                stack.enter_context(replaced(owner, name, self._watched(getattr(owner, name), stage)))
            with self.stage("other"):
                yield

    @contextmanager
    def stage(self, stage: str) -> Iterator[None]:
        self._inside.append(Spent())
        begun = Spent.now()
        try:
            yield
        finally:
            spent = Spent.now()
            spent.add(begun, -1)
            inside = self._inside.pop()
            if self._inside:
                self._inside[-1].add(spent)
            spent.add(inside, -1)
            self.spent[stage].add(spent)

    def _watched(self, call: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            with self.stage(stage):
                return call(*given, **named)

        return watched


def made_up(
    federation: Federation, prefix: str, count: int, references: tuple[str, ...]
) -> dict[str, TrainedModel]:
    """Models that nobody trained, each with weights of its own."""
    setup = federation.setup
    initial = initial_weights(setup.federation)
    name = next(iter(initial))
    models = {}
    for number in range(count):
        weights = {**initial, name: initial[name] + number}
        model = TrainedModel(
            name=f"{prefix}{number}",
            user=1 + number % setup.federation.scenario.users,
            round=1,
            references=tuple(ScoredModel(each, 0.9) for each in references),
            weights=weights,
            accuracy=0.9,
            training=setup.federation.training,
        )
        models[model.name] = model
    return models


def bare(sender: Sender, models: int, words: float, each: int, recovers: bool = False) -> Spent:
    """Cost of storing `words` words a model on one node, `each` models a transaction.

    With `recovers`, a key is recovered for each word.
    """
    interface = interface_of("LiveChain")
    code = bare_code(recovers)
    creation = bytes([0x60, len(code), 0x60, 12, 0x60, 0, 0x39, 0x60, len(code), 0x60, 0, 0xF3]) + code
    address, _ = _deployed(sender, creation)
    calls = []
    for first in range(0, models, each):
        count = round(min(each, models - first) * words)
        data = b"".join(os.urandom(32) for _ in range(count + 1))
        calls.append(Call(interface, address, data, gas=50_000 + 28_000 * count))
    begun = Spent.now()
    sender.send_many(calls)
    spent = Spent.now()
    spent.add(begun, -1)
    return spent


def _deployed(sender: Sender, code: bytes) -> tuple[bytes, Any]:
    class _Creation:
        name = "Bare"

        def creation(self) -> bytes:
            return code

        def event(self, log: Any) -> None:
            return None

    return sender.deploy(_Creation())  # type: ignore[arg-type]


@dataclass
class Measured:
    """One publication.

    Attributes:
        stages: by name.
        bare: the bare contract's, on both nodes one after the other.
    """

    stages: dict[str, Spent] = field(default_factory=dict)
    bare: Spent = field(default_factory=Spent)

    def total(self, *without: str) -> Spent:
        found = Spent()
        for name, spent in self.stages.items():
            if name not in without:
                found.add(spent)
        return found


def measure(models: int, devnet: str, block_time: int, repeats: int) -> list[Measured]:
    """Each repeat is a federation of its own on the same nodes."""
    settings = Settings.parse({"chain": {"packaging_interval": 0}, "committee": {"size": 4}})
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        with chains(devnet, block_time, base / "chains") as nodes:
            for number in range(repeats):
                with Federation.create(settings, base / f"run{number}", nodes=nodes) as federation:
                    roots = made_up(federation, "root", 2, ())
                    federation.adopt(roots)
                    wave = made_up(federation, "m", models, tuple(roots))
                    splits = Splits()
                    with splits.watching():
                        federation.adopt({**roots, **wave})
                    assert federation.contracts.archive.length() == models + 2
                found = Measured(splits.spent)
                size = settings.chain.chunk_models
                found.bare.add(bare(nodes.archive_sender, models, WORDS_ARCHIVE, size))
                found.bare.add(bare(nodes.live_sender, models, WORDS_HEADERS, size))
                found.bare.add(bare(nodes.live_sender, models, 1, size, recovers=True))
                runs.append(found)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", type=int, default=400, help="models published at once (default 400)")
    parser.add_argument(
        "--repeats", type=int, default=3, help="publications, of which medians count (default 3)"
    )
    add_options(parser, "anvil")
    parser.add_argument("--output", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    runs = measure(options.models, options.devnet, options.block_time, options.repeats)
    print(
        f"{options.models} models on {options.devnet}, block time {options.block_time}, "
        f"n = {options.repeats}, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'':10}{'clock':>8}{'least':>8}{'most':>8}{'own':>8}{'nodes':>8}")
    rows = {stage: [run.stages[stage] for run in runs] for stage in ORDER}
    rows |= {
        "in all": [run.total() for run in runs],
        "less vote": [run.total("vote") for run in runs],
        "bare": [run.bare for run in runs],
    }
    for name, found in rows.items():
        clock = [each.clock for each in found]
        own, nodes = median(each.own for each in found), median(each.nodes for each in found)
        print(f"{name:10}{median(clock):8.2f}{min(clock):8.2f}{max(clock):8.2f}{own:8.2f}{nodes:8.2f}")
    for name in ("in all", "less vote", "bare"):
        print(f"{name}: {median(options.models / each.clock for each in rows[name]):.1f} models/s")
    shares = [run.bare.clock / run.total("vote").clock for run in runs]
    print(f"without the members' time, share of the bare contract's rate: {median(shares):.2f}")
    if options.output:
        machine = {"python": platform.python_version(), "cpus": os.cpu_count(), "load": os.getloadavg()}
        given = {name: getattr(options, name) for name in ("models", "repeats", "devnet", "block_time")}
        seconds = [
            {name: vars(each) for name, each in {**run.stages, "bare": run.bare}.items()} for run in runs
        ]
        report = {"machine": machine, **given, "seconds": seconds}
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
