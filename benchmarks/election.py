# SPDX-License-Identifier: Apache-2.0
"""Gas of the elected committee on a Ganache of its own: joining, an epoch, a full draw, a certificate.

Gas does not depend on the machine; a VRF proof's varies with the tries that hashing to the curve takes.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.gas import Bench, certificate
from blockful_py.chain.committee import CommitteeContract
from blockful_py.chain.deployments import deploy_elected
from blockful_py.chain.devnet import Devnet, NodeOptions
from blockful_py.chain.sortition import Parameters
from blockful_py.crypto import curve, multisignature
from blockful_py.crypto.eip712 import Certified, digest
from blockful_py.crypto.randomness import SeededRng
from blockful_py.types import Certificate
from tests.contracts.node import ganache

STAKE = 10**18


def epoch(candidates: int, seats: int) -> dict[str, Any]:
    """Gas of each step of the second epoch, whose slots have been written before, per candidate or member."""
    rng = SeededRng(b"bench election")
    rules = replace(Parameters(), seats=seats, minimum=1, epoch_length=0)
    with Devnet(NodeOptions(4243)) as devnet:
        senders = [devnet.sender(index) for index in range(candidates)]
        address = deploy_elected(senders[0], rules, seats=1).address("Committee")
        books = [CommitteeContract(each.node, address, each) for each in senders]
        accounts = [each.address for each in senders]
        voting, drawing = ([curve.random_scalar(rng) for _ in books] for _ in range(2))
        joined = [
            book.register(accounts[i], voting[i], drawing[i], STAKE).gas_used for i, book in enumerate(books)
        ]
        key = curve.multiply_base(curve.random_scalar(rng))
        first = books[0]
        for _ in range(2):
            spent: dict[str, list[int]] = {"proceed": [], "openElection": [first.open_election().gas_used]}
            draw = first.election().draw
            spent["commit"] = [
                book.commit(accounts[i], draw, rng_of(i)).gas_used for i, book in enumerate(books)
            ]
            first.node.rpc.call("evm_increaseTime", rules.commit_period)
            first.node.rpc.call("evm_mine")
            spent["proceed"].append(first.proceed().gas_used)
            spent["reveal"] = [book.reveal(rng_of(i)).gas_used for i, book in enumerate(books)]
            spent["proceed"].append(first.proceed().gas_used)
            spent["prove"] = [book.prove(drawing[i]).gas_used for i, book in enumerate(books)]
            spent["proceed"].append(first.proceed().gas_used)
            indices = {curve.address(curve.multiply_base(secret)): i for i, secret in enumerate(voting)}
            members = [indices[voter] for voter in first.elected()]
            quorum = -(-2 * len(members) // 3)
            spent["confirmKey"] = [books[i].confirm_key(key, quorum).gas_used for i in members[:quorum]]
        current = first.current_epoch()
        decision = (current, b"\1" * 32, b"\2" * 32, (1 << quorum) - 1)
        secret = sum(voting[i] for i in members[:quorum]) % curve.N
        signed = multisignature.sign(
            secret, digest(first.domain, Certified(first.chain_id, first.address, *decision))
        )
        report = first.report(
            Certificate(*decision, signed.nonce, signed.s), first.chain_id, first.address
        ).gas_used
    return {
        "join": median(joined),
        **{name: median(spent[name]) for name in ("openElection", "commit", "reveal", "prove")},
        "confirmKey": median(spent["confirmKey"][:-1]),
        "confirmKey, starts the epoch": spent["confirmKey"][-1],
        "proceed, three times": sum(spent["proceed"]),
        "epoch, all transactions": sum(map(sum, spent.values())),
        f"report of {quorum} votes": report,
    }


def displacement(entrants: int) -> int:
    """Gas of a commitment that takes the place of the weakest of `entrants`, all of them in the draw."""
    rng = SeededRng(b"bench displacement")
    rules = replace(Parameters(), seats=1, minimum=1, max_candidates=entrants, epoch_length=0)
    with Devnet(NodeOptions(4244)) as devnet:
        senders = [devnet.sender(index) for index in range(entrants + 1)]
        address = deploy_elected(senders[0], rules, seats=1).address("Committee")
        books = [CommitteeContract(each.node, address, each) for each in senders]
        for index, (book, sender) in enumerate(zip(books, senders, strict=True)):
            secrets = (curve.random_scalar(rng), curve.random_scalar(rng))
            book.register(sender.address, *secrets, STAKE + (index == entrants))
        books[0].open_election()
        draw = books[0].election().draw
        spent = [
            book.commit(sender.address, draw, rng_of(index)).gas_used
            for index, (book, sender) in enumerate(zip(books, senders, strict=True))
        ]
    return spent[-1]


def rng_of(index: int) -> bytes:
    """The secret that a candidate commits to."""
    return SeededRng(b"secret", index)(32)


def measure() -> dict[str, Any]:
    with ganache() as url:
        bench = Bench(url)
        sizes = {"3 of 4": (4, 3), "15 of 21": (21, 15), "67 of 100": (100, 67)}
        certificates = {name: certificate(bench, *size) for name, size in sizes.items()}
    few, many = displacement(4), displacement(9)
    return {
        "epoch of 4 from 9": epoch(9, 4),
        "full draw": {"of 4": few, "of 9": many, "each entrant": (many - few) / 5},
        "certificate_by_votes": certificates,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks/election.json"))
    options = parser.parse_args()
    result = measure()
    for title, values in result.items():
        print(title)
        for name, gas in values.items():
            print(f"  {name:40} {gas:>12,.0f}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
