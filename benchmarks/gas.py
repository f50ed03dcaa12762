# SPDX-License-Identifier: Apache-2.0
"""Gas of the contracts on a Ganache of its own (shanghai): measured from receipts, beside goals and floors.

Gas does not depend on the machine; openings are random, so a model's share varies by a few units of gas.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from web3 import HTTPProvider, Web3

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from blockful_py.chain import live_slots
from blockful_py.chain.interface import interface_of, load_artifact
from blockful_py.crypto import chameleon, curve
from blockful_py.crypto.eip712 import Domain
from blockful_py.crypto.randomness import SeededRng
from scripts.toolchain.solc import compile_files
from tests.contracts.node import ganache
from tests.contracts.scene import (
    APPEND_BLOCK,
    APPEND_RECORDS,
    DECIDE,
    REDACT,
    SET_BARRED,
    Decider,
    LiveScene,
    Panel,
    block_digest,
    decision_on_request,
    digest,
    filed_content,
    records_digest,
    redaction_digest,
)

BLOCK, BATCH = 50, 100
GOALS = {
    "verification": 3_800,
    "redaction": 22_500,
    "one": 70_000,
    "publication": 95_000,
    "both chains, redaction": 34_000,
    "both chains, publication": 75_000,
}
COLD_WRITE, NEW_SLOT, CODE_BYTE, ECRECOVER, WORD, BYTE = 5_000, 22_100, 200, 3_000, 512, 16
"""EIP-2929, EIP-2200 and EIP-170; a calldata word and byte without zeros (EIP-2028)."""
MODEL_BYTES, REFERENCE_BYTES, RECORD_BYTES, SHARED = 52, 8, 46, 4
"""Data of a model, a reference and a record that are stored as code; entries in a slot."""


class Bench:
    """A deployment and its transactions."""

    def __init__(self, url: str, members: int = 4) -> None:
        self.w3 = Web3(HTTPProvider(url, request_kwargs={"timeout": 120}))
        self.account = self.w3.eth.accounts[0]
        self.panel = Panel.seeded(members, "bench")
        self.committee = self.deploy(load("AppointedCommittee"), self.account)
        self.send(self.committee.functions.appoint(self.panel.roster()))
        domain = Domain(self.w3.eth.chain_id, bytes.fromhex(self.committee.address[2:]))
        self.decider = Decider(self.panel, domain, chain_id=domain.chain_id)

    def deploy(self, artifact: dict[str, Any], *arguments: Any) -> Any:
        contract = self.w3.eth.contract(abi=artifact["abi"], bytecode=artifact["bytecode"])
        hashed = contract.constructor(*arguments).transact({"from": self.account, "gas": 10_000_000})
        receipt = self.w3.eth.wait_for_transaction_receipt(hashed)
        return self.w3.eth.contract(address=receipt["contractAddress"], abi=artifact["abi"])

    def send(self, call: Any, access: list[Any] | None = None) -> int:
        """Gas of one transaction; it must succeed."""
        options: dict[str, Any] = {"from": self.account, "gas": 29_900_000}
        if access is not None:
            price = self.w3.eth.gas_price
            options |= {"accessList": access, "maxFeePerGas": 2 * price, "maxPriorityFeePerGas": 0}
        receipt = self.w3.eth.wait_for_transaction_receipt(call.transact(options))
        if receipt["status"] != 1:
            raise RuntimeError(f"{call.fn_name} was reverted")
        return int(receipt["gasUsed"])

    def publish(self, live: Any, scene: LiveScene, references: int, *, listed: bool = False) -> int:
        """Gas of a block of BLOCK models that each refer to `references` models of the block before.

        `listed` declares the slots (EIP-2930).
        """
        height = len(scene.blocks)
        models = [
            sorted(height << 32 | (index + 7 * k) % BLOCK for k in range(references))
            for index in range(BLOCK)
        ]
        block = scene.block(models)
        action = self.decider.action(live.address, APPEND_BLOCK, block_digest(block))
        call = live.functions.append(block, action)
        return self.send(call, access_list(live, call) if listed else None)

    def redact(self, live: Any, scene: LiveScene, positions: list[int], *, listed: bool = False) -> int:
        """Gas of one redaction of `positions`; `listed` declares the slots (EIP-2930)."""
        updates, headers = scene.redaction(positions)
        action = self.decider.action(live.address, REDACT, redaction_digest(updates, headers))
        call = live.functions.redact(updates, headers, action)
        gas = self.send(call, access_list(live, call) if listed else None)
        scene.settle(updates, headers)
        return gas


def load(name: str) -> dict[str, Any]:
    artifact = load_artifact(name)
    return {"abi": list(artifact.abi), "bytecode": artifact.bytecode}


def access_list(live: Any, call: Any) -> list[Any]:
    """The slots that `blockful_py` declares with a call (EIP-2930)."""
    data = bytes.fromhex(call.build_transaction({"gas": 1, "gasPrice": 0})["data"][2:])
    slots = live_slots.touched(interface_of("LiveChain"), data, live.functions.height().call())
    keys = [f"0x{slot:064x}" for slot in slots]
    return [{"address": live.address, "storageKeys": keys}]


def verification(bench: Bench, samples: int) -> dict[str, float]:
    """Gas of ChameleonHash.verify alone, over `samples` random openings."""
    harness = bench.deploy(compile_files("tests/contracts/solidity/Harness.sol")["Harness"])
    rng, spent = SeededRng(b"bench verification"), []
    _, key = chameleon.keygen(rng)
    for _ in range(samples):
        label, message = rng(32), rng(32)
        h, opening = chameleon.hash_message(key, label, message)
        case = (curve.key_id(key), label, message, h, opening.px, opening.s)
        spent.append(harness.functions.gasOfVerify(case).call())
    return {"max": max(spent), "min": min(spent), "n": samples}


def readable(bench: Bench) -> dict[str, Any]:
    """LiveChain: publication by number of references, redaction by size of the batch."""
    live = bench.deploy(load("LiveChain"), bench.committee.address)
    scene = LiveScene(live.address, bench.panel, bench.decider.chain_id)
    bench.publish(live, scene, 0)
    publication = {str(n): bench.publish(live, scene, n) / BLOCK for n in (0, 1, 2, 3, 4)}
    declared = {str(n): bench.publish(live, scene, n, listed=True) / BLOCK for n in (0, 1, 2, 3, 4)}
    places = [height << 32 | index for height in (4, 5) for index in range(BLOCK)]
    redaction = {str(n): bench.redact(live, scene, places[:n]) / n for n in (1, 10, BATCH)}
    fourth = bench.redact(live, scene, places[3:4])
    again = bench.redact(live, scene, places) / BATCH
    listed = bench.redact(live, scene, places, listed=True) / BATCH
    return {
        "publication_by_references": publication,
        "publication_with_access_list": declared,
        "redaction_by_batch": redaction,
        "redaction_of_a_fourth_model": fourth,
        "redaction_repeated": again,
        "redaction_with_access_list": listed,
    }


def certificate(bench: Bench, members: int, votes: int) -> int:
    """Gas of requireQuorum, without the transaction's own 21,000 and its calldata."""
    panel = Panel.seeded(members, "certificate")
    committee = bench.deploy(load("AppointedCommittee"), bench.account)
    bench.send(committee.functions.appoint(panel.roster()))
    domain = replace(bench.decider.domain, contract=bytes.fromhex(committee.address[2:]))
    executor = (bench.decider.chain_id, bench.account)
    value = panel.certificate(domain, executor, 1, b"\1" * 32, b"\2" * 32, range(votes))
    call = committee.functions.requireQuorum(value)
    data = bytes.fromhex(call.build_transaction({"gas": 1, "gasPrice": 0})["data"][2:])
    intrinsic = 21_000 + sum(16 if byte else 4 for byte in data)
    return int(call.estimate_gas({"from": bench.account})) - intrinsic


def archive(bench: Bench) -> dict[str, float]:
    """Gas a record, by records in one transaction."""
    registry = bench.deploy(load("ArchiveRegistry"), bench.committee.address)
    found, rng = {}, SeededRng(b"bench archive")
    for count in (1, 1, 10, BLOCK, BATCH):
        head = bytes(registry.functions.head().call())
        records = [(1 << 32 | index, 0, 0, 0x55, rng(32)) for index in range(count)]
        content = records_digest(head, 1_700_000_000, records)
        action = bench.decider.action(registry.address, APPEND_RECORDS, content)
        found[str(count)] = (
            bench.send(registry.functions.append(head, 1_700_000_000, records, action)) / count
        )
    return found


def readers(bench: Bench) -> dict[str, int]:
    """Gas of a reader's registration, of another key, of leaving, and of being barred by 3 votes."""
    live = bench.deploy(load("LiveChain"), bench.committee.address)
    registry = bench.deploy(load("ReaderRegistry"), bench.committee.address, live.address)
    first, second = (curve.multiply_base(secret) for secret in (77, 78))
    content = digest(["address", "bool"], [bench.account, True])
    action = bench.decider.action(registry.address, SET_BARRED, content)
    calls = {
        "register": registry.functions.register(first.x, first.y),
        "another key": registry.functions.register(second.x, second.y),
        "leave": registry.functions.leave(),
        "bar": registry.functions.setBarred(bench.account, True, action),
    }
    return {name: bench.send(call) for name, call in calls.items()}


def participants(bench: Bench) -> dict[str, int]:
    """Gas of founding, of a participant's transactions, and of decisions on two requests by 3 votes.

    The first participant fills the counter's slot.  A participant's first hand-in, and a filing without a
    place, fill a slot of their own.
    """
    live = bench.deploy(load("LiveChain"), bench.committee.address)
    registry = bench.deploy(load("ParticipantRegistry"), bench.committee.address, live.address, 2, True)
    rng, url = SeededRng(b"bench participants"), "https://participant.example:4433"
    request = (rng(32), 0x55, 1_000)
    content = filed_content(bench.account, *request, 0)

    def decision(number: int, admitted: bool) -> Any:
        action = bench.decider.action(
            registry.address, DECIDE, decision_on_request(number, content, admitted)
        )
        return registry.functions.decide(number, admitted, action)

    part = (1, 1 << 32, rng(32), 0x55)
    calls = {
        "found": registry.functions.found(rng(32)),
        "join": registry.functions.join(),
        "announce": registry.functions.announce(bench.account, url),
        "file": registry.functions.file(*request),
        "file another": registry.functions.file(*request),
        "admit a request": decision(1, True),
        "dismiss a request": decision(2, False),
        "hand in": registry.functions.handIn(*part),
        "hand in again": registry.functions.handIn(*part),
        "leave": registry.functions.leave(),
        "declare": registry.functions.declare(*part[1:]),
    }
    return {name: bench.send(call) for name, call in calls.items()}


def floors() -> dict[str, int]:
    """Least gas a model or record: writes, code, one ecrecover, the words that change.

    Its URI is a slot, its entry a quarter of one; two references are published.  Of a new model's words only
    the URI and P.x do not follow from others.
    """
    code = CODE_BYTE * (MODEL_BYTES + 2 * REFERENCE_BYTES)
    return {
        "redaction": COLD_WRITE + COLD_WRITE // SHARED + ECRECOVER + 3 * WORD + 8 * BYTE,
        "publication": NEW_SLOT + NEW_SLOT // SHARED + code + ECRECOVER + 2 * WORD + 20 * BYTE,
        "record": CODE_BYTE * RECORD_BYTES + WORD,
    }


def both(live: dict[str, Any], archive: dict[str, float], least: dict[str, int]) -> dict[str, float]:
    """Gas a model on the live chain and the archive together; a publication has blocks of BLOCK models."""
    sizes = ("1", "10", str(BATCH))
    return {
        **{f"redaction, batch of {n}": live["redaction_by_batch"][n] + archive[n] for n in sizes},
        "publication, 2 references": live["publication_by_references"]["2"] + archive[str(BLOCK)],
        "floor: redaction": least["redaction"] + least["record"],
        "floor: publication": least["publication"] + least["record"],
    }


def measure(samples: int) -> dict[str, Any]:
    with ganache() as url:
        bench = Bench(url)
        live, archived, least = readable(bench), archive(bench), floors()
        return {
            "goals": GOALS,
            "both_chains": both(live, archived, least),
            "verification": verification(bench, samples),
            "readable": live,
            "certificate_by_votes": {
                f"{votes} of {members}": certificate(bench, members, votes)
                for votes, members in ((3, 4), (4, 4), (10, 15), (15, 21), (21, 21), (67, 100), (100, 100))
            },
            "archive_by_records": archived,
            "readers": readers(bench),
            "participants": participants(bench),
            "floors": least,
        }


def show(result: dict[str, Any]) -> None:
    live = result["readable"]
    goals = {
        f"redaction, batch of {BATCH}": GOALS["both chains, redaction"],
        "publication, 2 references": GOALS["both chains, publication"],
    }
    rows = [
        *((f"both chains, {name}", gas, goals.get(name)) for name, gas in result["both_chains"].items()),
        ("chameleon verification", result["verification"]["max"], GOALS["verification"]),
        (f"redaction a model, batch of {BATCH}", live["redaction_by_batch"][str(BATCH)], GOALS["redaction"]),
        ("  the same, slots declared (EIP-2930)", live["redaction_with_access_list"], GOALS["redaction"]),
        ("redaction of one model, first of its block", live["redaction_by_batch"]["1"], GOALS["one"]),
        ("  fourth of its block, or later", live["redaction_of_a_fourth_model"], GOALS["one"]),
        ("redaction a model, batch of 10", live["redaction_by_batch"]["10"], None),
        *(
            (f"publication a model, {n} references", gas, GOALS["publication"])
            for n, gas in live["publication_by_references"].items()
        ),
        *(
            (f"  {n} references, slots declared", gas, GOALS["publication"])
            for n, gas in live["publication_with_access_list"].items()
        ),
        *(
            (f"certificate, {votes} votes", gas, None)
            for votes, gas in result["certificate_by_votes"].items()
        ),
        *((f"archive a record, batch of {n}", gas, None) for n, gas in result["archive_by_records"].items()),
        *((f"reader: {name}", gas, None) for name, gas in result["readers"].items()),
        *((f"participant: {name}", gas, None) for name, gas in result["participants"].items()),
        *((f"floor: {name.replace('_', ', ')}", gas, None) for name, gas in result["floors"].items()),
    ]
    print(f"{'gas':42} {'measured':>10} {'goal':>10}")
    for name, gas, goal in rows:
        print(f"{name:42} {gas:>10,.0f} {f'{goal:,}' if goal else '':>10}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100, help="openings verified (100)")
    parser.add_argument("--output", type=Path, default=Path("build/benchmarks/gas.json"))
    options = parser.parse_args()
    result = measure(options.samples)
    show(result)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
