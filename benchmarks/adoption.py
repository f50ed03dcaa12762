# SPDX-License-Identifier: Apache-2.0
"""Adoption of many model cards: reading, planning, reach of a data set, drawing.

    python -m benchmarks.adoption [--models 10000 --models 100000] [--seed 0]
    python -m benchmarks.adoption --record [--models 1000 --models 10000]

The cards are made up: a model's parent is drawn with a probability that grows with the parent's heirs
(Barabási and Albert, 1999), so that few bases have most heirs, as on the hub.  One in ten is a base, one in
fifty a merge of two.  Each size is a process of its own.  `read` parses the cards in their folders, `plan`
compares them with an empty record, `catalogue` parses the nodes as a record has them, `reach` finds the
models of the data set of the oldest base, `draw` computes the explorer's coordinates.  Chains and stores take
no part, unless with `--record`: then the models are adopted on two Anvil nodes with four members, reached,
indexed and drawn by the explorer, verified, and those reached are withdrawn, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.growth import exponent, processors, resident, spent_so_far
from blockful_py.adopt.folders import read_folder
from blockful_py.adopt.plan import AdoptionPlan, plan_adoption
from blockful_py.adopt.publishing import SETTINGS, publish
from blockful_py.chain.devnet import NodeOptions, start_together
from blockful_py.chain.settlement import Executed
from blockful_py.explorer.database import IndexReader
from blockful_py.explorer.graph_file import GraphFiles
from blockful_py.explorer.index import RecordIndex
from blockful_py.explorer.watched import watched_run
from blockful_py.forget import Forget
from blockful_py.graph.inheritance import InheritanceGraph
from blockful_py.graph.layout import layered_drawing
from blockful_py.pipeline.federation import Federation
from blockful_py.pipeline.run.opened import OpenedRun
from blockful_py.pipeline.run.progress import Silent
from blockful_py.record.catalogue import Catalogue
from blockful_py.record.model_node import ModelNode, parse_node
from blockful_py.record.reach import reach
from blockful_py.record.statement import Reference, Statement
from blockful_py.settings import Settings
from blockful_py.storage.unixfs import file_uri
from blockful_py.types import ModelTransaction, Position, Uri

KINDS = ("finetune", "adapter", "quantized")
DATASET = "data-0"
BLOCK = 1000


def write_cards(root: Path, count: int, seed: int) -> None:
    """Folders "account/model" with a card each."""
    stream = np.random.default_rng(seed)
    drawn = [0]
    for number in range(count):
        folder = root / f"user-{number % 997}" / f"model-{number}"
        folder.mkdir(parents=True)
        said: dict[str, object] = {"license": "apache-2.0", "tags": ["text-generation"]}
        if number % 10 == 0:
            said["datasets"] = [f"data-{number}"]
        else:
            wanted = 2 if number % 50 == 1 and number > 1 else 1
            parents = {int(drawn[each]) for each in stream.integers(len(drawn), size=wanted)}
            said["base_model"] = [f"user-{each % 997}/model-{each}" for each in sorted(parents)]
            said["base_model_relation"] = "merge" if len(parents) > 1 else KINDS[number % 3]
            drawn += parents
        drawn.append(number)
        lines = "\n".join(f"{key}: {json.dumps(value)}" for key, value in said.items())
        (folder / "README.md").write_text(f"---\n{lines}\n---\n\n# Model {number}\n")


def as_nodes(plan: AdoptionPlan) -> tuple[list[ModelTransaction], dict[Uri, bytes]]:
    """The plan's models as a record has them; nobody signs, since a catalogue checks no signature."""
    places, transactions, nodes = dict[str, Position](), list[ModelTransaction](), dict[Uri, bytes]()
    for number, each in enumerate(plan.models):
        places[each.name] = Position(1 + number // BLOCK, number % BLOCK)
        statement = Statement(
            name=each.name,
            user=1,
            round=1,
            owner="0x" + 40 * "0",
            weights="b" + 58 * "a",
            references=tuple(
                Reference(name=name, position=str(places[name]), accuracy=None) for name in each.parents
            ),
            accuracy=0.0,
            training={},
            adopted=each.adopted,
            created=0,
        )
        data = ModelNode(statement=statement, signature="0x" + 128 * "0").to_bytes()
        uri = file_uri(data)
        nodes[uri] = data
        transactions.append(
            ModelTransaction(
                position=places[each.name],
                ch=0,
                opening=None,
                uri=uri,
                version=0,
                epoch=0,
                owner=bytes(20),
                settled=True,
                references=tuple(sorted(places[name] for name in each.parents)),
            )
        )
    return transactions, nodes


def measure(root: Path) -> dict[str, float]:
    seconds: dict[str, float] = {}

    def timed(name: str, begun: float) -> None:
        seconds[name] = perf_counter() - begun

    begun = perf_counter()
    found = read_folder(root)
    timed("read", begun)
    begun = perf_counter()
    plan = plan_adoption(found, Catalogue({}, InheritanceGraph.from_references({})))
    timed("plan", begun)
    transactions, nodes = as_nodes(plan)
    begun = perf_counter()
    catalogue = Catalogue.of(transactions, lambda uri: parse_node(nodes[uri]))
    timed("catalogue", begun)
    begun = perf_counter()
    reached = reach(catalogue, [DATASET])
    timed("reach", begun)
    begun = perf_counter()
    layered_drawing(catalogue.references())
    timed("draw", begun)
    heirs = max(len(catalogue.graph.heirs(name)) for name in catalogue.models)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "models": len(plan.models),
        "refused": len(plan.refused),
        "most_heirs": heirs,
        "reached": len(reached.remedies),
        "peak_mib": peak,
        **seconds,
    }


def adopt(cards: Path, run: Path, urls: list[str]) -> dict[str, int]:
    chains = [f"chain.{name}_url={url}" for name, url in zip(("live", "archive"), urls, strict=True)]
    found = read_folder(cards)
    with Federation.create(
        Settings.load(None, [*SETTINGS, *chains, "chain.packaging_interval=0"]), run
    ) as made:
        executed = publish(made, plan_adoption(found, made.catalogue()), Silent())
        return {"adopted": len(made.catalogue().models), **_gas(executed)}


def reached(cards: Path, run: Path, urls: list[str]) -> dict[str, int]:
    with OpenedRun.attach(run) as opened:
        return {"reached": len(reach(opened.catalogue(), [DATASET]).remedies)}


def drawn(cards: Path, run: Path, urls: list[str]) -> dict[str, int]:
    index = run / "index.sqlite"
    with watched_run(run, None, run / "events") as watched, RecordIndex(index, watched.sources()) as made:
        made.follow()
        file = GraphFiles(IndexReader(index), watched.run.settings.federation).current()
    return {"bytes": len(file.data)}


def verified(cards: Path, run: Path, urls: list[str]) -> dict[str, int]:
    with Federation.open(run) as federation:
        assert federation.verify().passed
    return {}


def withdrawn(cards: Path, run: Path, urls: list[str]) -> dict[str, int]:
    with Federation.open(run) as federation:
        done = federation.unlearn(forget=Forget.of_datasets([DATASET]))
    return {"withdrawn": len(done.nodes), **_gas(done.executed)}


def _gas(executed: Sequence[Executed]) -> dict[str, int]:
    return {"transactions": len(executed), "gas": sum(each.receipt.gas_used for each in executed)}


STEPS: dict[str, Callable[[Path, Path, list[str]], dict[str, int]]] = {
    "adopt": adopt,
    "reach": reached,
    "draw": drawn,
    "verify": verified,
    "withdraw": withdrawn,
    "verify again": verified,
}


def on_a_record(count: int, seed: int) -> dict[str, float]:
    """Processor seconds of each step, the nodes' included, by step."""
    spent = {}
    live, archive = start_together(NodeOptions(1337, kind="anvil"), NodeOptions(1338, kind="anvil"))
    with live, archive, tempfile.TemporaryDirectory() as folder:
        write_cards(Path(folder, "cards"), count, seed)
        for step in STEPS:
            before = processors(live, archive)
            command = [sys.executable, "-m", "benchmarks.adoption", "--step", step, "--folder", folder]
            command += ["--urls", live.url, archive.url]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            told = json.loads(done.stdout.splitlines()[-1])
            told["nodes"] = processors(live, archive) - before
            spent[step] = told["own"] + told["nodes"]
            print(json.dumps({"models": count, "step": step, **told}), flush=True)
    return spent


def take(step: str, folder: Path, urls: list[str]) -> dict[str, float]:
    """A step in this process."""
    before, begun, spent = resident("VmRSS"), perf_counter(), spent_so_far()
    told = STEPS[step](folder / "cards", folder / "run", urls)
    cost = {"own": spent_so_far() - spent, "clock": perf_counter() - begun}
    return {**told, **cost, "before_mb": before, "peak_mb": resident("VmHWM")}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, action="append", metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="on a record, with chains and stores")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--urls", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step is not None:
        print(json.dumps(take(arguments.step, arguments.folder, arguments.urls)))
        return
    if arguments.folder is not None:
        print(json.dumps(measure(arguments.folder)))
        return
    if arguments.record:
        sizes = arguments.models or [1_000, 10_000]
        spent = {count: on_a_record(count, arguments.seed) for count in sizes}
        if len(sizes) > 1:
            for step in STEPS:
                print(step, f"{exponent([(count, spent[count][step]) for count in sizes]):.2f}")
        return
    for count in arguments.models or (10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            write_cards(Path(folder), count, arguments.seed)
            command = [sys.executable, "-m", "benchmarks.adoption", "--folder", folder]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            print(done.stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
