# SPDX-License-Identifier: Apache-2.0
"""Measures the constants of the simulator, and writes them to the file that the package ships.

    python -m benchmarks.simulation_constants [--models 2,8] [--repeats 5] [--only PREFIX] [--output FILE]

Processor time of one thread.  Signatures, openings, the steps of a collision and sample passes are measured
alone.  Claims, store, draft, review, release and send come from laboratory runs of whole requests, as lines
over the models of a proposal: chains of `--models` with four members.  Other entries stay: gas, call data and
rates, each with its own source, and stated values.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import torch
from torch.nn import functional

from benchmarks.crypto import binding, seconds_per_call, steps
from benchmarks.laboratory import Laboratory, measured
from blockful_lab.simulation.constants import Constants
from blockful_py.crypto import chameleon
from blockful_py.crypto.keccak import keccak
from blockful_py.crypto.signature import recover, sign
from blockful_py.crypto.threshold.local import generate_key
from blockful_py.learning.models.registry import MODELS

SHIPPED = Path(__file__).resolve().parents[1] / "lab" / "blockful_lab" / "simulation" / "constants.json"
SOURCE = "python -m benchmarks.simulation_constants"
COMMITTEES = ((3, 4), (15, 21), (67, 100))
MEMBERS = 4
TEST_SAMPLES, FORWARD = 360, 1 / 3
"""Held-out digits on which claims are measured; sample passes of one of them."""
MICRO = 1e-6
CPU = torch.device("cpu")
PASSES = {
    "cnn-blobs": ("cnn", (1, 4, 4), 10, 64),
    "cnn-digits": ("cnn", (1, 8, 8), 10, 64),
    "alexnet-cifar100": ("alexnet", (3, 32, 32), 100, 8),
    "mobilenet_v2-cifar100": ("mobilenet_v2", (3, 32, 32), 100, 4),
    "resnet18-cifar100": ("resnet18", (3, 32, 32), 100, 4),
    "alexnet-tinyimagenet": ("alexnet", (3, 64, 64), 200, 8),
    "resnet18-tinyimagenet": ("resnet18", (3, 64, 64), 200, 2),
}
"""Network, input, classes and samples of a batch: the networks of the scalability section."""

Entries = dict[str, dict[str, Any]]


def single(seconds: float, repeats: int) -> dict[str, Any]:
    return {"value": rounded(seconds), "unit": "s", "source": f"{SOURCE}: median of {repeats}"}


def over(points: Sequence[tuple[float, float]], what: str, note: str) -> dict[str, Any]:
    shown = [[x, rounded(y)] for x, y in sorted(points)]
    return {"points": shown, "over": what, "unit": "s", "source": f"{SOURCE}: {note}"}


def rounded(value: float) -> float:
    return float(f"{value:.3g}")


def signatures(repeats: int) -> Entries:
    secret, digest = 7, keccak(b"a vote")
    signed = sign(secret, digest)
    label, message = chameleon.label(1337, bytes(20), 1), chameleon.message(1, digest)
    _, key = chameleon.keygen()
    h, opening = chameleon.hash_message(key, label, message)
    operations: dict[str, Callable[[], object]] = {
        "signature.sign": lambda: sign(secret, digest),
        "signature.verify": lambda: recover(digest, signed),
        "opening.verify": lambda: chameleon.verify(key, label, message, h, opening),
    }
    return {name: single(seconds_per_call(run, 300, repeats), repeats) for name, run in operations.items()}


def collisions(repeats: int) -> Entries:
    """The steps of a collision over the signers; what binds nonces over the members."""
    found: dict[str, list[tuple[float, float]]] = {}
    pledges = []
    for threshold, size in COMMITTEES:
        shares = generate_key(threshold, size, b"constants")
        for step, seconds in steps(shares, 20, repeats).items():
            found.setdefault(f"collision.{step}", []).append((threshold, seconds))
        bound = binding(shares, repeats)
        pledges.append(bound["pledge (us)"] * MICRO)
        for name in ("attest", "accept"):
            found.setdefault(f"session.{name}", []).append((size, bound[f"{name} (us)"] * MICRO))
    note = f"median of {repeats}"
    entries = {
        name: over(points, "signers" if name.startswith("collision") else "members", note)
        for name, points in found.items()
    }
    return entries | {"session.pledge": single(median(pledges), repeats)}


def one_pass(case: str, repeats: int) -> tuple[int, float]:
    """Parameters of a network, and the median processor seconds of a sample forward and backward."""
    name, shape, classes, batch = PASSES[case]
    torch.manual_seed(1)
    module = MODELS[name](shape, classes, CPU).train()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.01)
    x, y = torch.randn(batch, *shape), torch.randint(0, classes, (batch,))
    seconds = []
    for _ in range(repeats + 1):
        begun = process_time()
        module.zero_grad()
        functional.cross_entropy(module(x), y).backward()  # type: ignore[no-untyped-call]
        seconds.append((process_time() - begun) / batch)
    parameters = sum(each.numel() for each in module.parameters())
    return parameters, median(seconds[1:])


def networks(repeats: int) -> Entries:
    entries: Entries = {}
    for case in PASSES:
        parameters, seconds = one_pass(case, repeats)
        entries[f"pass.{case}"] = single(seconds, repeats)
        entries[f"parameters.{case}"] = {"value": parameters, "unit": "parameters", "source": SOURCE}
    return entries


def requests(models: Sequence[int], repeats: int, known: Constants) -> Entries:
    """Lines over the models of a proposal, from proposals of all models of a chain and of one."""
    points: dict[str, list[tuple[float, float]]] = {}
    for count in models:
        for run in measured(count, MEMBERS, repeats):
            proposals = run.counted.consensus
            for name, seconds in _parts(run, known).items():
                each = (run.models // proposals, max(0.0, seconds / proposals))
                points.setdefault(name, []).append(each)
    note = f"laboratory runs of {', '.join(map(str, models))} models, {repeats} of each paradigm"
    return {name: over(found, "models of a proposal", note) for name, found in points.items()}


def _parts(run: Laboratory, known: Constants) -> dict[str, float]:
    """Seconds of all proposals of a run, less the parts that other constants cover."""
    measuring = run.models * TEST_SAMPLES * FORWARD * known.at("pass.cnn-digits")
    gas = {name: used * known.at("evm.gas") for name, used in run.gas.items()}
    cosigned = run.calls["attest_cosigning"] + run.calls["cosign"]
    # The same rounds make the archive's certificate and the live chain's.
    releasing = run.calls["release"] - cosigned / 2
    return {
        "claims": run.stages["audit"] - measuring,
        "store": run.stages["store"],
        "committee.draft": run.stages["certify"] - run.calls["certify_redaction"] - run.calls["release"],
        "committee.review": run.calls["approve"] / run.members - measuring,
        "committee.release": releasing / run.members,
        "send.archive": run.stages["archive"] - gas["archive"],
        "send.live": run.stages["live"] - gas["live"],
    }


def written(entries: Entries) -> str:
    """JSON, a line each."""
    lines = (f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(entries.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", default="2,8", help="of the laboratory's chains (default 2,8)")
    parser.add_argument("--repeats", type=int, default=5, help="of everything (default 5; at most 5)")
    parser.add_argument(
        "--only", default="", help="measure signatures, collisions, networks or requests alone"
    )
    parser.add_argument("--output", type=Path, default=SHIPPED, help="default: the file of the package")
    options = parser.parse_args()
    torch.set_num_threads(1)
    entries: Entries = json.loads(SHIPPED.read_text(encoding="utf-8"))
    models = [int(each) for each in options.models.split(",")]

    def parts() -> Iterator[tuple[str, Callable[[], Entries]]]:
        yield "signatures", lambda: signatures(options.repeats)
        yield "collisions", lambda: collisions(options.repeats)
        yield "networks", lambda: networks(options.repeats)
        yield "requests", lambda: requests(models, options.repeats, Constants.of(entries))

    for name, measure in parts():
        if name.startswith(options.only):
            for key, entry in measure().items():
                entries[key] = entry
                print(key, json.dumps(entry.get("points", entry.get("value"))), flush=True)
            options.output.write_text(written(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
