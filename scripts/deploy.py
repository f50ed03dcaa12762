# SPDX-License-Identifier: Apache-2.0
"""Deploys the contracts and writes their addresses: one `<chain id>.json` for each chain.

    brownie run deploy main --network live-chain       AppointedCommittee with its first roster,
                                                       LiveChain, ParticipantRegistry,
                                                       ReaderRegistry and AlarmRegistry
    brownie run deploy archive --network archive-chain QuorumMirror and ArchiveRegistry
    brownie run deploy everything                      all seven on one chain
    brownie run deploy elected --network live-chain    VrfVerifier, elected Committee, LiveChain,
                                                       ParticipantRegistry, ReaderRegistry and
                                                       AlarmRegistry

Environment:
    BLOCKFUL_DEPLOYMENTS  folder of the deployments files (./deployments)
    BLOCKFUL_ROSTER       JSON file of the first roster; without it, a roster for demonstrations
                          whose secrets are public
    BLOCKFUL_HOME         for `archive`: deployments file of the committee's home chain
    BLOCKFUL_PARAMETERS   for `elected`: JSON file of the committee's parameters, by their names in IStakes
    BLOCKFUL_FOUNDERS     for `elected`: the only accounts that may stand for the first committee, separated
                          by commas; without it, everybody may
    BLOCKFUL_SEATS        maximum number of participants; everybody may join until then (14)
    BLOCKFUL_ACCOUNT      brownie account that deploys (the node's first account)

A roster file: {"members": ["0x..."], "threshold": 3, "unanimous": false, "keyX": "0x..", "keyY": "0x.."}.
A member is the 64 bytes x || y of its voting key; ask for a proof of possession of its secret first.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FORMAT = "blockful-deployments/1"
PROJECT = Path(__file__).resolve().parents[1]
Roster = tuple[list[tuple[int, int]], int, bool, int, int]


def main() -> Path:
    """Deploys AppointedCommittee and the contracts that obey it."""
    return write(deploy_live(roster()))


def archive() -> Path:
    """Deploys QuorumMirror and ArchiveRegistry, for the committee named by BLOCKFUL_HOME."""
    home = json.loads(Path(os.environ["BLOCKFUL_HOME"]).read_text())
    committee = home["contracts"]["AppointedCommittee"]["address"]
    return write(deploy_archive(roster(), int(home["chainId"]), committee))


def everything() -> Path:
    """Deploys all seven contracts on one chain."""
    from brownie import chain

    first = roster()
    live = deploy_live(first)
    return write({**live, **deploy_archive(first, chain.id, live["AppointedCommittee"].address)})


def elected() -> Path:
    """Deploys VrfVerifier, Committee with the parameters of BLOCKFUL_PARAMETERS, and their contracts."""
    founders = [each for each in os.environ.get("BLOCKFUL_FOUNDERS", "").split(",") if each]
    return write(deploy_elected(parameters(Path(os.environ["BLOCKFUL_PARAMETERS"])), founders))


def deploy_elected(rules: tuple[int, ...], founders: list[str]) -> dict[str, Any]:
    from brownie import Committee, VrfVerifier

    deployer = account()
    verifier = deployer.deploy(VrfVerifier)
    committee = deployer.deploy(Committee, verifier, rules, founders)
    return {"VrfVerifier": verifier, "Committee": committee, **deploy_models(committee)}


def parameters(path: Path) -> tuple[int, ...]:
    """The ABI's Parameters from a file with exactly their names."""
    artifact = PROJECT / "blockful_py" / "chain" / "artifacts" / "Committee.json"
    abi = json.loads(artifact.read_text())["abi"]
    constructor = next(entry for entry in abi if entry["type"] == "constructor")
    names = [item["name"] for item in constructor["inputs"][1]["components"]]
    given = json.loads(path.read_text())
    if set(given) != set(names):
        raise ValueError(f"{path}: expected exactly {', '.join(names)}; found {', '.join(given)}")
    return tuple(int(given[name]) for name in names)


def deploy_live(first: Roster) -> dict[str, Any]:
    from brownie import AppointedCommittee

    deployer = account()
    committee = deployer.deploy(AppointedCommittee, deployer)
    committee.appoint(first, {"from": deployer})
    return {"AppointedCommittee": committee, **deploy_models(committee)}


def deploy_models(committee: Any) -> dict[str, Any]:
    """Deploys LiveChain and the registries of participants, readers and alarms."""
    from brownie import AlarmRegistry, LiveChain, ParticipantRegistry, ReaderRegistry

    deployer = account()
    live = deployer.deploy(LiveChain, committee)
    seats = int(os.environ.get("BLOCKFUL_SEATS", "14"))
    return {
        "LiveChain": live,
        "ParticipantRegistry": deployer.deploy(ParticipantRegistry, committee, live, seats, True),
        "ReaderRegistry": deployer.deploy(ReaderRegistry, committee, live),
        "AlarmRegistry": deployer.deploy(AlarmRegistry, committee),
    }


def deploy_archive(first: Roster, home_chain_id: int, home_committee: str) -> dict[str, Any]:
    from brownie import ArchiveRegistry, QuorumMirror

    deployer = account()
    mirror = deployer.deploy(QuorumMirror, home_chain_id, home_committee, 1, first)
    return {"QuorumMirror": mirror, "ArchiveRegistry": deployer.deploy(ArchiveRegistry, mirror)}


def account() -> Any:
    """The paying account: brownie's BLOCKFUL_ACCOUNT, or the node's first account."""
    from brownie import accounts

    name = os.environ.get("BLOCKFUL_ACCOUNT")
    return accounts.load(name) if name else accounts[0]


def roster() -> Roster:
    """The first epoch's roster."""
    path = os.environ.get("BLOCKFUL_ROSTER")
    if path is None:
        return demo_roster()
    value = json.loads(Path(path).read_text())
    key = (int(value["keyX"], 0), int(value["keyY"], 0))
    members = [coordinates(bytes.fromhex(each.removeprefix("0x"))) for each in value["members"]]
    return (members, int(value["threshold"]), bool(value.get("unanimous", False)), *key)


def demo_roster(size: int = 4) -> Roster:
    """Members 1 to `size` and a group key, from public secrets."""
    from eth_keys import keys
    from eth_utils import keccak

    def key(label: str) -> Any:
        return keys.PrivateKey(keccak(text=f"BlockFUL demonstration {label}")).public_key

    print("deploy: BLOCKFUL_ROSTER is not set, so this committee is for demonstrations only")
    members = [coordinates(key(f"member {index}").to_bytes()) for index in range(1, size + 1)]
    return (members, -(-2 * size // 3), False, *coordinates(key("group").to_bytes()))


def coordinates(key: bytes) -> tuple[int, int]:
    """x and y of a key of 64 bytes."""
    if len(key) != 64:
        raise ValueError(f"a voting key has 64 bytes, x and y, not {len(key)}")
    return int.from_bytes(key[:32], "big"), int.from_bytes(key[32:], "big")


def write(contracts: dict[str, Any]) -> Path:
    """Adds `contracts` to the deployments file of this chain, and returns its path."""
    from brownie import chain

    directory = Path(os.environ.get("BLOCKFUL_DEPLOYMENTS", "deployments"))
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{chain.id}.json"
    entries = {
        name: {
            "address": contract.address.lower(),
            "block": contract.tx.block_number,
            "transaction": contract.tx.txid,
        }
        for name, contract in contracts.items()
    }
    known = json.loads(path.read_text())["contracts"] if path.exists() else {}
    value = {
        "format": FORMAT,
        "chainId": chain.id,
        "contracts": dict(sorted({**known, **entries}.items())),
        "compiler": compiler(),
    }
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, indent=2) + "\n")
    partial.replace(path)
    print(f"deploy: {', '.join(entries)} on chain {chain.id}, {path}")
    return path


def compiler() -> dict[str, Any]:
    """Compiler and settings of the shipped artifacts."""
    artifact = PROJECT / "blockful_py" / "chain" / "artifacts" / "LiveChain.json"
    settings: dict[str, Any] = json.loads(artifact.read_text())["compiler"]
    return settings
