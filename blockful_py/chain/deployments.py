# SPDX-License-Identifier: Apache-2.0
"""Deploys the contracts and records their addresses in one JSON file for each chain.

    {"format": "blockful-deployments/1", "chainId": 1337, "compiler": {...},
     "contracts": {"LiveChain": {"address": "0x...", "block": 3, "transaction": "0x..."}, ...}}

`scripts/deploy.py` writes the same file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockful_py.chain import abi
from blockful_py.chain.interface import interface_of
from blockful_py.chain.node import Node, hexadecimal
from blockful_py.chain.quorum import AppointedCommitteeContract
from blockful_py.chain.rpc import RpcError
from blockful_py.chain.sender import Sender
from blockful_py.chain.sortition import Parameters
from blockful_py.crypto.roster import Roster
from blockful_py.errors import DeploymentError
from blockful_py.types import Address, Receipt
from blockful_py.whole_file import write_whole

FORMAT = "blockful-deployments/1"
PUSH0 = "0x5f5ff3"
"""Creation code that returns nothing, using PUSH0."""


@dataclass(frozen=True, slots=True)
class DeployedContract:
    """A deployed contract: its address (20 bytes), and the block and hash of its deployment transaction."""

    address: Address
    block: int
    transaction: bytes


@dataclass(frozen=True, slots=True)
class Deployment:
    """The contracts of one chain, by name."""

    chain_id: int
    contracts: Mapping[str, DeployedContract]
    compiler: Mapping[str, Any]

    def address(self, name: str) -> Address:
        """20-byte address of a contract.  Raises DeploymentError if it is not deployed here."""
        contract = self.contracts.get(name)
        if contract is None:
            raise DeploymentError(
                f"{name} is not deployed on chain {self.chain_id} (found: {', '.join(self.contracts)}): "
                "deploy it, or use the deployments file that has it."
            )
        return contract.address

    def merged(self, other: Deployment) -> Deployment:
        """Merges two deployments of one chain; contracts of `other` take precedence."""
        if other.chain_id != self.chain_id:
            raise DeploymentError(
                f"deployments of chains {self.chain_id} and {other.chain_id} do not go into one file."
            )
        return Deployment(self.chain_id, {**self.contracts, **other.contracts}, other.compiler)

    def write(self, directory: Path) -> Path:
        """Writes `<directory>/<chain id>.json` atomically and returns its path."""
        value = {
            "format": FORMAT,
            "chainId": self.chain_id,
            "contracts": {
                name: {
                    "address": "0x" + contract.address.hex(),
                    "block": contract.block,
                    "transaction": "0x" + contract.transaction.hex(),
                }
                for name, contract in sorted(self.contracts.items())
            },
            "compiler": dict(self.compiler),
        }
        path = deployments_path(directory, self.chain_id)
        text = json.dumps(value, indent=2) + "\n"
        write_whole(
            path, text, DeploymentError, parents=True, advice="choose a directory that you may write to"
        )
        return path


def deployments_path(directory: Path, chain_id: int) -> Path:
    """Path of the deployments file of a chain."""
    return directory / f"{chain_id}.json"


def deploy_live(sender: Sender, roster: Roster, *, seats: int) -> Deployment:
    """Deploys AppointedCommittee, appoints `roster` for epoch 1, and deploys the contracts it controls.

    `seats` is the maximum number of participants.  Raises as `Sender.send`, and DeploymentError on a chain
    before Shanghai.
    """
    _require_push0(sender.node)
    committee, committee_receipt = sender.deploy(interface_of("AppointedCommittee"), sender.address)
    AppointedCommitteeContract(sender.node, committee, sender).appoint(roster)
    made = {"AppointedCommittee": (committee, committee_receipt), **_models(sender, committee, seats)}
    return _deployment(sender.node, made)


def deploy_elected(
    sender: Sender,
    parameters: Parameters,
    founders: Sequence[bytes] = (),
    *,
    seats: int,
    is_open: bool = True,
) -> Deployment:
    """Deploys VrfVerifier, the elected Committee, and the contracts it controls.

    If `founders` (20-byte accounts) is not empty, only they may stand for the first committee.  `seats` is
    the maximum number of participants; with `is_open` they join without admission.

    Raises as `Sender.send`; ContractError InvalidParameters names the broken rule.
    """
    _require_push0(sender.node)
    verifier, verifier_receipt = sender.deploy(interface_of("VrfVerifier"))
    committee, committee_receipt = sender.deploy(
        interface_of("Committee"), verifier, parameters.values(), list(founders)
    )
    made = {"VrfVerifier": (verifier, verifier_receipt), "Committee": (committee, committee_receipt)}
    return _deployment(sender.node, {**made, **_models(sender, committee, seats, is_open)})


def _require_push0(node: Node) -> None:
    """Checks that the chain supports PUSH0 (EIP-3855); raises DeploymentError otherwise.

    A chain without it accepts the contracts' code but refuses every call.
    """
    (answer,) = node.rpc.batch([("eth_call", ({"data": PUSH0, "gas": "0x186a0"}, "latest"))])
    if isinstance(answer, RpcError):
        raise DeploymentError(
            f"chain {node.chain_id} at {node.url} has rules from before Shanghai ({answer.message}), and "
            "the contracts use its instruction PUSH0: have the chain's operators enable Shanghai (in a Besu "
            "genesis file, shanghaiTime), or use another chain."
        )


def _models(
    sender: Sender, committee: Address, seats: int, is_open: bool = True
) -> dict[str, tuple[bytes, Receipt]]:
    """Deploys LiveChain, ParticipantRegistry, ReaderRegistry and AlarmRegistry."""
    live = sender.deploy(interface_of("LiveChain"), committee)
    participants = sender.deploy(interface_of("ParticipantRegistry"), committee, live[0], seats, is_open)
    readers = sender.deploy(interface_of("ReaderRegistry"), committee, live[0])
    alarms = sender.deploy(interface_of("AlarmRegistry"), committee)
    return {
        "LiveChain": live,
        "ParticipantRegistry": participants,
        "ReaderRegistry": readers,
        "AlarmRegistry": alarms,
    }


def deploy_archive(
    sender: Sender, home_chain_id: int, home_committee: bytes, roster: Roster, epoch: int = 1
) -> Deployment:
    """Deploys ArchiveRegistry and QuorumMirror, which starts with `roster` at `epoch`.

    `home_committee` is the address of the committee on the chain `home_chain_id`.  Raises as `Sender.send`,
    and DeploymentError on a chain before Shanghai.
    """
    _require_push0(sender.node)
    mirror, mirror_receipt = sender.deploy(
        interface_of("QuorumMirror"), home_chain_id, home_committee, epoch, abi.roster(roster)
    )
    archive, archive_receipt = sender.deploy(interface_of("ArchiveRegistry"), mirror)
    return _deployment(
        sender.node,
        {"QuorumMirror": (mirror, mirror_receipt), "ArchiveRegistry": (archive, archive_receipt)},
    )


def load(path: Path, node: Node) -> Deployment:
    """Reads a deployments file and checks its contracts against the chain of `node`.

    Each contract must be at the address at which the transaction in the file deployed it.  Raises
    DeploymentError if the file is missing, malformed, altered or of another chain, or if an address has no
    code.
    """
    deployment = read(path)
    if deployment.chain_id != node.chain_id:
        raise DeploymentError(
            f"{path} is of chain {deployment.chain_id}, the node at {node.url} is on {node.chain_id}: "
            "use the file of that chain, or another node."
        )
    contracts = deployment.contracts
    answers = node.rpc.calls(
        [
            *(("eth_getTransactionReceipt", (hexadecimal(each.transaction),)) for each in contracts.values()),
            *(("eth_getCode", (hexadecimal(each.address), node.settled())) for each in contracts.values()),
        ]
    )
    deployed = dict(zip(contracts, map(_deployed_at, answers[: len(contracts)]), strict=True))
    codes = dict(zip(contracts, answers[len(contracts) :], strict=True))
    for name, contract in contracts.items():
        there = deployed[name]
        if there is not None and there != contract.address:
            raise DeploymentError(
                f"{path} was altered: contracts.{name}.address is 0x{contract.address.hex()}, and on the "
                f"chain at {node.url} the transaction beside it deployed 0x{there.hex()}. Put that "
                "address back, or the file from a copy of the run."
            )
        if not codes[name].removeprefix("0x"):
            raise _absent(path, node, name, contract, any(deployed.values()))
    return deployment


def _deployed_at(receipt: Mapping[str, Any] | None) -> bytes | None:
    """Address of the contract that a transaction deployed; None if the node does not know it."""
    address = receipt and receipt.get("contractAddress")
    return bytes.fromhex(address.removeprefix("0x")) if address else None


def _absent(
    path: Path, node: Node, name: str, contract: DeployedContract, others_are_there: bool
) -> DeploymentError:
    missing = f"{path}: there is no contract at 0x{contract.address.hex()}, where {name} should be"
    if others_are_there:
        return DeploymentError(
            f"{missing}, and other contracts of the file are on the chain at {node.url}: contracts.{name} "
            "was altered. Put the file back from a copy of the run."
        )
    return DeploymentError(f"{missing}: the chain at {node.url} was started anew; deploy again.")


def _deployment(node: Node, made: Mapping[str, tuple[bytes, Receipt]]) -> Deployment:
    contracts = {
        name: DeployedContract(address, receipt.block_number, receipt.transaction_hash)
        for name, (address, receipt) in made.items()
    }
    compiler = interface_of(next(iter(made))).artifact.compiler
    return Deployment(node.chain_id, contracts, compiler)


def read(path: Path) -> Deployment:
    """Reads a deployments file without checking it against a chain.  Raises DeploymentError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        if value["format"] != FORMAT:
            raise DeploymentError(f"{path} has format {value['format']!r}, {FORMAT!r} was expected.")
        contracts = {str(name): _contract(name, entry) for name, entry in value["contracts"].items()}
        return Deployment(int(value["chainId"]), contracts, dict(value["compiler"]))
    except FileNotFoundError:
        raise DeploymentError(f"{path} does not exist: deploy the contracts first.") from None
    except OSError as error:
        raise DeploymentError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DeploymentError(
            f"{path} is not a deployments file, or was altered ({error}): put it back from a copy."
        ) from error


def _contract(name: str, entry: Mapping[str, Any]) -> DeployedContract:
    try:
        return DeployedContract(
            _bytes(entry["address"], 20), int(entry["block"]), _bytes(entry["transaction"], 32)
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"contracts.{name}: {error}") from None


def _bytes(text: str, size: int) -> bytes:
    value = bytes.fromhex(text.removeprefix("0x"))
    if len(value) != size:
        raise ValueError(f"expected {size} bytes, not {len(value)}")
    return value
